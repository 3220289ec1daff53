package fleetmodel

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// mutate makes TestMutationsAreCaught break the rules: minutes of compiling, for
// whoever changes a rule or the model.
var mutate = flag.Bool("mutate", false, "break every rule of mutations_test.go in turn and expect the model to notice")

var mutants = flag.String("mutants", "", "a regular expression: which rules -mutate breaks")

// mutation breaks one rule. caught is a regular expression of what the model says
// of it.
type mutation struct {
	rule, file, good, bad, caught string
}

const (
	// lost is what the model says of a request without an answer.
	lost = "promise [12]|went to sleep"

	unitHolder  = "internal/ownerlog/holder.go"
	unitAnswer  = "internal/ownerlog/answer.go"
	unitCancel  = "internal/ownerlog/cancel.go"
	unitLeader  = "internal/ownerlog/leader.go"
	unitLane    = "internal/ownerlog/lane.go"
	unitStream  = "internal/ownerlog/stream.go"
	unitMessage = "internal/natsx/message.go"
	unitAction  = "worker/environment/action.go"
	unitControl = "worker/environment/control.go"
	unitLoop    = "worker/environment/loop.go"
	unitQueue   = "worker/environment/queue.go"
	unitOpening = "worker/environment/opening.go"
	unitSlot    = "checkpoints/slot_write.go"
	unitAdmit   = "protocol/admit.go"
	unitLife    = "worker/environment/life.go"
	unitRest    = "worker/environment/rest.go"
	unitRecord  = "protocol/record.go"
	unitLease   = "protocol/lease.go"
	unitTodo    = "coordinator/decide/todo.go"
	unitDue     = "coordinator/decide/answer.go"
	coordinates = "internal/fleetmodel/coordinator_test.go"
)

