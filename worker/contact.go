package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// What contact means: a server answers (PONG), and a quorum of servers stores
// what we write. An election of a stream's leader takes up to nine seconds, so
// the second may be missing for longer; a worker that is cut off together with
// its server notices by the second alone.
const (
	pingEvery   = 250 * time.Millisecond
	pongLimit   = 2 * time.Second
	freshLimit  = time.Second
	writeEvery  = 2 * time.Second
	quorumLimit = 12 * time.Second
)

// Contact knows when the servers last heard this worker. All times are of the
// monotonic clock: a step of the wall clock changes nothing.
type Contact struct {
	conn   *natsx.Conn
	worker protocol.WorkerID
	log    *slog.Logger
	since  time.Time
	// pong and quorum are when the last question that was answered was sent,
	// in nanoseconds since since.
	pong, quorum atomic.Int64
	// lost is set when contact was missing, however soon it came back, until the
	// watch has suspended what runs here: a process that was stopped may hear a
	// server before anybody has looked.
	lost atomic.Bool
}

func newContact(c *natsx.Conn, w protocol.WorkerID, log *slog.Logger) *Contact {
	return &Contact{conn: c, worker: w, log: log, since: time.Now()}
}

// Fresh reports whether a server answered within the last second.
func (c *Contact) Fresh() bool { return c.ok() && c.age(&c.pong) < freshLimit }

// ok reports whether there is contact, and was since the watch looked last.
func (c *Contact) ok() bool {
	if c.age(&c.pong) >= pongLimit || c.age(&c.quorum) >= quorumLimit {
		c.lost.Store(true)
	}
	return !c.lost.Load()
}

// heard notes that a question that was sent then is answered.
func (c *Contact) heard(at *atomic.Int64, sent, limit time.Duration) {
	if c.age(at) >= limit {
		c.lost.Store(true)
	}
	for {
		known := at.Load()
		if known >= int64(sent) || at.CompareAndSwap(known, int64(sent)) {
			return
		}
	}
}

// Written notes that a write of this worker, which was sent then, is stored: a server
// heard it, and a quorum has it.
func (c *Contact) Written(sent time.Time) {
	since := sent.Sub(c.since)
	c.heard(&c.pong, since, pongLimit)
	c.heard(&c.quorum, since, quorumLimit)
}

func (c *Contact) age(at *atomic.Int64) time.Duration {
	return time.Since(c.since) - time.Duration(at.Load())
}

// runPings asks the server, four times a second.
func (c *Contact) runPings(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		sent := time.Since(c.since)
		once, cancel := context.WithTimeout(ctx, pongLimit)
		if err := c.conn.NC.FlushWithContext(once); err == nil {
			c.heard(&c.pong, sent, pongLimit)
		}
		cancel()
		if !next(ctx, tick) {
			return
		}
	}
}

// runWrites writes the worker's own record every two seconds.
func (c *Contact) runWrites(ctx context.Context) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		sent := time.Since(c.since)
		if err := c.write(ctx); err == nil {
			c.heard(&c.quorum, sent, quorumLimit)
		} else if ctx.Err() == nil {
			c.log.Warn("cannot write the worker's record", "error", err)
		}
		if !next(ctx, tick) {
			return
		}
	}
}

func (c *Contact) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeEvery)
	defer cancel()
	data, err := json.Marshal(protocol.WorkerRecord{V: protocol.Version, Worker: c.worker, At: protocol.At(time.Now())})
	if err != nil {
		return err
	}
	_, err = c.conn.Publish(ctx, protocol.WorkerSubject(c.worker), data, nil)
	return err
}

// runWatch calls lost and found when contact changes.
func (c *Contact) runWatch(ctx context.Context, lost, found func()) {
	tick := time.NewTicker(pingEvery / 2)
	defer tick.Stop()
	had := true
	for next(ctx, tick) {
		if !had { // everything is suspended: what is missing meanwhile changes nothing
			c.lost.Store(false)
		}
		switch has := c.ok(); {
		case had && !has:
			c.log.Warn("contact with the servers is lost: suspended, nothing is dispatched")
			lost()
			had = false
		case !had && has:
			c.log.Info("contact with the servers is back")
			found()
			had = true
		}
	}
}

// runReconnects calls found after each reconnect, also one so short that contact
// was never lost: pushes are sent at most once.
func (c *Contact) runReconnects(ctx context.Context, found func()) {
	connected := c.conn.NC.StatusChanged(nats.CONNECTED)
	defer c.conn.NC.RemoveStatusListener(connected)
	for {
		select {
		case _, open := <-connected:
			if !open {
				return
			}
			found()
		case <-ctx.Done():
			return
		}
	}
}

// next waits for a tick; false when ctx has ended.
func next(ctx context.Context, t *time.Ticker) bool {
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
