package fleetmodel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// coordinator follows package coordinator's answering.go, assign.go, refuse.go and
// purge.go, over the real ownerlog and with the real decisions
// (coordinator/decide). Every coordinator behaves as a leader: two leaders at once
// are the rule here, not the exception.
type coordinator struct {
	*process
	// gone are workers that it takes for dead, rightly or not.
	gone map[protocol.WorkerID]bool
	busy bool // at most one job an owner
	// quota is what it knows of the tenant's; crowded: too many owners wait.
	quota   protocol.Quotas
	crowded bool
	living  int // services that are under way
}

func (w *world) bootCoordinator() *coordinator {
	return &coordinator{process: w.boot("c"), gone: map[protocol.WorkerID]bool{}, quota: unlimited}
}

func (c *coordinator) alive(id protocol.WorkerID) bool {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return !c.gone[id]
}

// look begins a job for the owner. prefer turns the choice among workers.
func (c *coordinator) look(prefer int) {
	if c.busy || c.dead {
		return
	}
	c.busy = true
	c.start(20*time.Second, func(ctx context.Context) {
		c.job(ctx, prefer)
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		c.busy = false
	})
}

// start runs a goroutine of the coordinator. Those of one process that do the
// same at the same time are told apart by their number.
func (c *coordinator) start(patience time.Duration, run func(context.Context)) {
	c.w.jobs++
	ctx := context.WithValue(c.ctx, jobNumber{}, c.w.jobs)
	c.w.goes.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		run(ctx)
	})
}

func (c *coordinator) client(placing bool) *client {
	return &client{c.process, &hold{p: c.process, placing: placing}}
}

// job is what a look comes to, by the leader's word.
func (c *coordinator) job(ctx context.Context, prefer int) {
	log := c.client(true)
	rec, _, err := ownerlog.Read(ctx, log, 0, owner)
	if err != nil {
		return
	}
	newest := c.newest()
	seen := decide.Seen{Unanswered: c.unanswered(rec)}
	if rec != nil {
		seen.Wanted = rec.WantedUntil()
		seen.State, seen.Since, seen.Erase, seen.Alive = rec.State, rec.Since.Time, rec.Erase, c.alive(rec.Worker)
		seen.EraseAgain = decide.EraseAgain(rec)
		seen.Foreign = rec.State == protocol.RecordAssigned && seen.Alive && c.replaced(ctx, log, rec)
	}
	switch todo, reason := seen.Todo(time.Now()); todo {
	case decide.Place:
		if why := c.refusal(seen.State); why == nil {
			c.place(ctx, prefer, reason, newest)
		} else if rec == nil {
			c.refuse(ctx, why)
		} else {
			c.answer(ctx, why)
		}
	case decide.Answer:
		c.answer(ctx, nil)
	case decide.Erase:
		c.eraseDeleted(ctx, log)
	default:
		if seen.State == protocol.RecordAssigned && seen.Unanswered {
			c.tell(ctx, rec.Worker, protocol.Assignment{V: protocol.Version, Key: owner, Fence: protocol.Seq(rec.Epoch), Reason: "reminded"})
		}
	}
}

// unanswered is the view that pushes and counts give.
func (c *coordinator) unanswered(rec *protocol.OwnerRecord) bool {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	st := c.w.servers.streams[protocol.ActStream(0)]
	for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
		for _, m := range st.of(protocol.ActSubject(0, owner, lane)) {
			if rec == nil || m.Seq > rec.Cursor(lane) || rec.ActStreamCreated != st.created.Unix() {
				return true
			}
		}
	}
	return false
}

func (c *coordinator) replaced(ctx context.Context, log *client, rec *protocol.OwnerRecord) bool {
	st, err := ownerlog.LookAt(ctx, log, 0)
	return err == nil && st.Foreign(ownerlog.LifeOf(rec), max(rec.CursorQ, rec.CursorC))
}

// newest are the lanes' last requests, as pushes named them.
func (c *coordinator) newest() (seen [2]protocol.Seq) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	st := c.w.servers.streams[protocol.ActStream(0)]
	for i, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
		seen[i] = st.newest(protocol.ActSubject(0, owner, lane), st.last)
	}
	return seen
}

