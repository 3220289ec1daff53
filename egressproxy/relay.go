package egressproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// frame dresses a piece of a body for the wire; nil sends it as it is.
type frame func(buffer, piece []byte) []byte

// chunkFrame makes one chunk of a piece.
func chunkFrame(buffer, piece []byte) []byte {
	buffer = fmt.Appendf(buffer[:0], "%x\r\n", len(piece))
	return append(append(buffer, piece...), "\r\n"...)
}

// countingReader knows how much was read, to notice a body cut short.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// relay passes a body on piece by piece, each at once, so that event streams
// flow. Every piece passes the gate.
func (t *tunnel) relay(dst net.Conn, body io.Reader, dress frame, counter *atomic.Uint64) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var dressed []byte
	for {
		t.extendRead()
		n, err := body.Read(*buffer)
		if n > 0 {
			piece := (*buffer)[:n]
			if dress != nil {
				dressed = dress(dressed, piece)
				piece = dressed
			}
			if err := t.send(dst, piece, counter); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("body: %w", err)
		}
	}
}

// extendRead renews the server's read deadline, which bounds a whole exchange:
// when it passes, the answer fails, and with it ends the reading of a body from a
// client that has stopped sending.
func (t *tunnel) extendRead() {
	_ = t.server.SetReadDeadline(time.Now().Add(t.proxy.limits.IdleTimeout))
}

// send passes the gate before each write and counts what went through it.
func (t *tunnel) send(dst net.Conn, piece []byte, counter *atomic.Uint64) error {
	if !t.proxy.gate.pass(t.done) {
		return errClosed
	}
	counter.Add(uint64(len(piece)))
	_ = dst.SetWriteDeadline(time.Now().Add(t.proxy.limits.IdleTimeout))
	_, err := dst.Write(piece)
	t.touch()
	return err
}
