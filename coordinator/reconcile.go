package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// onRecord takes a record as it was written. The view is a hint: what is done
// with an owner begins with a leader read.
func (l *loop) onRecord(ctx context.Context, m natsx.Message) {
	_, key, err := protocol.ParseOwnSubject(m.Subject)
	if err != nil {
		return
	}
	rec, err := protocol.DecodeOwnerRecord(m.Data)
	if err != nil {
		l.s.log.Error("a record cannot be read", "owner", key.String(), "error", err)
		return
	}
	epoch := rec.Epoch
	if epoch == 0 {
		epoch = protocol.Epoch(m.Seq)
	}
	if old := l.view[key]; old != nil && old.fence > m.Seq {
		return
	}
	l.learn(key, &entry{
		state: rec.State, worker: rec.Worker, epoch: epoch, fence: m.Seq,
		cursorQ: rec.CursorQ, cursorC: rec.CursorC, life: ownerlog.LifeOf(rec), since: rec.Since.Time, erase: rec.Erase, eraseAgain: decide.EraseAgain(rec), wanted: rec.WantedUntil(),
		wrote: m.Time, idle: idle(rec), failures: len(rec.Failures), leases: len(rec.Leases),
	})
	if rec.State != protocol.RecordAssigned && rec.State != protocol.RecordAnswering {
		// Nobody holds it: what is queued was maybe stored when somebody did.
		l.look(ctx, key)
	}
}

// learn puts what is known of a record into the view.
func (l *loop) learn(key protocol.OwnerKey, e *entry) {
	before := protocol.RecordNone
	l.saw(l.view[key], e)
	if old := l.view[key]; old != nil {
		before = old.state
	}
	l.view[key] = e
	l.usage.moved(key.Tenant, before, e.state)
	l.usage.trimmed(key, protocol.LaneQueue, e.cursorQ)
	l.usage.trimmed(key, protocol.LaneControl, e.cursorC)
}

// onPush takes a request that was just stored.
func (l *loop) onPush(ctx context.Context, m *nats.Msg) {
	// The server made the push's own subject out of the stored one; what is no
	// owner's name in it, natsx does not read at all.
	addr, err := protocol.ParseActSubject(m.Subject)
	if err != nil {
		l.s.log.Warn("a request under an illegal name; it ages out", "error", err)
		l.s.c.cfg.Meter.Saw(SawUnroutable)
		return
	}
	msg, err := natsx.ReadPush(m)
	if err != nil {
		return
	}
	l.note(addr.Key, addr.Lane, msg.Seq)
	l.usage.stored(addr.Key, addr.Lane, msg.Seq, len(msg.Data))
	l.stream.Last = max(l.stream.Last, msg.Seq)
	l.look(ctx, addr.Key)
}

func (l *loop) note(key protocol.OwnerKey, lane protocol.Lane, seq protocol.Seq) {
	q := l.queued[key]
	if q == nil {
		q = &lanes{}
		l.queued[key] = q
	}
	if lane == protocol.LaneControl {
		q.c = max(q.c, seq)
	} else {
		q.q = max(q.q, seq)
	}
}

// unanswered reports whether requests of the owner lie behind its cursors.
func (l *loop) unanswered(key protocol.OwnerKey) bool {
	q, e := l.queued[key], l.view[key]
	if q == nil {
		return false
	}
	if e == nil || l.foreign(e) {
		return true
	}
	return q.q > e.cursorQ || q.c > e.cursorC
}

func (l *loop) onWorkerGone(ctx context.Context, id protocol.WorkerID) {
	for key, e := range l.view {
		if e.state == protocol.RecordAssigned && e.worker == id {
			l.look(ctx, key)
		}
	}
}

// reconcile compares what the queues hold with the view, whatever was or was not
// pushed: it wakes, repeats assignments, and purges.
func (l *loop) reconcile(ctx context.Context) {
	conn, stream := l.s.c.cfg.Conn, protocol.ActStream(l.s.id)
	if err := l.lookAtStream(ctx); err != nil {
		l.s.log.Warn("cannot reconcile", "error", err)
		return
	}
	counts, err := conn.SubjectCounts(ctx, stream, "bf.act."+l.s.id.String()+".>")
	if err != nil {
		l.s.log.Warn("cannot reconcile", "error", err)
		return
	}
	subjects := make([]string, 0, len(counts))
	for subject := range counts {
		if _, err := protocol.ParseActSubject(subject); err == nil {
			subjects = append(subjects, subject)
		}
	}
	newest, err := conn.DirectLastMulti(ctx, stream, subjects)
	if err != nil {
		l.s.log.Warn("cannot reconcile", "error", err)
		return
	}
	for subject, m := range newest {
		addr, err := protocol.ParseActSubject(subject)
		if err != nil {
			continue
		}
		l.note(addr.Key, addr.Lane, m.Seq)
		l.usage.listed(addr.Key, addr.Lane, counts[subject], len(m.Data))
		l.purge(ctx, addr.Key)
	}
	l.line.retry()
	for _, key := range l.known() {
		l.look(ctx, key)
		e := l.view[key]
		switch {
		case e == nil:
		case !l.unanswered(key):
			delete(l.queued, key)
		case e.state == protocol.RecordAssigned:
			l.remind(key, e)
		}
	}
	l.usage.emptied(func(key protocol.OwnerKey) bool { return l.queued[key] != nil })
	l.serve(ctx)
}

// known are the owners of the view and of the queues. Those with requests come in
// the order in which these were stored: a leader that begins finds many at once,
// and who came first shall be the first in the line.
func (l *loop) known() []protocol.OwnerKey {
	all := make([]protocol.OwnerKey, 0, len(l.view)+len(l.queued))
	for key := range l.view {
		all = append(all, key)
	}
	for key := range l.queued {
		if l.view[key] == nil {
			all = append(all, key)
		}
	}
	newest := func(key protocol.OwnerKey) protocol.Seq {
		if q := l.queued[key]; q != nil {
			return max(q.q, q.c)
		}
		return 0
	}
	slices.SortFunc(all, func(a, b protocol.OwnerKey) int { return cmp.Compare(newest(a), newest(b)) })
	return all
}

// remind sends an assignment again (core NATS, no answer wanted): its worker may
// never have heard of it, and does nothing if it has.
func (l *loop) remind(key protocol.OwnerKey, e *entry) {
	data, err := json.Marshal(protocol.Assignment{
		V: protocol.Version, Key: key, Shard: l.s.id, Fence: protocol.Seq(e.epoch), Reason: "reminded",
	})
	if err == nil {
		_ = l.s.c.cfg.Conn.NC.Publish(protocol.ControlSubject(e.worker, protocol.VerbAssign), data)
	}
}

// onHint purges what a holder has persisted as answered.
func (l *loop) onHint(ctx context.Context, m *nats.Msg) {
	if _, key, err := protocol.ParseOwnSubject(m.Subject); err == nil {
		l.purge(ctx, key)
	}
}
