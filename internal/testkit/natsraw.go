package testkit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// RawPublish publishes as a hostile client would: header is sent as it is, byte
// for byte, and subject and reply are not checked. It returns what the server
// said before it confirmed that it had read everything, such as
// "-ERR 'Permissions Violation ...'".
func (s *Server) RawPublish(t testing.TB, user, subject, reply, header, body string) string {
	t.Helper()
	put := fmt.Sprintf("PUB %s %s %d\r\n%s\r\n", subject, reply, len(body), body)
	if header != "" {
		put = fmt.Sprintf("HPUB %s %s %d %d\r\n%s%s\r\n", subject, reply, len(header), len(header)+len(body), header, body)
	}
	return s.raw(t, user, put)
}

// RawSubscribe asks for a subscription and returns what the server said.
func (s *Server) RawSubscribe(t testing.TB, user, subject string) string {
	t.Helper()
	return s.raw(t, user, fmt.Sprintf("SUB %s 1\r\n", subject))
}

func (s *Server) raw(t testing.TB, user, command string) string {
	t.Helper()
	said, err := s.exchange(user, command)
	if err != nil {
		t.Fatalf("raw client: %v", err)
	}
	return said
}

func (s *Server) exchange(user, command string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.options.Listen, natsWait)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(natsWait)); err != nil {
		return "", err
	}
	login, err := json.Marshal(map[string]any{
		"user": user, "pass": string(s.options.Passwords[user]), "headers": true, "verbose": false,
	})
	if err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s\r\n%sPING\r\n", login, command); err != nil {
		return "", err
	}
	return untilPong(bufio.NewReader(conn))
}

func untilPong(r *bufio.Reader) (string, error) {
	var said strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line == "PONG\r\n" {
			return said.String(), nil
		}
		if !strings.HasPrefix(line, "INFO ") {
			said.WriteString(line)
		}
	}
}
