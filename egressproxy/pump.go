package egressproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// copyBuffer is the unit of forwarding. Buffers are taken only when there is
// something to read, so an idle tunnel holds none.
const copyBuffer = 32 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }}

// copy forwards until src ends, then ends dst's input; any failure closes the
// whole tunnel.
func (t *tunnel) copy(dst, src net.Conn, counter *atomic.Uint64) {
	for {
		buffer, n, err := t.read(src)
		written := n == 0 || t.write(dst, (*buffer)[:n], counter)
		if buffer != nil {
			buffers.Put(buffer)
		}
		switch {
		case !written:
			t.close()
			return
		case errors.Is(err, io.EOF):
			if half, ok := dst.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				t.close()
			}
			return
		case err != nil:
			t.close()
			return
		}
	}
}

// write is send for the two directions of a tunnel.
func (t *tunnel) write(dst net.Conn, data []byte, counter *atomic.Uint64) bool {
	return len(data) == 0 || t.send(dst, data, counter) == nil
}

// read waits for input. The time-out is the tunnel's, not the direction's: a
// download that sends nothing upwards is not idle, nor is a suspended tunnel.
func (t *tunnel) read(src net.Conn) (*[]byte, int, error) {
	idle := t.proxy.limits.IdleTimeout
	for {
		_ = src.SetReadDeadline(time.Now().Add(idle))
		buffer, n, err := readPooled(src)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return buffer, n, err
		}
		if buffer != nil {
			buffers.Put(buffer)
		}
		silent := time.Since(time.Unix(0, t.lastByte.Load()))
		if silent >= idle && !t.proxy.gate.isShut() {
			return nil, 0, err
		}
	}
}

// readPooled reads once. The buffer comes from the pool, nil when nothing was
// read.
func readPooled(src net.Conn) (*[]byte, int, error) {
	var raw syscall.RawConn
	if socket, ok := src.(syscall.Conn); ok {
		raw, _ = socket.SyscallConn()
	}
	if raw == nil {
		buffer := buffers.Get().(*[]byte)
		n, err := src.Read(*buffer)
		return buffer, n, err
	}
	return readWhenReady(raw)
}

// readWhenReady takes a buffer only for the attempt that finds input.
func readWhenReady(raw syscall.RawConn) (buffer *[]byte, n int, err error) {
	waitErr := raw.Read(func(fd uintptr) bool {
		buffer = buffers.Get().(*[]byte)
		for {
			if n, err = syscall.Read(int(fd), *buffer); err != syscall.EINTR {
				break
			}
		}
		if err == syscall.EAGAIN {
			buffers.Put(buffer)
			buffer, n = nil, 0
			return false
		}
		return true
	})
	if waitErr != nil {
		return nil, 0, waitErr // buffer went back to the pool before waiting
	}
	if err != nil {
		return buffer, 0, os.NewSyscallError("read", err)
	}
	if n == 0 {
		return buffer, 0, io.EOF
	}
	return buffer, n, nil
}
