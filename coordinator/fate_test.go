package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

// oldLeader is a ledger one of whose streams is led by a server that has nothing
// behind upto, until something proves that it has everything.
type oldLeader struct {
	ledger
	stream string
	upto   protocol.Seq
}

func (l *oldLeader) old(stream string) bool { return stream == l.stream }

func (l *oldLeader) LeaderLast(ctx context.Context, stream, subject string) (natsx.Message, error) {
	m, err := l.ledger.LeaderLast(ctx, stream, subject)
	if err == nil && l.old(stream) && m.Seq > l.upto {
		return natsx.Message{}, natsx.ErrNotFound
	}
	return m, err
}

func (l *oldLeader) LeaderNext(ctx context.Context, stream, subject string, from protocol.Seq) (natsx.Message, error) {
	m, err := l.ledger.LeaderNext(ctx, stream, subject, from)
	if err == nil && l.old(stream) && m.Seq > l.upto {
		return natsx.Message{}, natsx.ErrNotFound
	}
	return m, err
}

func (l *oldLeader) StreamLast(ctx context.Context, stream string) (protocol.Seq, error) {
	last, err := l.ledger.StreamLast(ctx, stream)
	if l.old(stream) {
		last = min(last, l.upto)
	}
	return last, err
}

func (l *oldLeader) Prove(ctx context.Context, s protocol.Shard) error {
	if l.stream == protocol.ActStream(s) {
		l.stream = ""
	}
	return l.ledger.Prove(ctx, s)
}

// newRecordOld loses the newest record after the first look.
type newRecordOld struct {
	ledger
	reads int
}

func (l *newRecordOld) LeaderLast(ctx context.Context, stream, subject string) (natsx.Message, error) {
	if stream == protocol.OwnStream(0) {
		if l.reads++; l.reads > 1 {
			return natsx.Message{}, natsx.ErrNotFound
		}
	}
	return l.ledger.LeaderLast(ctx, stream, subject)
}

// fateBench is a server on which somebody dealt with an owner's requests.
type fateBench struct {
	t       *testing.T
	ctx     context.Context
	conn    *natsx.Conn
	tenant  func(subject string, body []byte) protocol.Seq
	key     protocol.OwnerKey
	created time.Time
}

