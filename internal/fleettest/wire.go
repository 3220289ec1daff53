package fleettest

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Frame is one operation of the NATS client protocol, as it passes a Wire.
type Frame struct {
	// Op is PUB or HPUB from the client, MSG or HMSG from the server, or a word
	// without a payload.
	Op, Subject string
	Payload     []byte // headers included
}

// Wire is a connection on which a test reads along, and loses what it chooses:
// an acknowledgement, a push. The lost frame is lost whole, the connection
// stays.
type Wire struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns []net.Conn
	// client and server decide about a frame from there; false loses it. They
	// may wait, which holds up their direction alone.
	client, server func(Frame) bool
}

// NewWire listens on loopback and forwards to target, HOST:PORT.
func NewWire(t *testing.T, target string) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{listener: l, target: target}
	w.work.Go(w.runAccept)
	t.Cleanup(w.close)
	return w
}

// URL is where clients connect.
func (w *Wire) URL() string { return "nats://" + w.listener.Addr().String() }

// Watch sets what decides about frames from now on; nil lets everything pass.
func (w *Wire) Watch(client, server func(Frame) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client, w.server = client, server
}

// Break closes the connections; clients may connect again.
func (w *Wire) Break() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func (w *Wire) close() {
	_ = w.listener.Close()
	w.Break()
	w.work.Wait()
}

func (w *Wire) runAccept() {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		w.work.Go(func() { w.runFrames(in, out, func() func(Frame) bool { return w.client }) })
		w.work.Go(func() { w.runFrames(out, in, func() func(Frame) bool { return w.server }) })
	}
}

func (w *Wire) runFrames(from, to net.Conn, decider func() func(Frame) bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		f, size := parseFrame(line)
		raw := []byte(line)
		if size >= 0 {
			body := make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(r, body); err != nil {
				return
			}
			f.Payload, raw = body[:size], append(raw, body...)
		}
		w.mu.Lock()
		pass := decider()
		w.mu.Unlock()
		if pass != nil && !pass(f) {
			continue
		}
		if _, err := to.Write(raw); err != nil {
			return
		}
	}
}

// parseFrame reads a control line; size is negative where no payload follows.
func parseFrame(line string) (f Frame, size int) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return f, -1
	}
	f.Op = words[0]
	switch f.Op {
	case "PUB", "HPUB", "MSG", "HMSG":
		n, err := strconv.Atoi(words[len(words)-1])
		if err != nil || len(words) < 3 {
			return f, -1
		}
		f.Subject = words[1]
		return f, n
	}
	return f, -1
}
