package worker_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// heldCase fails unless the inputs of a collected case are those that the test
// has verdicts for.
func heldCase(t *testing.T, name string, inputs ...string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "cases", name, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Inputs []struct{ Input string }
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range c.Inputs {
		got = append(got, i.Input)
	}
	if diff := cmp.Diff(got, inputs); diff != "" {
		t.Fatalf("inputs (-case +test):\n%s", diff)
	}
}

// moveAway writes the record to another worker, without telling the holder.
func (b *bench) moveAway(key protocol.OwnerKey) {
	b.t.Helper()
	rec, fence := b.record(key)
	rec.Worker, rec.Epoch, rec.Nonce = "w-2", 0, ownerlog.NewNonce()
	data, err := json.Marshal(rec)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.conn.CAS(b.ctx(), protocol.OwnSubject(0, key), data, nil, fence); err != nil {
		b.t.Fatal(err)
	}
}

// An environment that nobody knows of: the worker lists it, closes it when its
// record is held against it, and has the slot free again.
func TestCase246AnEnvironmentWithoutAnOwner(t *testing.T) {
	t.Parallel()
	heldCase(t, "246-session-without-owner", "reconcile", "slot count", "delete of an unknown id")
	b := newBench(t, 1)
	stray := b.hold(one)
	b.moveAway(one)
	body, err := json.Marshal(protocol.HeldQuery{V: protocol.Version})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.conn.NC.Request(protocol.ControlSubject(b.id, protocol.VerbHeld), body, patience)
	if err != nil {
		t.Fatal(err)
	}
	var held protocol.HeldReply
	if err := json.Unmarshal(m.Data, &held); err != nil || len(held.Held) != 1 || held.Held[0].Key != one {
		t.Fatalf("%s, %v", m.Data, err)
	}
	if err := b.control(protocol.VerbConfirm, protocol.OwnerQuery{V: protocol.Version, Key: one}); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the stray browser", stray.closed)
	beats := b.beats()
	b.untilBeat(beats, func(hb protocol.Heartbeat) bool { return hb.Owners == 0 })
	b.hold(two) // in the one slot
	if err := b.control(protocol.VerbRelease, protocol.Assignment{V: protocol.Version, Key: one}); err == nil || err.Code != protocol.CodeNotFound {
		t.Errorf("release of an unknown owner: %v", err)
	}
}