// maxConflicts is how often the record may change under a placement.
const maxConflicts = 4

// place follows shard.place.
func (c *coordinator) place(ctx context.Context, prefer int, reason string, seen [2]protocol.Seq) {
	log := c.client(true)
	var refused []protocol.WorkerID
	for conflicts := 0; ; {
		rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
		if err != nil {
			return
		}
		if !decide.Placeable(rec, refused, c.alive, time.Now()) && !(reason == decide.StreamReplaced && rec.State == protocol.RecordAssigned && c.replaced(ctx, log, rec)) {
			return
		}
		if decide.Needless(rec, reason, seen[0], seen[1], time.Now()) && !c.replaced(ctx, log, rec) {
			return
		}
		worker, ok := c.choose(prefer, refused)
		if !ok {
			if rec != nil && rec.State == protocol.RecordAssigned && slices.Contains(refused, rec.Worker) {
				_, _ = c.write(ctx, log, rec, fence, protocol.RecordUnassign, "")
			}
			c.answer(ctx, nil)
			return
		}
		err = c.assign(ctx, log, rec, fence, worker, reason)
		switch {
		case errors.Is(err, errRefused):
			refused = append(refused, worker)
		case errors.Is(err, natsx.ErrConflict) && conflicts < maxConflicts:
			conflicts++
		default:
			return
		}
	}
}

func (c *coordinator) choose(prefer int, refused []protocol.WorkerID) (protocol.WorkerID, bool) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	n := len(c.w.workers)
	for i := range n {
		if wk := c.w.workers[(prefer+i)%n]; !c.gone[wk.id] && !slices.Contains(refused, wk.id) {
			return wk.id, true
		}
	}
	return "", false
}

var errRefused = errors.New("refused")

// assign follows shard.assign.
func (c *coordinator) assign(ctx context.Context, log *client, rec *protocol.OwnerRecord, fence protocol.Seq, worker protocol.WorkerID, reason string) error {
	seq, err := c.write(ctx, log, rec, fence, protocol.RecordAssign, worker)
	if err == nil && c.tell(ctx, worker, protocol.Assignment{V: protocol.Version, Key: owner, Fence: seq, Reason: reason}) {
		err = errRefused
	}
	return err
}

// tell sends an assignment. It reports a certain refusal; silence is none.
func (c *coordinator) tell(ctx context.Context, worker protocol.WorkerID, a protocol.Assignment) (refused bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r := c.do(ctx, "assign to "+string(worker), natsx.ErrUnavailable, func(protocol.Seq) reply {
		wk := c.w.reachable(worker)
		if wk == nil {
			return reply{false, natsx.ErrUnavailable}
		}
		return reply{wk.assign(a) != nil, nil}
	})
	refused, _ = r.value.(bool)
	return refused
}

// write follows shard.write.
func (c *coordinator) write(ctx context.Context, log *client, rec *protocol.OwnerRecord, fence protocol.Seq, ev protocol.RecordEvent, worker protocol.WorkerID) (protocol.Seq, error) {
	next := &protocol.OwnerRecord{V: protocol.Version}
	if rec != nil {
		next = rec.Clone()
	}
	if err := next.Move(ev, time.Now()); err != nil {
		return 0, err
	}
	next.Since, next.Worker, next.Epoch, next.Nonce = protocol.At(time.Now()), worker, 0, ownerlog.NewNonce()
	data, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	return log.CAS(ctx, protocol.OwnSubject(0, owner), data, nil, fence)
}

// answerTimeout is package coordinator's.
const answerTimeout = 2 * decide.Restless

