package logtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// patience bounds a call.
const patience = 20 * time.Second

// Log is the log under test: of shard 0, with empty streams.
type Log interface {
	ownerlog.Log
	Listen(subject string, ch chan *nats.Msg) (stop func(), err error)
}

// Fixture is a fresh log with an agent.
type Fixture struct {
	Log Log
	Key protocol.OwnerKey
	// Ask stores a request of the agent in a lane.
	Ask func(lane protocol.Lane, body string, h nats.Header) protocol.Seq
}

// Run runs the suite; open makes a fixture for each of its tests.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	for name, test := range map[string]func(*testing.T, Fixture){
		"records are compared and set":         records,
		"a result stands":                      results,
		"requests are read in order":           requests,
		"pushes carry the server's headers":    pushes,
		"what is not there is not found":       missing,
		"a stream has a creation and an end":   catalog,
		"core messages need no one to listen":  sending,
		"a call whose context has ended fails": ended,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func records(t *testing.T, f Fixture) {
	ctx, subject := within(t), protocol.OwnSubject(0, f.Key)
	first, err := f.Log.CAS(ctx, subject, []byte("1"), nil, 0)
	if err != nil || first != 1 {
		t.Fatalf("%d, %v", first, err)
	}
	for _, stale := range []protocol.Seq{0, first + 1} {
		if _, err := f.Log.CAS(ctx, subject, []byte("x"), nil, stale); !errors.Is(err, natsx.ErrConflict) {
			t.Errorf("behind %d: %v", stale, err)
		}
	}
	for want := first + 1; want < first+4; want++ {
		if got, err := f.Log.CAS(ctx, subject, []byte("2"), nil, want-1); err != nil || got != want {
			t.Fatalf("%d, %v", got, err)
		}
	}
	m, err := f.Log.LeaderLast(ctx, protocol.OwnStream(0), subject)
	if err != nil || m.Seq != first+3 || string(m.Data) != "2" || m.Subject != subject {
		t.Errorf("%+v, %v", m, err)
	}
}

func results(t *testing.T, f Fixture) {
	ctx, subject := within(t), protocol.ResSubject(0, f.Key, "r")
	head := nats.Header{"Traceparent": {"00-1"}}
	if _, err := f.Log.Create(ctx, subject, []byte("first"), head); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Log.Create(ctx, subject, []byte("second"), nil); !errors.Is(err, natsx.ErrConflict) {
		t.Fatalf("a second result: %v", err)
	}
	m, err := f.Log.LeaderLast(ctx, protocol.ResStream(0), subject)
	if err != nil || string(m.Data) != "first" {
		t.Fatalf("%+v, %v", m, err)
	}
	if diff := cmp.Diff(head, m.Header); diff != "" {
		t.Error(diff)
	}
}

func requests(t *testing.T, f Fixture) {
	ctx, stream := within(t), protocol.ActStream(0)
	q, c := protocol.ActSubject(0, f.Key, protocol.LaneQueue), protocol.ActSubject(0, f.Key, protocol.LaneControl)
	one, two, three := f.Ask(protocol.LaneQueue, "1", nil), f.Ask(protocol.LaneControl, "2", nil), f.Ask(protocol.LaneQueue, "3", nil)
	if two != one+1 || three != two+1 {
		t.Fatalf("sequences %d %d %d", one, two, three)
	}
	for name, read := range map[string]func(context.Context, string, string, protocol.Seq) (natsx.Message, error){
		"leader": f.Log.LeaderNext, "direct": f.Log.DirectNext,
	} {
		for _, tc := range []struct {
			subject string
			from    protocol.Seq
			seq     protocol.Seq
			body    string
		}{{q, 0, one, "1"}, {q, one, one, "1"}, {q, one + 1, three, "3"}, {c, one, two, "2"}} {
			m, err := read(ctx, stream, tc.subject, tc.from)
			if err != nil || m.Seq != tc.seq || string(m.Data) != tc.body || m.Subject != tc.subject || m.Time.IsZero() {
				t.Errorf("%s %s from %d: %+v, %v", name, tc.subject, tc.from, m, err)
			}
		}
		for subject, from := range map[string]protocol.Seq{q: three + 1, c: two + 1} {
			if _, err := read(ctx, stream, subject, from); !errors.Is(err, natsx.ErrNotFound) {
				t.Errorf("%s behind the end of %s: %v", name, subject, err)
			}
		}
	}
}

