package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // names of time zones are checked here, also where the host has none

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// lifeAtOnce bounds services that wait for an environment.
	lifeAtOnce = 512
	// lifePause spaces looks at an owner that is on its way.
	lifePause = 100 * time.Millisecond
	// endWait bounds what needs no browser: giving a lease up, a reset.
	endWait = 3 * time.Second
)

// life is a service for one owner's life. It reports whether it is done; if not,
// the owner is on its way somewhere, and the reply is what to say if that takes
// too long.
type life func(ctx context.Context, s *shard, key protocol.OwnerKey) (reply protocol.AcquireReply, done bool)

// startLife serves what may have to wait for an environment, in a goroutine of
// its own; false for any other verb. body is the request's.
func (c *Coordinator) startLife(ctx context.Context, key protocol.OwnerKey, verb string, operator bool, m *nats.Msg) bool {
	step, patience, refused := c.lifeOf(verb, operator, m.Data)
	if refused == nil && step == nil {
		return false
	}
	if refused == nil && !c.living.startOne(func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		respond(m, c.live(ctx, key, step))
	}) {
		refused = wait("too many wait for environments here")
	}
	if refused != nil {
		respond(m, protocol.AcquireReply{V: protocol.Version, Error: refused})
	}
	return true
}

// living are the services that wait for an environment, lifeAtOnce at most.
type living struct {
	mu     sync.Mutex // guards n and closed
	n      int
	closed bool
	all    sync.WaitGroup
}

// startOne runs one more; false when there are too many, or it is closed.
func (l *living) startOne(run func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.n == lifeAtOnce {
		return false
	}
	l.n++
	l.all.Go(func() {
		run()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.n--
	})
	return true
}

// close waits for all; none begins any more.
func (l *living) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.all.Wait()
}

// live takes the step until it is done, or the wait is over. A step that the end
// of the wait cut short says only that; then the one before it is the answer.
func (c *Coordinator) live(ctx context.Context, key protocol.OwnerKey, step life) protocol.AcquireReply {
	s := c.shards[c.cfg.Shards.Of(key)]
	var whole *protocol.AcquireReply
	for {
		reply, done := step(ctx, s, key)
		if ctx.Err() == nil {
			whole = &reply
		} else if !done && whole != nil {
			reply = *whole
		}
		if done || !pause(ctx, lifePause) {
			reply.V, reply.OK = protocol.Version, reply.Error == nil
			return reply
		}
	}
}

// lifeOf reads a request for one of the services.
func (c *Coordinator) lifeOf(verb string, operator bool, body []byte) (life, time.Duration, *protocol.Error) {
	switch {
	case verb == protocol.ServiceReset:
		return func(ctx context.Context, s *shard, key protocol.OwnerKey) (protocol.AcquireReply, bool) {
			return s.reset(ctx, key, operator)
		}, endWait, nil
	case operator && verb == protocol.OpsControl:
		var q protocol.ControlQuery
		if err := decode(body, &q); err != nil {
			return nil, 0, err
		}
		return controlling(q), protocol.DefaultLifeWait, q.Check()
	case operator:
		return nil, 0, nil
	case verb == protocol.ServiceAcquire:
		q := protocol.AcquireQuery{V: protocol.Version}
		if len(body) > 0 {
			if err := decode(body, &q); err != nil {
				return nil, 0, err
			}
		}
		return c.acquiring(&q), q.Wait(), c.checkAcquire(&q)
	case verb == protocol.ServiceRelease:
		var q protocol.ReleaseQuery
		if err := decode(body, &q); err != nil {
			return nil, 0, err
		}
		if !protocol.ValidToken(string(q.Lease), protocol.MaxIDLen) {
			return nil, 0, protocol.Errorf(protocol.CodeInvalidArgument, "lease: want the id of a lease")
		}
		return releasing(q.Lease), endWait, nil
	case verb == protocol.ServiceClose:
		return closing, protocol.DefaultLifeWait, nil
	case verb == protocol.ServiceDelete:
		return deleting, protocol.DefaultLifeWait, nil
	}
	return nil, 0, nil
}

func decode(body []byte, q any) *protocol.Error {
	if err := json.Unmarshal(body, q); err != nil {
		return protocol.Errorf(protocol.CodeInvalidRequest, "the body cannot be read as JSON of this service")
	}
	return nil
}

// checkAcquire refuses what no owner of this fleet could get.
func (c *Coordinator) checkAcquire(q *protocol.AcquireQuery) *protocol.Error {
	if err := q.Check(); err != nil {
		return err
	}
	if _, err := time.LoadLocation(q.Timezone); err != nil {
		return protocol.Errorf(protocol.CodeInvalidArgument, "timezone: there is no %s", q.Timezone)
	}
	return nil
}

// unable is why no worker could hold the owner. It is over with the answer, once
// this coordinator has had the time to hear of every worker.
func (c *Coordinator) unable(requires []protocol.Capability) (err *protocol.Error, over bool) {
	able, settled := c.registry.able(requires, time.Now())
	if able {
		return nil, false
	}
	if !settled {
		return wait("this coordinator has just started, and has not heard of every worker"), false
	}
	return protocol.Errorf(protocol.CodeCapabilityUnsupported, "no worker has all of %v", requires), true
}

