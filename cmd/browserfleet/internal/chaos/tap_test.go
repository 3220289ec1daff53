package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/browserfleet/browserfleet/protocol"
)

// tap is a worker's dispatch log as a pipe. What the worker writes is read when
// the test likes; and once the pipe is full, the worker waits in the write: after
// START, before the dispatch.
type tap struct {
	t    *testing.T
	fd   int
	text bytes.Buffer
}

func newTap(t *testing.T, path string) *tap {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// For both directions, so that the worker need not wait for a reader.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return &tap{t: t, fd: fd}
}

// full fills the pipe with empty lines.
func (p *tap) full() {
	p.t.Helper()
	for _, chunk := range []string{strings.Repeat("\n", 4096), "\n"} {
		for {
			_, err := unix.Write(p.fd, []byte(chunk))
			if errors.Is(err, unix.EAGAIN) {
				break
			}
			if err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// read takes what is in the pipe, and so lets a worker write that waited.
func (p *tap) read() {
	p.t.Helper()
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(p.fd, buf)
		if errors.Is(err, unix.EAGAIN) {
			return
		}
		if err != nil {
			p.t.Fatal(err)
		}
		p.text.Write(buf[:n])
	}
}

// of are the dispatches of an owner so far.
func (p *tap) of(key protocol.OwnerKey) (out []protocol.RequestID) {
	p.t.Helper()
	p.read()
	for line := range bytes.SplitSeq(p.text.Bytes(), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e protocol.DispatchEntry
		if err := json.Unmarshal(line, &e); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		if e.Key == key {
			out = append(out, e.Request)
		}
	}
	return out
}

// save writes all that was read where the checker finds it.
func (p *tap) save(path string) {
	p.t.Helper()
	p.read()
	if err := os.WriteFile(path, bytes.TrimLeft(p.text.Bytes(), "\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}