var mutations = []mutation{
	{
		"a foreign write fences", unitHolder,
		"return stands.Seq, nil\n\t}\n\treturn 0, ErrFenced", "return stands.Seq, nil\n\t}\n\th.fence = stands.Seq\n\treturn 0, natsx.ErrUncertain", "promise 4",
	},
	{
		"a write is recognised by its nonce only", unitHolder,
		"err == nil && rec.Nonce == nonce", "err == nil && rec != nil", "promise 4",
	},
	{
		"START is written before anything begins", unitAnswer,
		"r.SetInflight(a.Lane, &protocol.Inflight{", "_ = (&protocol.OwnerRecord{}).Clone\n\t\tr.Clone().SetInflight(a.Lane, &protocol.Inflight{", "promise",
	},
	{
		"the results' leader is asked", unitAnswer,
		"return Started{Answered: got.stored}, got.err", "return Started{}, got.err", "promise 3",
	},
	{
		"the ring decides", unitRecord,
		"bool { return slices.Contains(r.Done, id) }", "bool { return slices.Contains(r.Done[:0], id) }", "promise",
	},
	{
		"the ring decides a cancel, too", unitCancel,
		"if h.rec.IsDone(target) {", "if h.rec.IsDone(target) && h == nil {", lost,
	},
	{
		"a cancel's START names its target", unitAnswer,
		"case *protocol.CancelArgs:\n\t\treturn args.Request", "case *protocol.CancelArgs:\n\t\treturn args.Request[:0]", lost,
	},
	{
		"an orphan is not cancelled", unitCancel,
		"in != nil && in.Request == target {", "in != nil && in.Request == target && h == nil {", "promise 3",
	},
	{
		"nothing is taken across a gap", unitLane,
		"case l.gap || m.LastSeq > l.last:", "case l.gap:", "promise",
	},
	{
		"a read that is behind does not end a gap", unitLane,
		"l.gap = l.last < l.want\n\tswitch {", "l.gap, l.last = false, max(l.last, l.want)\n\tswitch {", lost,
	},
	{
		"an old leader does not end a gap", unitLane,
		"case leader && l.missed.IsZero():\n\t\tl.missed = now", "case leader && l.missed.IsZero():\n\t\tl.last, l.gap = l.want, false", lost,
	},
	{
		"what was cancelled is in the ring", unitCancel,
		"if err == nil || errors.Is(err, ErrAnswered) {", "if err != nil && errors.Is(err, ErrAnswered) {", "promise 3",
	},
	{
		"what is refused is not cancelled", unitCancel,
		"if a.ID != target || a.Refused != nil {", "if a.ID != target {", lost,
	},
	{
		"a push of an earlier stream hides nothing", unitLane,
		"case m.Time.Before(l.created):", "case m.Time.Before(l.created) && l == nil:", lost,
	},
	{
		"the server's headers are the last ones", unitMessage,
		"return v[len(v)-1]", "return v[0]", "promise",
	},
	{
		"cursors of another stream are dropped", unitStream,
		"if life.none() || (life.is(st.Created) && proof(rec) <= st.Last) {", "if st.Last+1 > 0 {", lost,
	},
	{
		"an effect that a former holder began is not run", unitQueue,
		"case orphan != nil && (orphan.Effect != protocol.EffectRead || ", "case orphan != nil && (", "promise 3",
	},
	{
		"what a former holder began does not expire", unitQueue,
		"if a.Refused != nil || e.orphanOf(a) != nil {", "if a.Refused != nil {", "promise 3",
	},
	{
		"without contact the record is written before a dispatch", unitAction,
		"if e.isSuspended() || !e.cfg.Contact.Fresh() {", "if e.isSuspended() && e.cfg.Contact.Fresh() {", "promise 4",
	},
	{
		"an interrupted dispatch is not called cancelled", unitAction,
		"case errors.Is(cause, errInterrupted) && !a.dispatched:", "case errors.Is(cause, errInterrupted):", "promise 3",
	},
	{
		"only the record makes a worker the holder", unitLoop,
		"rec.Worker != e.cfg.Worker {", "rec.Worker == \"\" {", "promise 4",
	},
	{
		"no busy loop while suspended", unitLoop,
		"e.queue.Len() == 0 || e.isSuspended() {", "e.queue.Len() == 0 {", "test timed out",
	},
	{
		"the seal follows a compare-and-set", unitSlot,
		"err := w.handle.confirm(ctx)\n", "err := ctx.Err()\n", "promise 4",
	},
	{
		"a commit is fenced by a later seal", unitSlot,
		"case w.epochs && m.Epoch > w.handle.epoch:\n\t\treturn evLater", "case w.epochs && m.Epoch > w.handle.epoch:\n\t\tw.seq = m.Seq + 1\n\t\treturn evEarlier", "promise 4",
	},
	{
		"an id that is too old is refused", unitAdmit,
		"late > ResendHorizon {", "late > 100*ResendHorizon {", "promise",
	},
	{
		"an assignment is a compare-and-set", coordinates,
		"return log.CAS(ctx, protocol.OwnSubject(0, owner), data, nil, fence)",
		"_, fence, _ = ownerlog.Read(ctx, log, 0, owner)\n\treturn log.CAS(ctx, protocol.OwnSubject(0, owner), data, nil, fence)", "promise|a deleted owner",
	},
	{
		"a coordinator knows what a former holder began", unitDue,
		"return a.Refused == nil && in.Names(a.Seq, a.ID) &&", "return a.Refused != nil && in != nil &&", "promise 3",
	},
	{
		"a purge goes by the persisted cursor", coordinates,
		"lane, rec.Cursor(lane), life)", "lane, rec.Cursor(lane)+1, life)", lost,
	},
	{
		"a purge by another stream's cursor", coordinates,
		"if err != nil || st.Foreign(ownerlog.LifeOf(rec), max(rec.CursorQ, rec.CursorC)) {", "if err != nil || st.Created.IsZero() {", lost,
	},
	{
		"an owner without a record is looked for", unitTodo,
		"case protocol.RecordNone, protocol.RecordUnassigned,", "case protocol.RecordUnassigned,", lost,
	},
	{
		"who sleeps is woken", unitTodo,
		"protocol.RecordUnassigned, protocol.RecordHibernated:\n\t\treturn", "protocol.RecordUnassigned:\n\t\treturn", lost,
	},
	{
		"who was let go is placed", unitTodo,
		"return Place, Moved", "return Nothing, Moved", lost,
	},
	{
		"an answering that stands still is taken over", unitTodo,
		"if old {\n\t\t\treturn s.wants(now)", "if old && s.Erase {\n\t\t\treturn s.wants(now)", lost,
	},
	{
		"a worker that is gone loses its owners", unitTodo,
		"case !s.Alive:", "case !s.Alive && s.Foreign:", lost,
	},
	{
		"who holds cursors of another stream is moved", unitTodo,
		"case s.Foreign:", "case s.Foreign && !s.Alive:", lost,
	},
	{
		"failed and deleted owners are answered for", unitTodo,
		"case s.Unanswered:\n\t\t\treturn Answer", "case s.Unanswered && s.Since.IsZero():\n\t\t\treturn Answer", lost,
	},
	{
		"a failed owner's requests are due", unitDue,
		"case state == protocol.RecordFailed:", "case state == protocol.RecordFailed && now.IsZero():", lost,
	},
	{
		"failed and deleted owners stay so while they are answered for", unitDue,
		"return protocol.RecordProgress", "return protocol.RecordAnswer", lost,
	},
	{
		"a refusal looks for the record first", coordinates,
		"if err != nil || rec != nil {\n\t\treturn errors.Join", "if err != nil || (rec != nil && log == nil) {\n\t\treturn errors.Join", "promise 4",
	},
	{
		"what was sent for an earlier page is not run", unitQueue,
		"a.Seq <= e.barrier && a.DependsOnPage()", "a.Seq == 0 && a.DependsOnPage()", "promise 5",
	},
	{
		"an agent knows of a restore when it was told", unitQueue,
		"e.barrier, e.told = e.queue.Last(), false", "e.barrier, e.told = 0, false", "promise 5",
	},
	{
		"a read in flight is run once more, and not twice", unitQueue,
		"const maxReadAttempts = 2", "const maxReadAttempts = 3", "promise 3",
	},
	{
		"a takeover reads from the leader", unitLoop,
		"errors.Join(e.control.Fill(ctx, true), e.queue.Fill(ctx, true))", "errors.Join(e.control.Fill(ctx, false), e.queue.Fill(ctx, false))", "whose cancel",
	},
	{
		"nothing begins while a person has control", unitLife,
		"case held && e.state == Idle:", "case held && e.state == Closing:", "control",
	},
	{
		"a person's control is not taken by another", unitLease,
		"if held != nil && held.Holder != q.Holder {", "if held != nil && held.Holder == \"\" {", "control",
	},
	{
		"a lease is written before it is granted", unitLife,
		"lease, err = r.Grant(", "lease, err = r.Clone().Grant(", "which no record had",
	},
	{
		"a living lease keeps the environment awake", unitRest,
		"case len(rec.Leases) > 0 || e.cfg.IdleTimeout <= 0:", "case len(rec.Leases) > protocol.MaxLeases || e.cfg.IdleTimeout <= 0:", "living lease",
	},
	{
		"who hibernates looks once more", unitRest,
		"if !ephemeral && e.missedRequests(ctx) {", "if ephemeral && e.missedRequests(ctx) {", "went to sleep",
	},
	{
		"nothing hibernates that is not saved", unitRest,
		"e.restNotBefore = time.Now().Add(restRetry)\n\t\te.answerClosers(openError(err))\n\t\treturn nil", "e.answerClosers(openError(err))", "promise 5",
	},
	{
		"the record says that an owner is deleted", unitLife,
		"return r.Move(protocol.RecordDelete, time.Now())", "return r.Move(protocol.RecordUnassign, time.Now())", "deleted",
	},
	{
		"an id from the future is refused", unitAdmit,
		"ahead > FutureHorizon {", "ahead > 100*FutureHorizon {", "promise",
	},
	{
		"the results are as far as the record says", unitLeader,
		"return h.rec.ResultSeq", "return h.rec.ResultSeq * 0", "promise 3",
	},
	{
		"the record says where its newest result is", unitAnswer,
		"h.rec.ResultSeq, h.dirty = seq, true", "h.dirty = seq > 0", "promise 3",
	},
	{ // as it was at first: by the newest result whose id seems young
		"a sequence tells how far the results are, and no id does", unitLeader,
		"if err == nil && last < known {", `for i := len(h.rec.Done) - 1; i >= 0; i-- {
			_, at, unread := protocol.ParseRequestID(string(h.rec.Done[i]))
			if age := time.Since(at); unread != nil || age < 0 || age > protocol.ResultRetention-protocol.ResendHorizon {
				continue
			}
			if m, err := h.Stored(ctx, h.rec.Done[i]); err == nil && m == nil {
				known = last + 1
			}
			break
		}
		if err == nil && last < known {`, "no leader was behind",
	},
	{
		"a deleted owner is erased again", unitTodo,
		"now.After(s.EraseAgain):", "now.After(s.EraseAgain) && s.Foreign:", "for ever",
	},
	{
		"a stream that looks like an older copy is looked at again", unitStream,
		"proof(rec) > st.Last))\n", "proof(rec) > st.Last && st.Last+1 == 0))\n", "promise",
	},
}

