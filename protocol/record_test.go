package protocol_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

// recordLimit is what BF_OWN stores of one record.
const recordLimit = 16 << 10

// TestFinish with requests in stream order, on both lanes: cursors never go
// back, the ring is bounded, ordered, without doubles, and holds the newest.
func TestFinish(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := protocol.OwnerRecord{V: protocol.Version, State: protocol.RecordAssigned}
		var seq protocol.Seq
		var order []protocol.RequestID
		for range rapid.IntRange(0, 200).Draw(t, "requests") {
			seq += protocol.Seq(rapid.Uint64Range(1, 5).Draw(t, "gap"))
			l := lanes.Draw(t, "lane")
			id := protocol.SequenceRequestID(seq, created)
			if len(order) > 0 && rapid.Bool().Draw(t, "sent again") {
				id = rapid.SampledFrom(order).Draw(t, "id")
			}
			q, c := r.CursorQ, r.CursorC
			r.SetInflight(l, &protocol.Inflight{Seq: seq, Request: id})
			if r.Inflight(l) == nil {
				t.Fatal("the START is not there")
			}
			r.Finish(l, seq, id)
			if r.CursorQ < q || r.CursorC < c || r.Cursor(l) != seq || r.Inflight(l) != nil {
				t.Fatalf("cursors %d %d after %d %d, START %v", r.CursorQ, r.CursorC, q, c, r.Inflight(l))
			}
			if !r.IsDone(id) {
				t.Fatalf("%s is not in the ring", id)
			}
			if !slices.Contains(order, id) {
				order = append(order, id)
			}
		}
		if len(r.Done) > protocol.DoneRing {
			t.Fatalf("the ring holds %d", len(r.Done))
		}
		seen := map[protocol.RequestID]bool{}
		for _, id := range r.Done {
			if seen[id] {
				t.Fatalf("%s stands twice", id)
			}
			seen[id] = true
		}
	})
}

func TestFinishOnOneLaneLeavesTheOther(t *testing.T) {
	t.Parallel()
	in := &protocol.Inflight{Seq: 5, Request: "q5"}
	r := protocol.OwnerRecord{CursorQ: 4, InflightQ: in}
	r.Finish(protocol.LaneControl, 9, "c9")
	if r.CursorQ != 4 || r.InflightQ != in || r.CursorC != 9 {
		t.Errorf("got %+v", r)
	}
}

func TestRingForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var r protocol.OwnerRecord
	for seq := protocol.Seq(1); seq <= protocol.DoneRing+3; seq++ {
		r.Finish(protocol.LaneQueue, seq, protocol.SequenceRequestID(seq, created))
	}
	for seq := protocol.Seq(1); seq <= protocol.DoneRing+3; seq++ {
		if got, want := r.IsDone(protocol.SequenceRequestID(seq, created)), seq > 3; got != want {
			t.Errorf("%d: %v, want %v", seq, got, want)
		}
	}
}

// fullRecord has everything, with a ring of ids that newID makes.
func fullRecord(newID func(i int) protocol.RequestID) *protocol.OwnerRecord {
	name := strings.Repeat("n", protocol.MaxIDLen)
	in := &protocol.Inflight{
		Seq: 1<<63 - 1, Request: newID(0), Kind: protocol.KindFillCredential, Effect: protocol.EffectWrite,
		Nonce: strings.Repeat("f", 32), Attempt: 2, Target: newID(1),
	}
	control := *in
	at := protocol.At(storedAt)
	r := &protocol.OwnerRecord{
		V: protocol.Version, State: protocol.RecordAssigned, Worker: protocol.WorkerID(name),
		Epoch: 1<<63 - 1, Generation: 1 << 40, CursorQ: 1<<63 - 2, CursorC: 1<<63 - 3,
		InflightQ: in, InflightC: &control, ResultSeq: 1<<63 - 1, Failures: []protocol.Time{at, at, at},
		ActStreamCreated: created.Unix(), ActStreamNanos: 999_999_999, Struck: strings.Repeat("f", 16), Checkpoint: &protocol.CheckpointHint{Seq: 1 << 40, At: at},
		Persistence: protocol.PersistEphemeral, Policy: name,
		Control: &protocol.ControlLease{Holder: name, Expires: at}, Since: at, Nonce: strings.Repeat("f", 32),
	}
	for i := range protocol.DoneRing {
		r.Done = append(r.Done, newID(i+2))
	}
	return r
}

