package egressproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// maxFields bounds the header fields of a request.
const maxFields = 256

var (
	errMalformed = errors.New("malformed request")
	errTooLarge  = errors.New("request head too large")
)

// headerField is one line of a head, its value without outer blanks.
type headerField struct{ name, value string }

// requestHead is a request up to its body. It is read here and not by net/http,
// which mends what two parsers could read in two ways: bare line feeds, folded
// lines, Content-Length beside Transfer-Encoding. All of that is refused.
type requestHead struct {
	method  string
	target  string
	fields  []headerField
	length  int64 // of the body; 0 when there is none or it is chunked
	chunked bool
}

// destination is where a request wants to go.
type destination struct {
	scheme string
	host   weburl.Host
	port   uint16
	path   string // with query; "" for CONNECT
}

func (d destination) authority() string {
	return weburl.URL{Scheme: d.scheme, Host: d.host, Port: d.port}.Authority()
}

func readHead(r *bufio.Reader, limit int) (requestHead, error) {
	left := limit
	line, err := readLine(r, &left)
	if err != nil {
		return requestHead{}, err
	}
	head, err := parseRequestLine(line)
	if err != nil {
		return requestHead{}, err
	}
	for {
		if line, err = readLine(r, &left); err != nil {
			return requestHead{}, err
		}
		if line == "" {
			return head, head.readFraming()
		}
		field, err := parseField(line)
		if err != nil {
			return requestHead{}, err
		}
		if head.fields = append(head.fields, field); len(head.fields) > maxFields {
			return requestHead{}, errTooLarge
		}
	}
}

// readLine takes one line that ends in CRLF and holds no other control than tab.
func readLine(r *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return "", errTooLarge
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return "", err
		}
		break
	}
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return "", fmt.Errorf("%w: line end", errMalformed)
	}
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			return "", fmt.Errorf("%w: control character", errMalformed)
		}
	}
	return string(line), nil
}

func parseRequestLine(line string) (requestHead, error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !isToken(parts[0]) || parts[1] == "" || parts[2] != "HTTP/1.1" {
		return requestHead{}, fmt.Errorf("%w: request line", errMalformed)
	}
	if strings.IndexFunc(parts[1], func(r rune) bool { return r <= ' ' || r >= 0x7f }) >= 0 {
		return requestHead{}, fmt.Errorf("%w: request target", errMalformed)
	}
	return requestHead{method: parts[0], target: parts[1]}, nil
}

// parseField refuses a blank before the colon and, as a name cannot start with
// one, folded lines.
func parseField(line string) (headerField, error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return headerField{}, fmt.Errorf("%w: header field", errMalformed)
	}
	return headerField{name: name, value: strings.Trim(value, " \t")}, nil
}

func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}

// values are all values of a field, in order.
func (h *requestHead) values(name string) []string {
	var list []string
	for _, field := range h.fields {
		if strings.EqualFold(field.name, name) {
			list = append(list, field.value)
		}
	}
	return list
}

// readFraming settles where the body ends; more than one way to see it is an
// error, whatever the values (RFC 9112 section 6.3).
func (h *requestHead) readFraming() error {
	if len(h.values("Host")) != 1 {
		return fmt.Errorf("%w: Host", errMalformed)
	}
	if len(h.values("Proxy-Authorization")) > 1 {
		return fmt.Errorf("%w: Proxy-Authorization", errMalformed)
	}
	coding, length := h.values("Transfer-Encoding"), h.values("Content-Length")
	switch {
	case len(coding)+len(length) > 1:
		return fmt.Errorf("%w: body length given more than once", errMalformed)
	case len(coding) == 1:
		if !strings.EqualFold(coding[0], "chunked") {
			return fmt.Errorf("%w: transfer coding", errMalformed)
		}
		h.chunked = true
	case len(length) == 1:
		if length[0] == "" || strings.Trim(length[0], "0123456789") != "" {
			return fmt.Errorf("%w: Content-Length", errMalformed)
		}
		n, err := strconv.ParseInt(length[0], 10, 64)
		if err != nil {
			return fmt.Errorf("%w: Content-Length", errMalformed)
		}
		h.length = n
	}
	if h.method == "CONNECT" && h.hasBody() {
		return fmt.Errorf("%w: CONNECT with a body", errMalformed)
	}
	return nil
}

func (h *requestHead) hasBody() bool { return h.chunked || h.length > 0 }

// destination reads the target. An error that wraps errMalformed is about the
// form of the request, any other about the host in it.
func (h *requestHead) destination() (destination, error) {
	if h.method == "CONNECT" {
		return connectTarget(h.target)
	}
	rest, ok := cutPrefixFold(h.target, "http://")
	if !ok || rest == "" || strings.ContainsAny(rest[:1], `/\?`) || strings.Contains(rest, "#") {
		return destination{}, fmt.Errorf("%w: the target is not an absolute http URL", errMalformed)
	}
	u, err := weburl.Parse(h.target)
	if err != nil {
		return destination{}, err
	}
	if u.Userinfo {
		return destination{}, fmt.Errorf("%w: user information in the target", errMalformed)
	}
	return destination{scheme: u.Scheme, host: u.Host, port: u.Port, path: u.Rest}, nil
}

func connectTarget(target string) (destination, error) {
	text, port, err := weburl.SplitPort(target)
	if err != nil {
		return destination{}, err
	}
	if port == 0 {
		return destination{}, fmt.Errorf("%w: CONNECT without a port", errMalformed)
	}
	host, err := weburl.ParseHost(text)
	if err != nil {
		return destination{}, err
	}
	return destination{scheme: SchemeConnect, host: host, port: port}, nil
}

func cutPrefixFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}