func newFateBench(t *testing.T) *fateBench {
	t.Helper()
	s := testkit.NATS(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	agent := s.Tenant(t, "a")
	b := &fateBench{t: t, ctx: ctx, conn: s.Fleet(t), key: owner("a", 1)}
	b.tenant = func(subject string, body []byte) protocol.Seq {
		t.Helper()
		m, err := agent.RequestWithContext(ctx, subject, body)
		if err != nil {
			t.Fatal(err)
		}
		var ack struct{ Seq protocol.Seq }
		if err := json.Unmarshal(m.Data, &ack); err != nil || ack.Seq == 0 {
			t.Fatalf("not stored: %s", m.Data)
		}
		return ack.Seq
	}
	st, err := ownerlog.LookAt(ctx, b.conn, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.created = st.Created
	return b
}

// store stores a request, without an id where id is empty.
func (b *fateBench) store(id protocol.RequestID) protocol.Seq {
	b.t.Helper()
	r, err := protocol.NewRequest(protocol.KindObserve, nil, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	r.ID = id
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.tenant(protocol.AgentActSubject(b.key.Owner, protocol.LaneQueue), body)
}

func (b *fateBench) name(seq protocol.Seq) protocol.RequestID {
	return protocol.SequenceRequestID(seq, b.created)
}

// answer stores the result of a request.
func (b *fateBench) answer(id protocol.RequestID) protocol.Seq {
	b.t.Helper()
	data, err := json.Marshal(protocol.Result{V: protocol.Version, Request: id, Status: protocol.StatusOK})
	if err != nil {
		b.t.Fatal(err)
	}
	seq, err := b.conn.Create(b.ctx, protocol.ResSubject(0, b.key, id), data, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return seq
}

// record writes the owner's, whose cursor is at seq, and purges the queue by it.
func (b *fateBench) record(cursor, result protocol.Seq, done ...protocol.RequestID) {
	b.t.Helper()
	rec := protocol.OwnerRecord{
		V: protocol.Version, State: protocol.RecordUnassigned, CursorQ: cursor, ResultSeq: result, Done: done,
		ActStreamCreated: b.created.Unix(), ActStreamNanos: int64(b.created.Nanosecond()), Nonce: ownerlog.NewNonce(),
	}
	data, err := json.Marshal(rec)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.conn.CAS(b.ctx, protocol.OwnSubject(0, b.key), data, nil, 0); err != nil {
		b.t.Fatal(err)
	}
	if cursor > 0 {
		b.purge(cursor)
	}
}

func (b *fateBench) purge(upto protocol.Seq) {
	b.t.Helper()
	if err := b.conn.PurgeTo(b.ctx, protocol.ActStream(0), protocol.ActSubject(0, b.key, protocol.LaneQueue), upto); err != nil {
		b.t.Fatal(err)
	}
}

// What fleet.result says of a request that is nowhere: what was stored and answered
// is never not_stored, which is "safe to send again".
func TestWhatBecameOfARequestThatIsNowhere(t *testing.T) {
	t.Parallel()
	young := protocol.NewRequestID(time.Now())
	for name, tc := range map[string]struct {
		ask  func(b *fateBench) protocol.RequestID
		want string
	}{
		"an id that was never stored":    {func(*fateBench) protocol.RequestID { return young }, protocol.FateNotStored},
		"an id too old to be sent again": {func(*fateBench) protocol.RequestID { return protocol.NewRequestID(time.Now().Add(-time.Hour)) }, protocol.FateTooOld},
		"a finished id whose result has expired": {func(b *fateBench) protocol.RequestID {
			b.record(0, 0, young)
			return young
		}, protocol.FateTooOld},
		"a request without id that was answered, and its result has expired": {func(b *fateBench) protocol.RequestID {
			seq := b.store("")
			b.record(seq, 0)
			return b.name(seq)
		}, protocol.FateTooOld},
		"a request without id of an owner that was refused": {func(b *fateBench) protocol.RequestID {
			seq := b.store("")
			b.purge(seq)
			return b.name(seq)
		}, protocol.FateTooOld},
		"a sequence that the stream never came to": {func(b *fateBench) protocol.RequestID {
			return b.name(b.store("") + 1)
		}, protocol.FateNotStored},
		"a sequence of another stream": {func(b *fateBench) protocol.RequestID {
			return protocol.SequenceRequestID(b.store("")+1, b.created.Add(-time.Hour))
		}, protocol.FateTooOld},
		"a name that only looks like it": {func(b *fateBench) protocol.RequestID {
			return "s0" + b.name(b.store(""))[1:]
		}, protocol.FateNotStored},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFateBench(t)
			f := fate{log: proving{b.conn}, key: b.key, id: tc.ask(b)}
			if got, err := f.find(b.ctx); err != nil || got.Fate != tc.want {
				t.Errorf("%s is %q %v, want %s", f.id, got.Fate, err, tc.want)
			}
		})
	}
}

// A server that was cut off leads a stream again, and does not have yet what was
// stored meanwhile: that it knows nothing of a request is not believed.
func TestAnOldLeaderTellsNobodyThatARequestWasNeverStored(t *testing.T) {
	t.Parallel()
	young, old := protocol.NewRequestID(time.Now()), protocol.NewRequestID(time.Now().Add(-time.Hour))
	for name, tc := range map[string]struct {
		stream string
		ask    func(b *fateBench) protocol.RequestID
		want   string // empty: unavailable
	}{
		"of requests, and it is queued": {protocol.ActStream(0), func(b *fateBench) protocol.RequestID {
			b.store(young)
			return young
		}, protocol.FateQueued},
		"of requests, and it is queued without id": {protocol.ActStream(0), func(b *fateBench) protocol.RequestID {
			return b.name(b.store(""))
		}, protocol.FateQueued},
		"of requests, and it was answered without id": {protocol.ActStream(0), func(b *fateBench) protocol.RequestID {
			seq := b.store("")
			b.record(seq, 0)
			return b.name(seq)
		}, protocol.FateTooOld},
		"of results, and it was answered": {protocol.ResStream(0), func(b *fateBench) protocol.RequestID {
			b.record(b.store(young), b.answer(young), young)
			return young
		}, ""},
		"of results, and it was answered long ago": {protocol.ResStream(0), func(b *fateBench) protocol.RequestID {
			b.record(b.store(old), b.answer(old))
			return old
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFateBench(t)
			id := tc.ask(b)
			f := fate{log: &oldLeader{ledger: proving{b.conn}, stream: tc.stream}, key: b.key, id: id}
			got, err := f.find(b.ctx)
			if got.Fate != tc.want || (tc.want == "") != errors.Is(err, ownerlog.ErrBehind) {
				t.Errorf("%s is %q %v, want %q", id, got.Fate, err, tc.want)
			}
			f = fate{log: proving{b.conn}, key: b.key, id: id}
			want := tc.want
			if want == "" {
				want = protocol.FateAnswered
			}
			if got, err := f.find(b.ctx); err != nil || got.Fate != want {
				t.Errorf("after it has caught up: %s is %q %v, want %q", id, got.Fate, err, want)
			}
		})
	}
}

// The record was there a moment ago: a leader that does not have it is not asked
// what it says of the request.
func TestARecordThatIsOlderThanBeforeDecidesNoFate(t *testing.T) {
	t.Parallel()
	b := newFateBench(t)
	b.record(0, 0)
	f := fate{log: &newRecordOld{ledger: proving{b.conn}}, key: b.key, id: protocol.NewRequestID(time.Now())}
	if got, err := f.find(b.ctx); !errors.Is(err, ownerlog.ErrBehind) {
		t.Errorf("%q %v", got.Fate, err)
	}
}
