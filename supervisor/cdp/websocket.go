package cdp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	dialTimeout = 10 * time.Second
	// writeTimeout bounds one write to a peer that stopped reading.
	writeTimeout = 10 * time.Second
)

// ErrNotWebSocket reports an endpoint that is no ws:// or wss:// URL.
var ErrNotWebSocket = errors.New("cdp: endpoint is not a ws:// or wss:// URL")

type socket struct {
	conn  *websocket.Conn
	close sync.Once
	err   error
}

// DialWebSocket connects to a DevTools endpoint that somebody else runs. The URL
// often carries a token, so errors never repeat it. No proxy of the environment
// is used: the endpoint is configuration, not a page.
func DialWebSocket(ctx context.Context, endpoint string, header http.Header) (Carrier, error) {
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "ws" && u.Scheme != "wss") || u.Host == "" {
		return nil, ErrNotWebSocket
	}
	dialer := websocket.Dialer{
		HandshakeTimeout: dialTimeout,
		ReadBufferSize:   64 << 10,
		WriteBufferSize:  64 << 10,
	}
	conn, response, err := dialer.DialContext(ctx, endpoint, header)
	if err != nil {
		if response != nil {
			return nil, fmt.Errorf("cdp: endpoint at %s answered %s: %w", u.Host, response.Status, err)
		}
		return nil, fmt.Errorf("cdp: connect to %s: %w", u.Host, err)
	}
	return NewWebSocket(conn), nil
}

// NewWebSocket returns a carrier over a connection that is already open, and
// owns it.
func NewWebSocket(conn *websocket.Conn) Carrier {
	conn.SetReadLimit(maxMessage)
	return &socket{conn: conn}
}

func (s *socket) ReadMessage() ([]byte, error) {
	for {
		kind, message, err := s.conn.ReadMessage()
		switch {
		case errors.Is(err, websocket.ErrReadLimit):
			return nil, ErrTooLarge
		case err != nil:
			return nil, err
		case kind == websocket.TextMessage:
			return message, nil
		}
	}
}

func (s *socket) WriteMessage(message []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, message)
}

func (s *socket) Close() error {
	s.close.Do(func() { s.err = s.conn.Close() })
	return s.err
}