// answer follows shard.answer: all is what every request is told, nil answers
// what is due.
func (c *coordinator) answer(ctx context.Context, all *protocol.Error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	log := c.client(false)
	before := protocol.RecordNone
	h, err := ownerlog.Claim(ctx, log, 0, owner, func(rec *protocol.OwnerRecord, _ protocol.Seq) (*protocol.OwnerRecord, error) {
		if !decide.Answerable(rec, c.alive) {
			return nil, errors.New("nothing is due")
		}
		next := &protocol.OwnerRecord{V: protocol.Version}
		if rec != nil {
			next, before = rec.Clone(), rec.State
		}
		if err := next.Move(decide.AnswerEvent(before), time.Now()); err != nil {
			return nil, err
		}
		next.Since, next.Worker, next.Epoch = protocol.At(time.Now()), c.id, 0
		return next, nil
	})
	if err != nil {
		return
	}
	if c.answerAll(ctx, h, before, all) != nil {
		return
	}
	_ = h.Update(ctx, func(r *protocol.OwnerRecord) error { return decide.LetGo(r, time.Now()) })
}

// answerAll follows shard.answerAll: lane c to its end, then lane q up to what
// may still wait.
func (c *coordinator) answerAll(ctx context.Context, h *ownerlog.Holder, before protocol.RecordState, all *protocol.Error) error {
	orphan, orphanC := h.Record().InflightQ, h.Record().InflightC
	control, queue := h.NewLane(protocol.LaneControl), h.NewLane(protocol.LaneQueue)
	if err := errors.Join(control.Fill(ctx, true), queue.Fill(ctx, true)); err != nil {
		return err
	}
	for _, waiting := range control.Waiting() {
		a := protocol.Admit(waiting, h.StreamCreated())
		err := c.answerOne(ctx, h, &a, func(res *protocol.Result, behind bool) (*protocol.Error, error) {
			switch {
			case decide.Began(orphanC, &a):
				return protocol.Errorf(protocol.CodeOutcomeUnknown, ""), nil
			case behind && a.Refused == nil:
				return ownerlog.CannotTell(), nil
			}
			return c.control(ctx, h, queue, &a, res)
		})
		if err != nil {
			return err
		}
	}
	for _, waiting := range queue.Waiting() {
		a := protocol.Admit(waiting, h.StreamCreated())
		why := cmp.Or(decide.Due(&a, before, time.Now()), all)
		if why == nil {
			return nil
		}
		if decide.Began(orphan, &a) {
			why = protocol.Errorf(protocol.CodeOutcomeUnknown, "")
		}
		if err := c.answerOne(ctx, h, &a, func(*protocol.Result, bool) (*protocol.Error, error) { return why, nil }); err != nil {
			return err
		}
	}
	return nil
}

func (c *coordinator) answerOne(ctx context.Context, h *ownerlog.Holder, a *protocol.Admitted, judge func(*protocol.Result, bool) (*protocol.Error, error)) error {
	attempt := 1
	if in := h.Record().Inflight(a.Lane); in != nil && in.Request == a.ID {
		attempt = in.Attempt
	}
	started, err := h.Start(ctx, a, attempt)
	behind := errors.Is(err, ownerlog.ErrBehind)
	if err != nil && !behind {
		return err
	}
	if started.Done() {
		h.Finish(a)
		return nil
	}
	res := a.NewResult(time.Now())
	res.Worker = c.id
	why, err := judge(res, behind)
	if err != nil {
		return err
	}
	if why != nil {
		decide.Fail(res, a, why, time.Now())
	} else {
		res.Status, res.Dispatched = protocol.StatusOK, protocol.DispatchedYes
	}
	if err := h.Answer(ctx, a, res, nil); !errors.Is(err, ownerlog.ErrAnswered) {
		return err
	}
	return nil
}

func (c *coordinator) control(ctx context.Context, h *ownerlog.Holder, queue *ownerlog.Lane, a *protocol.Admitted, res *protocol.Result) (*protocol.Error, error) {
	if a.Refused != nil {
		return a.Refused, nil
	}
	switch args := a.Action.Args.(type) {
	case *protocol.CancelArgs:
		found, err := h.CancelQueued(ctx, a, queue, args.Request, c.id)
		if err != nil || !found {
			return protocol.Errorf(protocol.CodeStaleControl, ""), err
		}
		res.Data = json.RawMessage(`{"cancelled":"queued"}`)
	case *protocol.InterruptArgs:
		return protocol.Errorf(protocol.CodeStaleControl, ""), nil
	}
	return nil, nil
}