func pushes(t *testing.T, f Fixture) {
	ch := make(chan *nats.Msg, 8)
	stop, err := f.Log.Listen(protocol.PushSubject(0, f.Key, protocol.LaneQueue), ch)
	if err != nil {
		t.Fatal(err)
	}
	// A read is answered after what was sent before it: the interest is known.
	if _, err := f.Log.StreamLast(within(t), protocol.ActStream(0)); err != nil {
		t.Fatal(err)
	}
	forged := nats.Header{
		"Nats-Sequence": {"1000000"}, "Nats-Last-Sequence": {"999999"}, "Nats-Stream": {"BF_RES_0"}, "Status": {"404"}, "Traceparent": {"00-1"},
	}
	first := f.Ask(protocol.LaneQueue, "1", nil)
	f.Ask(protocol.LaneControl, "not listened to", nil)
	second := f.Ask(protocol.LaneQueue, "2", forged)
	for _, want := range []natsx.Message{{Seq: first, Data: []byte("1")}, {Seq: second, LastSeq: first, Data: []byte("2")}} {
		select {
		case m := <-ch:
			got, err := natsx.ReadPush(m)
			if err != nil || got.Seq != want.Seq || got.LastSeq != want.LastSeq || string(got.Data) != string(want.Data) {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
			if got.Seq == second && got.Header.Get("Traceparent") != "00-1" {
				t.Errorf("the publisher's headers are lost: %v", got.Header)
			}
		case <-within(t).Done():
			t.Fatal("no push came")
		}
	}
	stop()
}

func missing(t *testing.T, f Fixture) {
	ctx := within(t)
	for _, subject := range []string{protocol.OwnSubject(0, f.Key), protocol.ResSubject(0, f.Key, "r")} {
		stream := protocol.OwnStream(0)
		if subject != protocol.OwnSubject(0, f.Key) {
			stream = protocol.ResStream(0)
		}
		if m, err := f.Log.LeaderLast(ctx, stream, subject); !errors.Is(err, natsx.ErrNotFound) {
			t.Errorf("%s: %+v, %v", subject, m, err)
		}
	}
}

func catalog(t *testing.T, f Fixture) {
	ctx, stream := within(t), protocol.ActStream(0)
	created, err := f.Log.StreamCreated(ctx, stream)
	if err != nil || created.IsZero() {
		t.Fatalf("%v, %v", created, err)
	}
	if last, err := f.Log.StreamLast(ctx, stream); err != nil || last != 0 {
		t.Fatalf("an empty stream ends at %d, %v", last, err)
	}
	stored := f.Ask(protocol.LaneQueue, "1", nil)
	if last, err := f.Log.StreamLast(ctx, stream); err != nil || last != stored {
		t.Errorf("it ends at %d, %v; want %d", last, err, stored)
	}
	if again, err := f.Log.StreamCreated(ctx, stream); err != nil || !again.Equal(created) {
		t.Errorf("created at %v, then at %v, %v", created, again, err)
	}
}

func sending(t *testing.T, f Fixture) {
	if err := f.Log.Send(protocol.TrimSubject(0, f.Key), []byte("{}")); err != nil {
		t.Error(err)
	}
	if err := f.Log.SendMsg(&nats.Msg{Subject: protocol.DoneSubject(f.Key, "r"), Data: []byte("{}")}); err != nil {
		t.Error(err)
	}
}

func ended(t *testing.T, f Fixture) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Log.CAS(ctx, protocol.OwnSubject(0, f.Key), []byte("1"), nil, 0); err == nil || errors.Is(err, natsx.ErrConflict) {
		t.Errorf("a write: %v", err)
	}
	if _, err := f.Log.LeaderLast(ctx, protocol.OwnStream(0), protocol.OwnSubject(0, f.Key)); err == nil || errors.Is(err, natsx.ErrNotFound) {
		t.Errorf("a read: %v", err)
	}
}
