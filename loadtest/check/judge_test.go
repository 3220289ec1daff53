package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

var (
	owner = protocol.OwnerKey{Tenant: "a", Owner: "one"}
	began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func name(seq protocol.Seq) ID { return ID{owner, protocol.RequestID(fmt.Sprintf("r%d", seq))} }

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

// kinds of the requests 1 to 6 of a run in which nothing went wrong: a worker is
// lost while 3 (a read) is in flight, and again while 5 (a write) is.
var kinds = []protocol.Kind{"", protocol.KindOpen, protocol.KindFill, protocol.KindObserve, protocol.KindClick, protocol.KindPress, protocol.KindFill}

func dispatch(seq protocol.Seq, worker protocol.WorkerID, epoch protocol.Epoch, attempt, ms int) Dispatch {
	info, _ := kinds[seq].Lookup()
	return Dispatch{
		File: string(worker), Line: ms,
		DispatchEntry: protocol.DispatchEntry{
			At: protocol.At(at(ms)), Key: owner, Request: name(seq).Request, Seq: seq, Kind: kinds[seq],
			Effect: info.Effect, Worker: worker, Epoch: epoch, Attempt: attempt,
		},
	}
}

// sound is evidence of a run with two losses, a resend, a queued cancel and a
// malformed request: every promise is kept.
func sound() Evidence {
	e := Evidence{
		Pushes: map[ID]Pushes{}, Told: map[ID][]Told{}, Now: at(60_000),
		Records: map[protocol.OwnerKey]protocol.OwnerRecord{owner: {State: protocol.RecordAssigned, Worker: "w3", CursorQ: 8}},
		Dispatches: []Dispatch{
			dispatch(1, "w1", 10, 1, 10), dispatch(2, "w1", 10, 1, 20), dispatch(3, "w1", 10, 1, 30),
			dispatch(3, "w2", 20, 2, 1030), dispatch(4, "w2", 20, 1, 1040), dispatch(5, "w2", 20, 1, 1050),
			dispatch(6, "w3", 30, 1, 2060),
		},
	}
	for seq := protocol.Seq(1); seq <= 6; seq++ {
		e.add(seq, protocol.StatusOK, protocol.DispatchedYes, seq+100, int(seq)*10+5+[]int{0, 0, 0, 1000, 1000, 2000, 2000}[seq])
	}
	e.result(5).Status, e.result(5).Dispatched = protocol.StatusOutcomeUnknown, protocol.DispatchedUnknown
	// 7 was cancelled while 4 ran: answered ahead of its turn. 8 could not be read.
	kinds := append(kinds, protocol.KindFill, "")
	e.add(7, protocol.StatusCancelled, protocol.DispatchedNo, 103, 1041)
	e.add(8, protocol.StatusError, protocol.DispatchedNo, 110, 2100)
	for i := range e.Requests {
		e.Requests[i].Kind = kinds[i+1]
	}
	// 2 was sent again.
	e.Requests[1].Copies = 2
	p := e.Pushes[name(2)]
	p.Bodies[e.result(2).Digest]++
	return e
}

func (e *Evidence) add(seq protocol.Seq, status protocol.Status, d protocol.Dispatched, storedSeq protocol.Seq, ms int) {
	id := name(seq)
	kind := protocol.KindFill
	if int(seq) < len(kinds) {
		kind = kinds[seq]
	}
	body := DigestOf([]byte(id.Request))
	e.Requests = append(e.Requests, Request{ID: id, Lane: protocol.LaneQueue, Seq: seq, Copies: 1, Kind: kind, At: began})
	e.Results = append(e.Results, Result{
		ID: id, Lane: protocol.LaneQueue, Seq: seq, Kind: kind, Status: status, Dispatched: d, FinishedAt: at(ms),
		StoredSeq: storedSeq, StoredAt: at(ms + 1), Digest: body, Nonce: "n-" + string(id.Request), Stored: 1,
	})
	e.Pushes[id] = Pushes{First: 1, Bodies: map[Digest]int{body: 1}, At: at(ms + 2)}
	e.Told[id] = []Told{{Nonce: "n-" + string(id.Request), Status: status}}
}

func (e *Evidence) result(seq protocol.Seq) *Result {
	for i := range e.Results {
		if e.Results[i].ID == name(seq) {
			return &e.Results[i]
		}
	}
	panic("no such result")
}

func (e *Evidence) drop(seq protocol.Seq) {
	kept := e.Results[:0]
	for _, r := range e.Results {
		if r.ID != name(seq) {
			kept = append(kept, r)
		}
	}
	e.Results = kept
}

func TestASoundRunBreaksNothing(t *testing.T) {
	t.Parallel()
	v := Judge(sound())
	if v.Promises.Broken() || len(v.Findings) > 0 || len(v.Notes) > 0 {
		t.Fatalf("%+v", v)
	}
}

// Every rule is broken once on purpose.
func TestForgedEvidenceIsCaught(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		forge func(e *Evidence)
		want  Promises
		text  string
	}{
		{"a result is missing and the cursor has passed", func(e *Evidence) { e.drop(4) }, Promises{Lost: 1}, "the cursor has passed it (8)"},
		{"a result is missing and the request waits", func(e *Evidence) {
			e.drop(8)
			e.Records[owner] = protocol.OwnerRecord{State: protocol.RecordAssigned, CursorQ: 7}
		}, Promises{Lost: 1}, "the cursor is at 7"},
		{"a result is missing and the request was begun", func(e *Evidence) {
			e.drop(6)
			e.Records[owner] = protocol.OwnerRecord{CursorQ: 5, InflightQ: &protocol.Inflight{Request: name(6).Request, Attempt: 1}}
		}, Promises{Lost: 1}, "it was begun"},
		{"a malformed request is not answered", func(e *Evidence) { e.drop(8) }, Promises{Lost: 1}, "cannot be read"},
		{"an answer was pushed but is not stored", func(e *Evidence) { e.drop(2) }, Promises{Lost: 1}, "has no result"},

		{"two results are stored", func(e *Evidence) { e.result(2).Stored = 2 }, Promises{SecondResults: 1}, "2 results are stored"},
		{"a result is pushed twice", func(e *Evidence) {
			p := e.Pushes[name(3)]
			p.First = 2
			e.Pushes[name(3)] = p
		}, Promises{SecondResults: 1}, "pushed 2 times"},
		{"another result is pushed", func(e *Evidence) { e.Pushes[name(3)].Bodies[DigestOf([]byte("other"))]++ }, Promises{SecondResults: 1}, "2 different results"},
		{"another result is repeated", func(e *Evidence) { e.result(2).Digest = DigestOf([]byte("other")) }, Promises{SecondResults: 1}, "2 different results"},
		{"the agent was told another result", func(e *Evidence) {
			e.Told[name(5)] = append(e.Told[name(5)], Told{Nonce: "n-else", Status: protocol.StatusOK})
		}, Promises{SecondResults: 1}, "the agent was told ok"},
		{"one request is answered under two names", func(e *Evidence) {
			r := *e.result(8)
			r.Request, r.StoredSeq = "s8-1", 111
			e.Results = append(e.Results, r)
		}, Promises{SecondResults: 1}, "was answered as r8, too"},

		{"dispatched before an earlier request", func(e *Evidence) {
			e.Dispatches[0].Line, e.Dispatches[1].Line = e.Dispatches[1].Line, e.Dispatches[0].Line
		}, Promises{Reordered: 1}, "open 1 was dispatched (epoch 10) after fill 2"},
		{"a later holder goes back", func(e *Evidence) {
			d := dispatch(2, "w2", 20, 1, 1045)
			e.Dispatches[1] = d
		}, Promises{Reordered: 1, DoubleDispatched: 1}, "fill 2 was dispatched (epoch 20)"},
		{"two workers in one epoch", func(e *Evidence) { e.Dispatches[4].Worker = "w9" }, Promises{Reordered: 2}, "epoch 20 has two workers"},
		{"two at a time", func(e *Evidence) { e.result(1).FinishedAt = at(27) }, Promises{Reordered: 1}, "7ms before open 1 ended"},
		{"answered out of order", func(e *Evidence) {
			a, b := e.result(1), e.result(2)
			a.StoredSeq, b.StoredSeq = b.StoredSeq, a.StoredSeq
		}, Promises{Reordered: 1}, "open 1 was answered after fill 2"},

		{"a write is dispatched twice", func(e *Evidence) {
			e.Dispatches = append(e.Dispatches, dispatch(5, "w3", 30, 2, 2050))
		}, Promises{DoubleDispatched: 1}, "press 5 was dispatched 2 times"},
		{"dispatched and denied", func(e *Evidence) {
			r := e.result(4)
			r.Status, r.Code, r.Dispatched = protocol.StatusError, protocol.CodeGenerationChanged, protocol.DispatchedNo
		}, Promises{DoubleDispatched: 1}, "answered error generation_changed with dispatched=no"},
		{"cancelled in the queue and dispatched all the same", func(e *Evidence) {
			d := dispatch(6, "w3", 30, 1, 2070)
			d.Request, d.Seq = name(7).Request, 7
			e.Dispatches = append(e.Dispatches, d)
		}, Promises{DoubleDispatched: 1}, "fill 7 was dispatched, and answered cancelled"},
		{"dispatched long after it was answered", func(e *Evidence) {
			e.Dispatches[5].At = protocol.At(at(9000))
			e.result(5).Status = protocol.StatusError
		}, Promises{DoubleDispatched: 1}, "after it was answered error"},
		{"a read is dispatched three times", func(e *Evidence) {
			e.Dispatches = append(e.Dispatches, dispatch(3, "w2", 20, 3, 1035))
		}, Promises{DoubleDispatched: 1}, "the read observe 3 was dispatched 3 times"},

		{"processes stay", func(e *Evidence) { e.Orphans = 3 }, Promises{OrphanProcesses: 3}, "3 processes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			tc.forge(&e)
			v := Judge(e)
			if diff := cmp.Diff(tc.want, v.Promises); diff != "" {
				t.Errorf("promises (-want +got):\n%s\n%+v", diff, v.Findings)
			}
			for _, f := range v.Findings {
				if strings.Contains(f.Text, tc.text) {
					return
				}
			}
			t.Errorf("no finding says %q: %+v", tc.text, v.Findings)
		})
	}
}

