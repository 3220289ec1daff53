package egressproxy

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

var (
	errClosed     = errors.New("egress proxy closed")
	errClientGone = errors.New("client went away")
)

// readBuffer is the size of a client's read buffer; it is also how far a client
// is read ahead while its request waits for DNS.
const readBuffer = 8 << 10

// acceptPause is how long accepting rests after an error such as too many open
// files, so that it does not spin.
const acceptPause = 50 * time.Millisecond

func (p *Proxy) runAccept(ctx context.Context) {
	p.goroutines.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err == nil {
				p.admit(ctx, client)
				continue
			}
			if errors.Is(err, net.ErrClosed) {
				return
			}
			p.logger.Warn("egress proxy: accept", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(acceptPause):
			}
		}
	})
}

// admit starts serving a connection unless there are too many.
func (p *Proxy) admit(ctx context.Context, client net.Conn) {
	p.mu.Lock()
	admitted := !p.closed && len(p.clients) < p.limits.Connections
	full := !p.closed && !admitted
	if admitted {
		p.clients[client] = struct{}{}
		p.runServe(ctx, client)
	}
	p.mu.Unlock()
	if admitted {
		return
	}
	if full {
		p.deny(weburl.Host{}, 0, ReasonBusy)
		_ = client.SetWriteDeadline(time.Now().Add(time.Second)) // fits the socket's empty buffer
		refuse(client, refusal{status: 503, reason: ReasonBusy}, false)
	}
	_ = client.Close()
}

// runServe is called with mu held, so that Close waits for it.
func (p *Proxy) runServe(ctx context.Context, client net.Conn) {
	p.goroutines.Go(func() {
		defer p.forget(client)
		reader := bufio.NewReaderSize(client, readBuffer)
		for p.serveOne(ctx, client, reader) {
			if ctx.Err() != nil {
				return
			}
		}
	})
}

func (p *Proxy) forget(client net.Conn) {
	_ = client.Close()
	p.mu.Lock()
	delete(p.clients, client)
	p.mu.Unlock()
}

// serveOne handles one request; true when the connection can carry another one.
func (p *Proxy) serveOne(ctx context.Context, client net.Conn, reader *bufio.Reader) bool {
	_ = client.SetDeadline(time.Now().Add(p.limits.KeepAlive))
	if _, err := reader.Peek(1); err != nil {
		return false
	}
	_ = client.SetDeadline(time.Now().Add(p.limits.HeadTimeout))
	head, err := readHead(reader, p.limits.HeaderBytes)
	if err != nil {
		p.refuseHead(client, err)
		return false
	}
	p.counters.requests.Add(1)
	if !p.authorized(&head) {
		p.denials.tally(ReasonAuth)
		refuse(client, refusal{status: 407, reason: ReasonAuth}, false)
		linger(client)
		return false
	}
	target, err := head.destination()
	if err != nil {
		p.refuseTarget(client, err)
		return false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if head.method == "CONNECT" {
		p.serveConnect(ctx, cancel, client, reader, target)
		return false
	}
	return p.serveForward(ctx, cancel, client, reader, &head, target)
}

func (p *Proxy) authorized(head *requestHead) bool {
	given := head.values("Proxy-Authorization")
	return len(given) == 1 && p.credentials.match(given[0])
}

// refuseHead answers what can be answered: a peer that sent nothing sensible in
// time gets no answer.
func (p *Proxy) refuseHead(client net.Conn, err error) {
	status := 0
	switch {
	case errors.Is(err, errTooLarge):
		status = 431
	case errors.Is(err, errMalformed):
		status = 400
	default:
		return
	}
	p.deny(weburl.Host{}, 0, ReasonBadRequest)
	refuse(client, refusal{status: status, reason: ReasonBadRequest}, false)
	linger(client)
}

// refuseTarget: a request of the wrong form is a 400; a host that no browser
// spells so is a destination, and refused as one.
func (p *Proxy) refuseTarget(client net.Conn, err error) {
	answer := refusal{status: 403, reason: ReasonBadURL}
	if errors.Is(err, errMalformed) {
		answer = refusal{status: 400, reason: ReasonBadRequest}
	}
	p.deny(weburl.Host{}, 0, answer.reason)
	refuse(client, answer, false)
	linger(client)
}

// runWatch cancels the request when its client goes away. It reads ahead into
// the buffer, whose content the request then finds there. stop ends the watch
// and waits for it; it leaves the connection without read deadline.
func (p *Proxy) runWatch(client net.Conn, reader *bufio.Reader, cancel context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	_ = client.SetReadDeadline(time.Time{}) // stop ends it; DNS and dialing have deadlines
	p.goroutines.Go(func() {
		defer close(done)
		watch(reader, cancel)
	})
	return func() {
		_ = client.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = client.SetReadDeadline(time.Time{})
	}
}

func watch(reader *bufio.Reader, cancel context.CancelCauseFunc) {
	for reader.Buffered() < reader.Size() {
		if _, err := reader.Peek(reader.Buffered() + 1); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				cancel(errClientGone)
			}
			return
		}
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