// TestMutationsCanBeMade keeps the table true when the code moves.
func TestMutationsCanBeMade(t *testing.T) {
	t.Parallel()
	for _, m := range mutations {
		broken(t, m)
	}
}

// broken is the file with the rule broken.
func broken(t *testing.T, m mutation) []byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte(m.good)); n != 1 {
		t.Errorf("%s: %s has %d places like %q", m.rule, m.file, n, m.good)
	}
	return bytes.Replace(source, []byte(m.good), []byte(m.bad), 1)
}

// TestMutationsAreCaught compiles this package over each broken file, and
// expects TestPromises, or a schedule that broke once, to fail with the right promise. It does so with -mutate
// only; -mutants chooses.
func TestMutationsAreCaught(t *testing.T) {
	if !*mutate {
		return
	}
	chosen := regexp.MustCompile(*mutants)
	for _, m := range mutations {
		if chosen.MatchString(m.rule) {
			t.Run(m.rule, func(t *testing.T) { caught(t, m) })
		}
	}
}

// caught is one mutation. The line that it prints is for doc.go.
func caught(t *testing.T, m mutation) {
	out, err := build(t, m)
	if err == nil {
		t.Fatalf("no schedule notices:\n%s", out)
	}
	if !regexp.MustCompile(m.caught).Match(out) {
		t.Fatalf("it does not say %q:\n%.3000s", m.caught, out)
	}
	after := regexp.MustCompile(`failed after (\d+) tests?: .*`).FindAllSubmatch(out, -1)
	if len(after) == 0 {
		t.Logf("CAUGHT | %s | %s", m.rule, m.caught)
		return
	}
	n, err := strconv.Atoi(string(after[0][1]))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("CAUGHT | %s | %d | %.160s", m.rule, halves*(n+1), after[0][0])
}

// build compiles and runs the model over the broken file.
func build(t *testing.T, m mutation) ([]byte, error) {
	dir := t.TempDir()
	file, err := filepath.Abs(filepath.Join("..", "..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay, binary := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "model.test")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{changed: broken(t, m), overlay: replace} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("it does not compile: %s", out)
	}
	return exec.CommandContext(t.Context(), binary, "-test.run", "^(TestPromises|TestWhatBrokeOnce)$", "-test.timeout", "4m",
		"-schedules", strconv.Itoa(*schedulesFlag), "-rapid.nofailfile", "-rapid.shrinktime", "1ms").CombinedOutput()
}