// What looks odd and is legal.
func TestLegalOdditiesBreakNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		forge func(e *Evidence)
		note  string
	}{
		{"the one effect that was answered outcome_unknown lands late", func(e *Evidence) { e.Dispatches[5].At = protocol.At(at(9000)) }, ""},
		{"a dispatch after its answer, by clocks that may differ that much", func(e *Evidence) {
			e.Skew = time.Second
			e.Dispatches[3].At, e.Dispatches[4].At = protocol.At(at(1100)), protocol.At(at(1100))
		}, ""},
		{"a read was refused after it was dispatched", func(e *Evidence) {
			r := e.result(3)
			r.Status, r.Dispatched = protocol.StatusError, protocol.DispatchedNo
		}, ""},
		{"a result that is older than results are kept", func(e *Evidence) {
			e.drop(1)
			e.Now = began.Add(protocol.ResultRetention)
		}, ""},
		{"a publisher died before it could say what it stored", func(e *Evidence) { e.Requests = e.Requests[:7] }, "1 results to requests"},
		{"a dispatch log is missing", func(e *Evidence) { e.Dispatches = e.Dispatches[:6] }, "1 effects that no dispatch log has"},
		{"no push was seen", func(e *Evidence) { e.Pushes = nil }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			tc.forge(&e)
			v := Judge(e)
			if v.Promises.Broken() {
				t.Errorf("%+v", v.Findings)
			}
			if tc.note != "" && !strings.Contains(strings.Join(v.Notes, "\n"), tc.note) {
				t.Errorf("no note says %q: %q", tc.note, v.Notes)
			}
		})
	}
}
