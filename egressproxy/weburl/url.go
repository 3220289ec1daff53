package weburl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrURL is wrapped by every error of Parse that is not about the host.
var ErrURL = errors.New("bad URL")

// maxURL is Chromium's own limit for URLs that cross processes (2 MiB).
const maxURL = 2 << 20

// URL is a web address as the browser will take it. For schemes other than http,
// https, ws and wss only Scheme and Rest are set: nothing else of them is used.
type URL struct {
	Scheme   string
	Userinfo bool // a user name or password was given; which one is not kept
	Host     Host
	Port     uint16 // the effective port, the scheme's default when none is written
	Rest     string // path, query and fragment, controls and spaces escaped
}

// Parse reads an absolute URL.
func Parse(raw string) (URL, error) {
	if len(raw) > maxURL {
		return URL{}, fmt.Errorf("%w: %d octets", ErrURL, len(raw))
	}
	text := strip(raw)
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || !isScheme(scheme) {
		return URL{}, fmt.Errorf("%w: no scheme", ErrURL)
	}
	u := URL{Scheme: strings.ToLower(scheme), Rest: rest}
	if DefaultPort(u.Scheme) == 0 {
		return u, nil
	}
	return parseWeb(u)
}

// DefaultPort is the port of a web scheme, 0 for every other scheme.
func DefaultPort(scheme string) uint16 {
	switch scheme {
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	}
	return 0
}

// String is the address in canonical form, without user information and without
// a port that is the scheme's default.
func (u URL) String() string {
	if u.Host == (Host{}) {
		return u.Scheme + ":" + u.Rest
	}
	return u.Scheme + "://" + u.Authority() + u.Rest
}

// Authority is host and, unless it is the scheme's default, port.
func (u URL) Authority() string {
	if u.Port == DefaultPort(u.Scheme) {
		return u.Host.String()
	}
	return u.Host.String() + ":" + strconv.Itoa(int(u.Port))
}

func parseWeb(u URL) (URL, error) {
	rest := strings.TrimLeft(u.Rest, `/\`)
	authority := rest
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		authority, rest = rest[:i], rest[i:]
	} else {
		rest = ""
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		u.Userinfo = strings.Trim(authority[:i], ":") != ""
		authority = authority[i+1:]
	}
	host, port, err := SplitPort(authority)
	if err != nil {
		return URL{}, err
	}
	if u.Host, err = ParseHost(host); err != nil {
		return URL{}, err
	}
	if u.Port = port; port == 0 {
		u.Port = DefaultPort(u.Scheme)
	}
	u.Rest = cleanRest(rest)
	return u, nil
}

// SplitPort cuts a port off an authority; 0 means that none was given. Port 0
// itself is refused: it cannot be connected to and would read as "none".
func SplitPort(authority string) (host string, port uint16, err error) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority, 0, nil
	}
	host, digits := authority[:colon], authority[colon+1:]
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "", 0, fmt.Errorf("%w: more than one colon", ErrHost)
	}
	if digits == "" {
		return host, 0, nil
	}
	if strings.Trim(digits, "0123456789") != "" {
		return "", 0, fmt.Errorf("%w: port", ErrURL)
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || number == 0 || number > 65535 {
		return "", 0, fmt.Errorf("%w: port", ErrURL)
	}
	return host, uint16(number), nil
}

// strip removes what every browser removes before it looks at a URL: controls
// and spaces around it, tabs and newlines anywhere in it.
func strip(raw string) string {
	text := strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' })
	if !strings.ContainsAny(text, "\t\n\r") {
		return text
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
}

func isScheme(scheme string) bool {
	for i, r := range scheme {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		other := r >= '0' && r <= '9' || r == '+' || r == '-' || r == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return scheme != ""
}

// cleanRest gives the path its slash, turns backslashes of the path into
// slashes and escapes controls and spaces.
func cleanRest(rest string) string {
	path, tail := rest, ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		path, tail = rest[:i], rest[i:]
	}
	path = strings.ReplaceAll(path, `\`, "/")
	if path == "" {
		path = "/"
	}
	return escapeControls(path + tail)
}

func escapeControls(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) < 0 {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c == 0x7f {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}
