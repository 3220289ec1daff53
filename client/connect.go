package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

// Times of the connection.
const (
	dialTimeout  = 2 * time.Second
	pingInterval = 2 * time.Second
	maxPings     = 2
	closeTimeout = 2 * time.Second
)

// Options say where the fleet's NATS is and who connects.
type Options struct {
	// URL of a server, or several separated by commas; empty with a ContextFile
	// that has one.
	URL string
	// User and Password, or a credentials file (JWT), or a NATS context file
	// (~/.config/nats/context/NAME.json) that holds them.
	User        string
	Password    Secret
	CredsFile   string
	ContextFile string
	// InboxPrefix must be the one that the user may subscribe; a tenant's user
	// has _INBOX, which is the default.
	InboxPrefix string
	// Name is shown in the server's list of connections.
	Name   string
	Logger *slog.Logger
}

// link is a connection that comes back by itself.
type link struct {
	nc     *nats.Conn
	log    *slog.Logger
	closed chan struct{}
	// denied is the newest refusal of a permission. The server tells it apart
	// from any request, and the request itself gets no answer.
	denied atomic.Pointer[string]
	// back is called after each reconnect, on a goroutine of the connection.
	back func()
	// patience is how long a request is tried to be handed over while nobody is
	// there to take it.
	patience time.Duration
}

// dial connects, and keeps trying until ctx ends. Wrong credentials end it at
// once: they do not become right by waiting.
func dial(ctx context.Context, o Options, back func()) (*link, error) {
	if err := o.fromContextFile(); err != nil {
		return nil, err
	}
	l := &link{log: o.Logger, closed: make(chan struct{}), back: back, patience: patience}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	opts := l.options(o)
	for {
		nc, err := nats.Connect(o.URL, opts...)
		if err == nil {
			l.nc = nc
			return l, nil
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
			return nil, unreached(err, "NATS at %s refuses user %q", o.shownURL(), o.User)
		}
		if ended := pause(ctx, 100*time.Millisecond+rand.N(200*time.Millisecond)); ended != nil {
			return nil, unreached(err, "NATS at %s cannot be reached", o.shownURL())
		}
	}
}

func (l *link) options(o Options) []nats.Option {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.Timeout(dialTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(400*time.Millisecond, 400*time.Millisecond),
		// Without a buffer a publish fails at once while there is no connection,
		// so it is known not to have been sent.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				l.log.Warn("NATS connection lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			l.log.Info("NATS connection is back")
			l.back()
		}),
		nats.ErrorHandler(l.onError),
		nats.ClosedHandler(func(*nats.Conn) { close(l.closed) }),
	}
	if o.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(o.InboxPrefix))
	}
	switch {
	case o.CredsFile != "":
		opts = append(opts, nats.UserCredentials(o.CredsFile))
	case o.User != "":
		opts = append(opts, nats.UserInfo(o.User, string(o.Password)))
	}
	return opts
}

func (l *link) onError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		text := err.Error()
		l.denied.Store(&text)
	}
	l.log.Warn("NATS error", "error", err)
}

// close ends the connection and waits for its handlers.
func (l *link) close() {
	l.nc.Close()
	select {
	case <-l.closed:
	case <-time.After(closeTimeout):
		l.log.Warn("NATS connection: a handler does not return")
	}
}

// request asks a service and decodes its JSON answer.
func (l *link) request(ctx context.Context, subject string, body, out any) error {
	return l.requestWithin(ctx, serviceTimeout, subject, body, out)
}

// requestWithin is a request whose answer may take longer.
func (l *link) requestWithin(ctx context.Context, limit time.Duration, subject string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	data, err := encode(body)
	if err != nil {
		return err
	}
	m, err := l.nc.RequestWithContext(ctx, subject, data)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return unreached(err, "no coordinator answers %s", subject)
	case err != nil:
		return unreached(err, "%s was not answered", subject)
	}
	return decode(m.Data, out)
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Client is a connection of a tenant's user. Its methods are safe for concurrent
// use.
type Client struct {
	*link
	owners owners
}

// Connect connects, and keeps trying until ctx ends. Afterwards the connection
// comes back by itself.
func Connect(ctx context.Context, o Options) (*Client, error) {
	c := &Client{}
	c.owners.byID = map[protocol.Owner]*Owner{}
	l, err := dial(ctx, o, c.owners.nudge)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c.link = l
	return c, nil
}

// Close ends the connection. Waits for results end with an error.
func (c *Client) Close() { c.link.close() }

// Connected reports whether there is a connection now.
func (c *Client) Connected() bool { return c.nc.IsConnected() }