// purge follows purge.go: by the persisted cursor, and by no other stream's.
func (c *coordinator) purge() {
	c.start(10*time.Second, func(ctx context.Context) {
		log := c.client(true)
		life := c.life()
		rec, _, err := ownerlog.Read(ctx, log, 0, owner)
		if err != nil || rec == nil {
			return
		}
		st, err := ownerlog.LookAt(ctx, log, 0)
		if err != nil || st.Foreign(ownerlog.LifeOf(rec), max(rec.CursorQ, rec.CursorC)) {
			return
		}
		for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
			c.purgeLane(ctx, lane, rec.Cursor(lane), life)
		}
	})
}

func (c *coordinator) life() int {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.w.promises.life
}

func (c *coordinator) purgeLane(ctx context.Context, lane protocol.Lane, to protocol.Seq, life int) {
	subject := protocol.ActSubject(0, owner, lane)
	c.do(ctx, "purge "+subject, natsx.ErrUncertain, func(protocol.Seq) reply {
		if life != c.w.promises.life {
			return reply{} // see doc.go: the server cannot be asked to compare
		}
		c.w.purged(c.w.servers.purge(protocol.ActStream(0), subject, to))
		return reply{}
	})
}

// What a tenant may use that has one other owner, with an open environment.
var (
	unlimited = protocol.Quotas{Owners: protocol.Unlimited, Environments: protocol.Unlimited, QueueBytes: protocol.Unlimited}
	others    = protocol.TenantUsage{Owners: 1, Environments: 1}
)

// refusal follows loop.refusal: why the owner may not wait for a worker.
func (c *coordinator) refusal(state protocol.RecordState) *protocol.Error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if state == protocol.RecordAssigned || state == protocol.RecordMoving {
		return nil
	}
	if why := decide.Over(c.quota, others, state == protocol.RecordNone); why != nil {
		return why
	}
	if c.crowded {
		return protocol.Errorf(protocol.CodeNoCapacity, "too many wait")
	}
	return nil
}

// refuse follows refuse.go: answers without START, of an owner without a record.
func (c *coordinator) refuse(ctx context.Context, why *protocol.Error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	log := &client{c.process, &hold{p: c.process, refuses: true}}
	life := c.life()
	stream, err := ownerlog.LookAt(ctx, log, 0)
	if err != nil {
		return
	}
	for _, lane := range []protocol.Lane{protocol.LaneControl, protocol.LaneQueue} {
		var last protocol.Seq
		for range protocol.QueueDepth {
			m, err := log.LeaderNext(ctx, protocol.ActStream(0), protocol.ActSubject(0, owner, lane), last+1)
			if errors.Is(err, natsx.ErrNotFound) {
				break
			}
			if err != nil {
				return
			}
			a := protocol.Admit(protocol.Stored{Key: owner, Lane: lane, Seq: m.Seq, StoredAt: m.Time, Data: m.Data}, stream.Created)
			if c.refuseOne(ctx, log, &a, why) != nil {
				return
			}
			last = m.Seq
		}
		if last > 0 {
			c.purgeLane(ctx, lane, last, life)
		}
	}
}

func (c *coordinator) refuseOne(ctx context.Context, log *client, a *protocol.Admitted, why *protocol.Error) error {
	if a.Refused != nil {
		why = a.Refused
	}
	res := a.NewResult(time.Now())
	res.Worker, res.Nonce = c.id, ownerlog.NewNonce()
	decide.Fail(res, a, why, time.Now())
	data, err := json.Marshal(res)
	if err != nil {
		return err
	}
	rec, _, err := ownerlog.Read(ctx, log, 0, owner)
	if err != nil || rec != nil {
		return errors.Join(err, errHasRecord)
	}
	_, err = log.Create(ctx, protocol.ResSubject(0, owner, a.ID), data, nil)
	if errors.Is(err, natsx.ErrConflict) {
		return nil
	}
	return err
}

var errHasRecord = errors.New("the owner has a record")
