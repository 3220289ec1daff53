package ownerlog_test

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestSettleKeepsOnlyWhatIsOfThisStream(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 5)
	for name, tc := range map[string]struct {
		created, nanos   int64
		cursorQ, cursorC protocol.Seq
		start            protocol.Seq // of both STARTs, 9 where none is given
		alarm, byID      bool         // byID: the STARTs are known by id alone
	}{
		"a first record":                     {},
		"the same stream":                    {created: at.Unix(), nanos: 5, cursorQ: 8, cursorC: 3},
		"a record without nanoseconds":       {created: at.Unix(), cursorQ: 8, cursorC: 3},
		"at its end":                         {created: at.Unix(), cursorQ: 10, cursorC: 10, start: 10},
		"a stream of before":                 {created: at.Unix() - 1, cursorQ: 1, alarm: true, byID: true},
		"a stream of before, in that second": {created: at.Unix(), nanos: 4, cursorQ: 1, alarm: true, byID: true},
		"a newer one":                        {created: at.Unix() + 1, cursorQ: 1, alarm: true, byID: true},
		"a newer one, in that second":        {created: at.Unix(), nanos: 6, cursorQ: 1, alarm: true, byID: true},
		"an older copy, lane q beyond":       {created: at.Unix(), cursorQ: 11, alarm: true},
		"an older copy, lane c beyond":       {created: at.Unix(), cursorC: 11, alarm: true},
		"an older copy, a START beyond":      {created: at.Unix(), nanos: 5, cursorQ: 8, start: 11, alarm: true, byID: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := cmp.Or(tc.start, 9)
			rec := &protocol.OwnerRecord{
				ActStreamCreated: tc.created, ActStreamNanos: tc.nanos, CursorQ: tc.cursorQ, CursorC: tc.cursorC, Generation: 4,
				InflightQ: &protocol.Inflight{Seq: start}, InflightC: &protocol.Inflight{Seq: start}, Done: []protocol.RequestID{"x"},
			}
			err := ownerlog.Stream{Created: at, Last: 10}.Settle(rec)
			if errors.Is(err, ownerlog.ErrStreamReplaced) != tc.alarm {
				t.Fatalf("alarm %v", err)
			}
			want := [2]protocol.Seq{tc.cursorQ, tc.cursorC}
			if tc.alarm {
				want = [2]protocol.Seq{}
			}
			if got := [2]protocol.Seq{rec.CursorQ, rec.CursorC}; got != want {
				t.Errorf("cursors %v, want %v", got, want)
			}
			if tc.byID {
				start = 0
			}
			if rec.InflightQ.Seq != start || rec.InflightC.Seq != start {
				t.Errorf("STARTs %v %v", rec.InflightQ, rec.InflightC)
			}
			if rec.ActStreamCreated != at.Unix() || rec.ActStreamNanos != 5 || !rec.IsDone("x") || rec.Generation != 4 {
				t.Errorf("%+v", rec)
			}
		})
	}
}

func TestAReplacedStreamIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	answered := b.observe(h)
	b.answer(h, answered)
	for range 3 {
		b.answer(h, b.observe(h))
	}
	if err := h.Flush(b.ctx()); err != nil {
		t.Fatal(err)
	}
	operator := b.Operator(t)
	if err := operator.JS.DeleteStream(b.ctx(), protocol.ActStream(0)); err != nil {
		t.Fatal(err)
	}
	if err := operator.Provision(b.ctx(), protocol.Shards(1), 1); err != nil {
		t.Fatal(err)
	}
	fresh := b.observe(h) // under a sequence that the old cursor lies beyond
	successor := b.claim()
	if !errors.Is(successor.Alarm(), ownerlog.ErrStreamReplaced) {
		t.Fatalf("alarm %v", successor.Alarm())
	}
	lane := successor.NewLane(protocol.LaneQueue)
	if err := lane.Fill(b.ctx(), true); err != nil {
		t.Fatal(err)
	}
	if head, found := lane.Head(); !found || head.Seq != fresh.Seq {
		t.Fatalf("the new stream's request is skipped: %+v, %v", head, found)
	}
	if started := b.start(successor, answered); !started.Done() {
		t.Fatal("the ring was lost: an answered request would run again")
	}
	if h := b.claim(); h.Alarm() != nil {
		t.Fatalf("the alarm does not end: %v", h.Alarm())
	}
}