// acquiring gives the agent a lease on an environment that is open. Whoever asks
// meanwhile waits for the same opening: the record has one holder, and the
// holder one opening.
func (c *Coordinator) acquiring(q *protocol.AcquireQuery) life {
	if q.Lease == "" {
		q.Lease = protocol.LeaseID("l-" + strings.ToLower(rand.Text()))
	}
	waits := &patient{as: q.Lease}
	return func(ctx context.Context, s *shard, key protocol.OwnerKey) (protocol.AcquireReply, bool) {
		if q.Policy != "" && c.quotas.lacks(key.Tenant, q.Policy) {
			return refusal(protocol.Errorf(protocol.CodePolicyDenied, "this tenant has no policy of that name")), true
		}
		if err, over := c.unable(q.Requires); err != nil {
			return refusal(err), over
		}
		rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
		if err != nil {
			return unreached(err), false
		}
		if reply, done := s.toHolder(ctx, key, rec, protocol.HolderQuery{Op: protocol.HolderAcquire, Acquire: q}); done || held(rec) {
			return reply, done
		}
		if why := s.c.overQuota(key.Tenant, rec); why != nil {
			return refusal(why), true
		}
		next := &protocol.OwnerRecord{V: protocol.Version}
		if rec != nil {
			next = rec.Clone()
		}
		if err := next.Accommodate(q, time.Now()); err != nil {
			return refusal(err), true
		}
		return waits.step(ctx, s, key, next, fence)
	}
}

// overQuota is why the tenant may not open one more environment. What it uses is
// known as the shards' leaders last said, a second ago.
func (c *Coordinator) overQuota(t protocol.Tenant, rec *protocol.OwnerRecord) *protocol.Error {
	if rec != nil && rec.State == protocol.RecordMoving {
		return nil // it has one
	}
	const all = protocol.Shard(-1)
	return decide.Over(c.quotas.of(t), c.peers.elsewhere(t, all, time.Now()), rec == nil)
}

func held(rec *protocol.OwnerRecord) bool {
	return rec != nil && rec.State == protocol.RecordAssigned
}

// toHolder asks the worker that the record names. It also answers for owners
// that are over, and asks to wait for those that a coordinator answers for.
func (s *shard) toHolder(ctx context.Context, key protocol.OwnerKey, rec *protocol.OwnerRecord, q protocol.HolderQuery) (protocol.AcquireReply, bool) {
	switch {
	case rec == nil:
		return protocol.AcquireReply{}, false
	case rec.State == protocol.RecordFailed:
		return refusal(protocol.Errorf(protocol.CodeEnvironmentFailed, "")), true
	case rec.State == protocol.RecordDeleted:
		return refusal(protocol.Errorf(protocol.CodeEnvironmentDeleted, "")), true
	case rec.State != protocol.RecordAssigned:
		return protocol.AcquireReply{}, false
	}
	q.V, q.Key = protocol.Version, key
	if deadline, ok := ctx.Deadline(); ok {
		q.WaitMS = max(1, time.Until(deadline).Milliseconds()-lifePause.Milliseconds())
	}
	var reply protocol.AcquireReply
	if err := s.c.askLong(ctx, rec.Worker, protocol.VerbHolder, q, &reply); err != nil {
		return unreached(err), false
	}
	if e := reply.Error; e != nil && (e.Code == protocol.CodeNotFound || e.Code == protocol.CodeUnavailable) {
		return refusal(wait("the environment is on its way to another state; ask again")), false
	}
	return reply, true
}

// askLong is a question to a worker that may take until ctx ends.
func (c *Coordinator) askLong(ctx context.Context, id protocol.WorkerID, verb string, q, reply any) error {
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	m, err := c.cfg.Conn.NC.RequestWithContext(ctx, protocol.ControlSubject(id, verb), data)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Data, reply)
}

// rewrite changes a record that no worker holds.
func (s *shard) rewrite(ctx context.Context, key protocol.OwnerKey, next *protocol.OwnerRecord, fence protocol.Seq) error {
	next.V, next.Nonce = protocol.Version, ownerlog.NewNonce()
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	_, err = s.c.cfg.Conn.CAS(ctx, protocol.OwnSubject(s.id, key), data, nil, fence)
	if err != nil && !errors.Is(err, natsx.ErrConflict) {
		s.log.Warn("cannot write a record", "owner", key.String(), "error", err)
	}
	return err
}

func refusal(err error) protocol.AcquireReply {
	var known *protocol.Error
	if !errors.As(err, &known) {
		known = protocol.Errorf(protocol.CodeInternal, "%v", err)
	}
	return protocol.AcquireReply{V: protocol.Version, Error: known}
}

// wait is what an agent is told whose patience was shorter than the owner's way.
func wait(what string) *protocol.Error {
	err := protocol.Errorf(protocol.CodeUnavailable, "%s", what).WithDispatched(protocol.DispatchedNo)
	err.Retryable, err.RecommendedAction = true, "ask again"
	return err
}

func unreached(err error) protocol.AcquireReply {
	return refusal(wait("the owner could not be reached: " + err.Error()))
}

// operateLife is an operator's service for one owner, which its body names.
func (c *Coordinator) operateLife(ctx context.Context, verb string, m *nats.Msg) {
	var q protocol.OwnerQuery
	err := decode(m.Data, &q)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		respond(m, protocol.AcquireReply{V: protocol.Version, Error: err})
		return
	}
	c.startLife(ctx, q.Key, verb, true, m)
}
