package ownerlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// errNotStarted guards the rule that no result is created before a START names
// its request.
var errNotStarted = errors.New("result without START")

// ErrAnswered: the request has a result already, and it is not ours. It is the
// request's one answer; the agent sees nothing of the one that was refused.
var ErrAnswered = errors.New("another result stands")

// Started is what Start found out.
type Started struct {
	// Answered is the stored result, where the request was answered before; it
	// must not run. Gone: it was answered, but the result has expired.
	Answered *natsx.Message
	Gone     bool
}

// Done reports whether the request was answered before.
func (s Started) Done() bool { return s.Answered != nil || s.Gone }

// Start writes that this holder is about to deal with the request, and asks the
// results' leader in parallel whether it was answered already. START of an
// answered request is harmless. attempt counts the holders that began it, from 1.
// ErrBehind: START is written, and the results' leader is behind: the request
// must not run.
func (h *Holder) Start(ctx context.Context, a *protocol.Admitted, attempt int) (Started, error) {
	if h.rec.IsDone(a.ID) {
		stored, err := h.Stored(ctx, a.ID)
		return Started{Answered: stored, Gone: stored == nil}, err
	}
	type read struct {
		stored *natsx.Message
		proven time.Time
		err    error
	}
	reads := make(chan read, 1)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	known := h.mustHave()
	go func() {
		stored, proven, err := h.answered(reading, a.ID, known)
		reads <- read{stored, proven, err}
	}()
	writeErr := h.Update(ctx, func(r *protocol.OwnerRecord) error {
		r.SetInflight(a.Lane, &protocol.Inflight{
			Seq: a.Seq, Request: a.ID, Kind: a.Action.Kind, Effect: a.Action.Info.Effect,
			Nonce: NewNonce(), Attempt: attempt, Target: controlTarget(a), Dialog: claimedDialog(a),
		})
		return r.Move(protocol.RecordProgress, a.StoredAt)
	})
	if writeErr != nil {
		stop() // a holder that is fenced must not wait for a stream without leader
	}
	got := <-reads
	if writeErr != nil {
		return Started{}, writeErr
	}
	h.hint(hintEvery)
	h.proved(got.proven)
	h.noteCancelled(a, got.stored)
	return Started{Answered: got.stored}, got.err
}

// controlTarget is the request that a cancel or an interrupt names.
func controlTarget(a *protocol.Admitted) protocol.RequestID {
	switch args := a.Action.Args.(type) {
	case *protocol.CancelArgs:
		return args.Request
	case *protocol.InterruptArgs:
		return args.Request
	}
	return ""
}

// claimedDialog is the dialog that an answer names.
func claimedDialog(a *protocol.Admitted) protocol.DialogID {
	if args, ok := a.Action.Args.(*protocol.DialogArgs); ok {
		return args.DialogID
	}
	return ""
}

// Answered is Stored for who acts on the answer that there is none: a leader that
// is behind what the record proves is ErrBehind.
func (h *Holder) Answered(ctx context.Context, id protocol.RequestID) (*natsx.Message, error) {
	stored, proven, err := h.answered(ctx, id, h.mustHave())
	h.proved(proven)
	return stored, err
}

// answered reads nothing of the holder that a write changes: Start runs it beside
// one.
func (h *Holder) answered(ctx context.Context, id protocol.RequestID, known protocol.Seq) (*natsx.Message, time.Time, error) {
	stored, err := h.Stored(ctx, id)
	if stored != nil || err != nil || known == 0 {
		return stored, time.Time{}, err
	}
	proven, err := h.prove(ctx, known)
	if err != nil {
		return nil, time.Time{}, err
	}
	stored, err = h.Stored(ctx, id) // it may have caught up since it was asked first
	return stored, proven, err
}

// Stored is the result of a request from the results' leader; nil when there is
// none.
func (h *Holder) Stored(ctx context.Context, id protocol.RequestID) (*natsx.Message, error) {
	subject := protocol.ResSubject(h.shard, h.key, id)
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		m, err := h.conn.LeaderLast(ctx, protocol.ResStream(h.shard), subject)
		switch {
		case err == nil:
			return &m, nil
		case errors.Is(err, natsx.ErrNotFound):
			return nil, nil
		}
		if err := wait(ctx, pause, err); err != nil {
			return nil, fmt.Errorf("read the result of %s: %w", id, err)
		}
	}
}

// Answer creates the request's result and moves the cursor in memory. Where
// somebody created one before (a cancel did, or a former holder that had STARTed
// the request), theirs stands: the cursor moves, and the error is ErrAnswered.
func (h *Holder) Answer(ctx context.Context, a *protocol.Admitted, res *protocol.Result, head nats.Header) error {
	err := h.CreateFor(ctx, a, res, head)
	if err == nil || errors.Is(err, ErrAnswered) {
		h.Finish(a)
	}
	return err
}

