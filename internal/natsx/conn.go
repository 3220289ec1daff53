package natsx

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// defaultTimeout bounds a call whose context has no deadline.
	defaultTimeout = 2 * time.Second
	// pingInterval and maxPings: a dead server is noticed within 2-3 s.
	pingInterval = time.Second
	maxPings     = 2
	// dialTimeout bounds one attempt to connect.
	dialTimeout = 2 * time.Second
	// sayEvery spaces the lines that Connect logs while it waits.
	sayEvery = 3 * time.Second
	// closeTimeout bounds each of the two waits of Close.
	closeTimeout = 2 * time.Second
)

// Options say how to connect.
type Options struct {
	URL      string
	Name     string // shown in the server's connection list and advisories
	User     string
	Password Secret
	// CredsFile replaces User and Password where the server uses JWTs.
	CredsFile string
	// CAFile is the authority of a server with TLS, when the system does not
	// know it; CertFile and KeyFile are this client's certificate, if the server
	// asks for one.
	CAFile, CertFile, KeyFile string
	// InboxPrefix must be the one that the user may subscribe; empty is _INBOX.
	InboxPrefix string
	Logger      *slog.Logger
	// OnDisconnect and OnReconnect run on a goroutine of the connection and
	// must return soon.
	OnDisconnect, OnReconnect func()
}

// Conn is a connection to the fleet's account. Its methods are safe for
// concurrent use.
type Conn struct {
	NC *nats.Conn
	JS jetstream.JetStream

	log    *slog.Logger
	closed chan struct{} // closed when the connection's goroutines have ended
}

// Connect connects, and keeps trying until ctx ends. It logs what it waits for
// every few seconds. Afterwards the connection comes back by itself, for ever.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Conn{log: log, closed: make(chan struct{})}
	opts := c.options(o)
	// The first failure is said at once, the next ones a few seconds apart.
	var said time.Time
	for {
		nc, err := nats.Connect(o.URL, opts...)
		if err == nil {
			return c.ready(nc)
		}
		if time.Since(said) >= sayEvery {
			said = time.Now()
			log.Info("waiting for NATS", "url", redactURL(o.URL), "user", o.User, "error", err)
		}
		if cause := pause(ctx, 100*time.Millisecond+rand.N(200*time.Millisecond)); cause != nil {
			return nil, fmt.Errorf("connect to NATS: %w (last error: %w)", cause, err)
		}
	}
}

func (c *Conn) ready(nc *nats.Conn) (*Conn, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(defaultTimeout))
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("set up JetStream: %w", err)
	}
	c.NC, c.JS = nc, js
	return c, nil
}

func (c *Conn) options(o Options) []nats.Option {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.Timeout(dialTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.MaxReconnects(-1),
		// While passwords are being changed a server may refuse us twice; by
		// default the client would then give up for ever.
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(400*time.Millisecond, 400*time.Millisecond),
		// A write made while disconnected must fail at once. The default buffer
		// would send it after the reconnect, long after its caller gave it up.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			c.log.Warn("NATS connection lost", "error", err)
			if o.OnDisconnect != nil {
				o.OnDisconnect()
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			c.log.Info("NATS connection is back")
			if o.OnReconnect != nil {
				o.OnReconnect()
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			var subject string
			if sub != nil {
				subject = sub.Subject
			}
			c.log.Warn("NATS error", "subject", subject, "error", err)
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	if o.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(o.InboxPrefix))
	}
	if o.CAFile != "" {
		opts = append(opts, nats.RootCAs(o.CAFile))
	}
	if o.CertFile != "" {
		opts = append(opts, nats.ClientCert(o.CertFile, o.KeyFile))
	}
	switch {
	case o.CredsFile != "":
		opts = append(opts, nats.UserCredentials(o.CredsFile))
	case o.User != "":
		opts = append(opts, nats.UserInfo(o.User, string(o.Password)))
	}
	return opts
}

// Close sends what is buffered, closes the connection and waits until its
// handlers have ended. Unread messages are dropped: whoever reads a log has a
// cursor.
func (c *Conn) Close() {
	if c.NC.IsConnected() {
		_ = c.NC.FlushTimeout(closeTimeout)
	}
	c.NC.Close()
	select {
	case <-c.closed:
	case <-time.After(closeTimeout):
		c.log.Warn("NATS connection: a handler does not return")
	}
}

// withDeadline gives a context without a deadline the default one.
func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultTimeout)
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

// redactURL is the URL without a user and password that somebody put there.
func redactURL(raw string) string {
	var out []string
	for _, one := range strings.Split(raw, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return "[unreadable]"
		}
		u.User = nil
		out = append(out, u.String())
	}
	return strings.Join(out, ",")
}
