package caserun

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// secretPage stands on the page behind a certificate that cannot be trusted.
const secretPage = "behind the certificate"

// badCertificates are by the names that the cases have for them.
var badCertificates = map[string]x509.Certificate{
	"self-signed": {NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}},
	"expired":     {NotAfter: time.Now().Add(-time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}},
	"wrong host":  {NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"elsewhere.example"}},
}

// ServeBadTLS starts an https server with the named certificate and returns its
// host:port.
func ServeBadTLS(t testing.TB, name string) string {
	t.Helper()
	template, ok := badCertificates[name]
	if !ok {
		t.Fatalf("there is no certificate %q", name)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore = time.Now().Add(-48 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, secretPage)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "https://")
}
