package fleetmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// client is a connection to the servers, used by one hold: an environment's, or
// a coordinator's job. Every call of it is a step.
type client struct {
	p    *process
	hold *hold
}

var _ environment.Streams = (*client)(nil)

// CAS implements ownerlog.Writer.
func (c *client) CAS(ctx context.Context, subject string, data []byte, h nats.Header, expect protocol.Seq) (protocol.Seq, error) {
	knew := c.hold.knows.Load() // a copy may come later
	r := c.p.do(ctx, "write "+subject, natsx.ErrUncertain, func(protocol.Seq) reply {
		w := c.p.w
		if c.hold.refuses && w.promises.rec != nil {
			// See doc.go: what the network holds back until somebody has opened the
			// owner.
			w.saw("refusals that came too late")
			if knew {
				w.promises.broken("promise 4: %s refuses what somebody may hold", c.p.id)
			}
			return reply{err: natsx.ErrUncertain}
		}
		seq, err := w.servers.cas(subject, data, h, expect, time.Now())
		if err == nil {
			w.stored(c.hold, subject, seq, data)
		}
		return reply{seq, err}
	})
	seq, _ := r.value.(protocol.Seq)
	return seq, r.err
}

// Create implements ownerlog.Writer.
func (c *client) Create(ctx context.Context, subject string, data []byte, h nats.Header) (protocol.Seq, error) {
	return c.CAS(ctx, subject, data, h, 0)
}

// stored tells the promises what was written.
func (w *world) stored(by *hold, subject string, seq protocol.Seq, data []byte) {
	switch w.servers.streamOf(subject).name {
	case protocol.OwnStream(0):
		rec, err := protocol.DecodeOwnerRecord(data)
		if err != nil {
			w.promises.broken("the record cannot be read: %v", err)
			return
		}
		w.say("  record: %s %s cursors %d %d in flight %s %s", rec.State, rec.Worker, rec.CursorQ, rec.CursorC, inflight(rec.InflightQ), inflight(rec.InflightC))
		w.promises.record(by, seq, rec)
	case protocol.ResStream(0):
		var res protocol.Result
		if err := json.Unmarshal(data, &res); err != nil {
			w.promises.broken("the result cannot be read: %v", err)
			return
		}
		w.say("  result: %s %s %s dispatched %s %v", short(res.Request), res.Kind, res.Status, res.Dispatched, code(&res))
		w.promises.result(by, &res)
	}
}

func inflight(in *protocol.Inflight) string {
	if in == nil {
		return "-"
	}
	return fmt.Sprintf("%s@%d", short(in.Request), in.Seq)
}

func short(id protocol.RequestID) string { return string(id[max(0, len(id)-4):]) }