func TestRecordFitsItsStream(t *testing.T) {
	t.Parallel()
	ulid := func(i int) protocol.RequestID { return protocol.NewRequestID(storedAt.Add(time.Duration(i))) }
	tests := []struct {
		name  string
		newID func(int) protocol.RequestID
		max   int
	}{
		{"ULIDs", ulid, 3200},
		{"UUIDv7s", func(int) protocol.RequestID { return "017f22e2-79b0-7cc3-98c4-dc0c0c07398f" }, 4 << 10},
		{"names as long as a token may be", func(int) protocol.RequestID {
			return protocol.RequestID(strings.Repeat("r", protocol.MaxIDLen))
		}, recordLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(fullRecord(tt.newID))
			if err != nil {
				t.Fatal(err)
			}
			if len(body) > tt.max {
				t.Errorf("%d bytes, want at most %d", len(body), tt.max)
			}
		})
	}
	// What most writes are: a START and a full ring.
	r := &protocol.OwnerRecord{V: 1, State: "assigned", Worker: "w1-k3v9", Epoch: 4698, Generation: 3, Since: protocol.At(storedAt), Nonce: "9f2c1d7e"}
	for i := range protocol.DoneRing {
		r.Finish(protocol.LaneQueue, protocol.Seq(i+1), ulid(i))
	}
	body, err := json.Marshal(r)
	if err != nil || len(body) < 1800 || len(body) > 2300 {
		t.Errorf("a plain record with a full ring has %d bytes, %v; want about 2 KB", len(body), err)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	want := fullRecord(func(int) protocol.RequestID { return "01ARZ3NDEKTSV4RRFFQ69G5FAV" })
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := protocol.DecodeOwnerRecord(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeOwnerRecordRefuses(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty": ``, "malformed": `{"v":1,`, "no version": `{"state":"assigned"}`,
		"unknown version": `{"v":2,"state":"assigned"}`, "negative cursor": `{"v":1,"cursor_q":-1}`,
	} {
		if _, err := protocol.DecodeOwnerRecord([]byte(body)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := protocol.DecodeOwnerRecord([]byte(`{"v":1,"state":"assigned","colour":"red"}`)); err != nil {
		t.Errorf("unknown field: %v", err)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	r := fullRecord(func(int) protocol.RequestID { return "01ARZ3NDEKTSV4RRFFQ69G5FAV" })
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Clone()
	if diff := cmp.Diff(r, c); diff != "" {
		t.Errorf("the clone differs:\n%s", diff)
	}
	c.Done[0], c.InflightQ.Nonce, c.InflightC.Nonce = "x", "x", "x"
	c.Failures[0], c.Checkpoint.Seq, c.Control.Holder = protocol.Time{}, 0, "x"
	c.Finish(protocol.LaneQueue, 1, "y")
	if got, err := json.Marshal(r); err != nil || string(got) != string(want) {
		t.Errorf("a change of the clone reached the record:\n%s", got)
	}
}

func TestTimeOnTheWire(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 2*3600)
	body, err := json.Marshal(protocol.At(time.Date(2026, 11, 30, 23, 19, 46, 1_999_999, zone)))
	if err != nil || string(body) != `"2026-11-30T21:19:46.001Z"` {
		t.Errorf("got %s, %v", body, err)
	}
	for in, want := range map[string]int64{
		`"2026-11-30T21:19:46Z"`:           1796073586000,
		`"2026-11-30T23:19:46.001+02:00"`:  1796073586001,
		`"2026-11-30T21:19:46.001999999Z"`: 1796073586001,
		`"yesterday"`:                      -1,
		`1796073586`:                       -1,
		`"2026-11-30T21:19:46"`:            -1,
		`"2026-11-30 21:19:46Z"`:           -1,
		`"2026-13-01T00:00:00Z"`:           -1,
	} {
		var at protocol.Time
		err := json.Unmarshal([]byte(in), &at)
		if (err == nil) != (want >= 0) || (err == nil && at.UnixMilli() != want) {
			t.Errorf("%s: %d, %v; want %d", in, at.UnixMilli(), err, want)
		}
	}
}
