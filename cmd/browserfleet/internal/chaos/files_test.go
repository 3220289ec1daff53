package chaos

import (
	"os"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/nats-io/nats-server/v2/server"
)

func TestTheServersFormAClusterAndTellNobody(t *testing.T) {
	t.Parallel()
	f := folder{devfleet.Folder(t.TempDir())}
	n := newRelays()
	t.Cleanup(func() { _ = n.close() })
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.writeServers(n); err != nil {
		t.Fatal(err)
	}
	for _, name := range servers {
		o, err := server.ProcessConfigFile(f.config(name))
		if err != nil {
			t.Fatal(err)
		}
		if o.ServerName != name || !o.Cluster.NoAdvertise || len(o.Routes) != len(servers) {
			t.Errorf("%s: name %s, no_advertise %v, %d routes", name, o.ServerName, o.Cluster.NoAdvertise, len(o.Routes))
		}
		text, err := os.ReadFile(f.config(name))
		if err != nil || !strings.Contains(string(text), "account-b") && !strings.Contains(string(text), "tenant-b") {
			t.Errorf("%s does not know the second tenant (%v)", name, err)
		}
	}
}