func code(r *protocol.Result) protocol.Code {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

func (c *client) read(ctx context.Context, name string, get func(*servers, protocol.Seq) (natsx.Message, error)) (natsx.Message, error) {
	r := c.p.do(ctx, name, natsx.ErrUnavailable, func(behind protocol.Seq) reply {
		m, err := get(c.p.w.servers, behind)
		return reply{m, err}
	})
	m, _ := r.value.(natsx.Message)
	return m, r.err
}

// leading is up to where the stream's leader has applied it. A hold remembers
// that it was told less than there is.
func (c *client) leading(stream string) protocol.Seq {
	w := c.p.w
	st := w.servers.streams[stream]
	at := st.applied(time.Now())
	if at < st.last {
		w.saw("reads of a leader that was behind: " + stream)
		c.p.disturbed, c.hold.misled = w.round, true
	}
	return at
}

// LeaderLast implements ownerlog.Reader.
func (c *client) LeaderLast(ctx context.Context, stream, subject string) (natsx.Message, error) {
	return c.read(ctx, "last of "+subject, func(s *servers, _ protocol.Seq) (natsx.Message, error) {
		m, err := s.lastOf(stream, subject, c.leading(stream))
		if err == nil && stream == protocol.OwnStream(0) {
			c.hold.knows.Store(true)
		}
		return m, err
	})
}

// LeaderNext implements ownerlog.Reader.
func (c *client) LeaderNext(ctx context.Context, stream, subject string, from protocol.Seq) (natsx.Message, error) {
	return c.read(ctx, "next of "+subject, func(s *servers, _ protocol.Seq) (natsx.Message, error) {
		return s.next(stream, subject, from, c.leading(stream))
	})
}

// DirectNext implements ownerlog.Reader.
func (c *client) DirectNext(ctx context.Context, stream, subject string, from protocol.Seq) (natsx.Message, error) {
	return c.read(ctx, "direct next of "+subject, func(s *servers, behind protocol.Seq) (natsx.Message, error) {
		last := s.streams[stream].last
		m, err := s.next(stream, subject, from, last-min(last, behind))
		if err != nil && s.streams[stream].newest(subject, last) >= from {
			c.p.w.saw("direct reads that were behind")
		}
		return m, err
	})
}

// StreamCreated implements ownerlog.Catalog.
func (c *client) StreamCreated(ctx context.Context, stream string) (time.Time, error) {
	r := c.p.do(ctx, "creation of "+stream, natsx.ErrUnavailable, func(protocol.Seq) reply {
		return reply{c.p.w.servers.streams[stream].created, nil}
	})
	at, _ := r.value.(time.Time)
	return at, r.err
}

// StreamLast implements ownerlog.Catalog.
func (c *client) StreamLast(ctx context.Context, stream string) (protocol.Seq, error) {
	r := c.p.do(ctx, "end of "+stream, natsx.ErrUnavailable, func(protocol.Seq) reply {
		return reply{c.leading(stream), nil}
	})
	seq, _ := r.value.(protocol.Seq)
	return seq, r.err
}

// Send implements ownerlog.Sender: hints and events, which nothing depends on.
func (c *client) Send(string, []byte) error { return nil }

// SendMsg implements ownerlog.Sender: results that are pushed once more.
func (c *client) SendMsg(*nats.Msg) error { return nil }

// Listen implements environment.Streams.
func (c *client) Listen(subject string, ch chan *nats.Msg) (func(), error) {
	w := c.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &subscription{p: c.p, subject: subject, ch: ch}
	w.subs = append(w.subs, s)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		s.stopped = true
	}, nil
}

// store is the object store as one hold sees it.
type store struct {
	p    *process
	hold *hold
}

var _ checkpoints.Objects = (*store)(nil)

func (s *store) do(ctx context.Context, op, key string, write bool, effect func() (any, error)) reply {
	missing := &objectstore.Error{Op: op, Key: key, Kind: objectstore.ErrUnavailable, Lost: write}
	return s.p.do(ctx, op+" "+key[max(0, len(key)-3):], missing, func(protocol.Seq) reply {
		if s.p.w.storeOff {
			return reply{err: &objectstore.Error{Op: op, Key: key, Kind: objectstore.ErrUnavailable}}
		}
		v, err := effect()
		return reply{v, err}
	})
}

// PutNew implements checkpoints.Objects.
func (s *store) PutNew(ctx context.Context, key string, body []byte) error {
	return s.do(ctx, "put new", key, true, func() (any, error) {
		err := s.p.w.objects.PutNew(context.Background(), key, body)
		if err == nil {
			s.p.w.promises.manifest(s.hold, key)
		}
		return nil, err
	}).err
}

// Get implements checkpoints.Objects.
func (s *store) Get(ctx context.Context, key string) ([]byte, error) {
	r := s.do(ctx, "get", key, false, func() (any, error) { return s.p.w.objects.Get(context.Background(), key) })
	b, _ := r.value.([]byte)
	return b, r.err
}

// List implements checkpoints.Objects.
func (s *store) List(ctx context.Context, prefix, startAfter string) ([]objectstore.Entry, error) {
	r := s.do(ctx, "list", prefix, false, func() (any, error) {
		return s.p.w.objects.List(context.Background(), prefix, startAfter)
	})
	l, _ := r.value.([]objectstore.Entry)
	return l, r.err
}

// Delete implements checkpoints.Objects.
func (s *store) Delete(ctx context.Context, key string) error {
	return s.do(ctx, "delete", key, true, func() (any, error) {
		s.p.w.promises.freed[key] = true
		return nil, s.p.w.objects.Delete(context.Background(), key)
	}).err
}