// CreateFor creates a result under cover of the START that names a's request, or
// names it as the target of a cancel. The cursor stays.
func (h *Holder) CreateFor(ctx context.Context, a *protocol.Admitted, res *protocol.Result, head nats.Header) error {
	if h.fenced {
		return ErrFenced
	}
	in := h.rec.Inflight(a.Lane)
	if in == nil || in.Request != a.ID || (res.Request != a.ID && res.Request != in.Target) {
		return fmt.Errorf("%w: %s", errNotStarted, res.Request)
	}
	res.V, res.Tenant, res.Owner = protocol.Version, h.key.Tenant, h.key.Owner
	res.Nonce, res.Epoch = NewNonce(), h.rec.Epoch
	if res.Generation == 0 {
		res.Generation = h.rec.Generation
	}
	data, err := encodeResult(res)
	if err != nil {
		return err
	}
	if headerSize(head) > maxHeader {
		head = nil
	}
	return h.create(ctx, res, data, head)
}

// Finish moves the cursor past the request, in memory.
func (h *Holder) Finish(a *protocol.Admitted) {
	seq := a.Seq
	if i := slices.Index(h.former, a.ID); i >= 0 {
		seq, h.former = h.rec.Cursor(a.Lane), slices.Delete(h.former, i, i+1) // a sequence of another stream
	}
	h.rec.Finish(a.Lane, seq, a.ID)
	h.dirty = true
	h.sinceHint++
}

// create stores a result once. A refusal means that one stands: ours, whose
// acknowledgement was lost, or somebody's; the nonce tells.
func (h *Holder) create(ctx context.Context, res *protocol.Result, data []byte, head nats.Header) error {
	subject := protocol.ResSubject(h.shard, h.key, res.Request)
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		once, cancel := context.WithTimeout(ctx, writeTimeout)
		asked := time.Now()
		seq, err := h.conn.Create(once, subject, data, head)
		cancel()
		if err == nil {
			h.proven = asked // who has stored this has applied all before it
			h.rec.ResultSeq, h.dirty = seq, true
			return nil
		}
		if errors.Is(err, natsx.ErrConflict) {
			return h.whoseStands(ctx, res)
		}
		if err := wait(ctx, pause, err); err != nil {
			return fmt.Errorf("create the result of %s: %w", res.Request, err)
		}
	}
}

// whoseStands settles a refused create.
func (h *Holder) whoseStands(ctx context.Context, res *protocol.Result) error {
	var stored *natsx.Message
	err := untilCaughtUp(ctx, func() (err error) {
		if stored, err = h.Stored(ctx, res.Request); err == nil && stored == nil {
			return ErrBehind // it was refused because of one
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrBehind) {
		return err
	}
	var stands struct {
		Nonce string `json:"nonce"`
	}
	if stored != nil && json.Unmarshal(stored.Data, &stands) == nil && stands.Nonce == res.Nonce {
		h.rec.ResultSeq, h.dirty = stored.Seq, true
		return nil
	}
	return fmt.Errorf("%w: %s", ErrAnswered, res.Request)
}

// Repeat pushes a stored result to the agent again (core NATS), as the server
// pushed it first: the agent sent an answered request once more.
func (h *Holder) Repeat(stored *natsx.Message) error { return Repeat(h.conn, stored) }

// Repeat is Holder.Repeat for who answers an owner that nobody holds.
func Repeat(c Sender, stored *natsx.Message) error {
	m, err := natsx.RepeatDone(*stored)
	if err != nil {
		return err
	}
	return c.SendMsg(m)
}

// What fits into a result's message beside the result: the headers, which an
// agent's trace context can blow up, and the server's own.
const (
	maxHeader = 2 << 10
	maxResult = protocol.MaxResultBytes - 4<<10
)

func headerSize(head nats.Header) (n int) {
	for key, values := range head {
		for _, v := range values {
			n += len(key) + len(v) + len(": \r\n")
		}
	}
	return n
}

// encodeResult writes a result; one that does not fit is replaced by a small one
// with the same outcome. The server would refuse it for ever, and its request
// would have no answer.
func encodeResult(res *protocol.Result) ([]byte, error) {
	data, err := json.Marshal(res)
	if err != nil {
		return nil, fmt.Errorf("result of %s: %w", res.Request, err)
	}
	if len(data) <= maxResult {
		return data, nil
	}
	tooLarge := protocol.Warning{
		Code:    protocol.CodeResultTooLarge,
		Message: fmt.Sprintf("the result has %d bytes; at most %d. Observe with a smaller budget.", len(data), maxResult),
	}
	small := *res
	small.Observation, small.Extraction, small.Screenshot, small.Transition, small.Data = nil, nil, nil, nil, nil
	small.Warnings = append(slices.Clone(res.Warnings), tooLarge)
	if data, err = json.Marshal(&small); err != nil || len(data) <= maxResult {
		return data, err
	}
	// What is left without a bound of its own: reports and texts.
	small.Restored, small.Warnings = brief(res.Restored), []protocol.Warning{tooLarge}
	if small.Error != nil && len(small.Error.Message) > maxHeader {
		short := *small.Error
		short.Message = strings.ToValidUTF8(short.Message[:maxHeader], "")
		small.Error = &short
	}
	return json.Marshal(&small)
}

// brief is a report without its lists.
func brief(r *protocol.Restored) *protocol.Restored {
	if r == nil {
		return nil
	}
	return &protocol.Restored{
		Generation: r.Generation, From: r.From, Reason: r.Reason,
		CheckpointAt: r.CheckpointAt, AgeMS: r.AgeMS, TookMS: r.TookMS,
	}
}
