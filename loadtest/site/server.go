package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Time-outs of the server. A write may take MaxSlow and then the page.
const (
	readTimeout  = 5 * time.Second
	writeTimeout = MaxSlow + 5*time.Second
	idleTimeout  = time.Minute
	closeTimeout = 3 * time.Second
	maxHeader    = 64 << 10 // bytes
)

// Server is a Site on a TCP address.
type Server struct {
	site   *Site
	url    string
	http   *http.Server
	cancel context.CancelCauseFunc
	cut    chan struct{} // closed when shutdown has ended the last connection
	done   chan struct{} // closed when the serving goroutine has returned
	err    error         // why serving ended; read after done
}

var errServerClosed = errors.New("the bundled site closes")

// Start listens on addr, such as "127.0.0.1:0", and serves until Close or the
// end of ctx. The server answers as soon as Start has returned.
func Start(ctx context.Context, addr string, opts Options) (*Server, error) {
	shop, err := New(opts)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("site: listen on %s: %w", addr, err)
	}
	serving, cancel := context.WithCancelCause(ctx)
	s := &Server{
		site:   shop,
		url:    "http://" + l.Addr().String(),
		cancel: cancel,
		cut:    make(chan struct{}),
		done:   make(chan struct{}),
	}
	s.http = &http.Server{
		Handler:           shop,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
		// Requests end with the server, so a /slow does not hold up Close.
		BaseContext: func(net.Listener) context.Context { return serving },
	}
	context.AfterFunc(serving, s.shutdown)
	go s.runServe(l)
	return s, nil
}

// URL is the site's origin, without a slash at the end.
func (s *Server) URL() string { return s.url }

// Site is the handler that is served.
func (s *Server) Site() *Site { return s.site }

// Close ends the server and waits for it, at most about 3 s. It may be called
// more than once and after the end of Start's context.
func (s *Server) Close() error {
	s.cancel(errServerClosed)
	<-s.done
	return s.err
}

// runServe ends when the listener and all connections are closed.
func (s *Server) runServe(l net.Listener) {
	defer close(s.done)
	err := s.http.Serve(l)
	if !errors.Is(err, http.ErrServerClosed) {
		s.err = fmt.Errorf("site: serve: %w", err)
	}
	s.cancel(errServerClosed)
	<-s.cut // Serve returns at the start of a shutdown, not at its end
}

// shutdown lets running answers finish, then cuts what is left.
func (s *Server) shutdown() {
	defer close(s.cut)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // the listener is closed already; this cuts connections
	}
}
