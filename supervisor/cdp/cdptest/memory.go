package cdptest

import (
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// memory is one end of a connection that holds no message by itself: a write ends
// when the other side reads, or when either side closes.
type memory struct {
	in, out chan []byte
	closed  chan struct{}
	close   *sync.Once
}

// Memory is a pair without files, for bubbles.
func Memory(*testing.T) (client, browser cdp.Carrier) {
	up, down, closed, once := make(chan []byte), make(chan []byte), make(chan struct{}), new(sync.Once)
	return &memory{down, up, closed, once}, &memory{up, down, closed, once}
}

func (m *memory) ReadMessage() ([]byte, error) {
	select {
	case message := <-m.in:
		return message, nil
	case <-m.closed:
		return nil, io.EOF
	}
}

func (m *memory) WriteMessage(message []byte) error {
	select {
	case <-m.closed: // first: an end that is closed takes nothing more
		return io.ErrClosedPipe
	default:
	}
	select {
	case m.out <- slices.Clone(message):
		return nil
	case <-m.closed:
		return io.ErrClosedPipe
	}
}

func (m *memory) Close() error {
	m.close.Do(func() { close(m.closed) })
	return nil
}
