package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// MaxBatchSteps bounds the steps of one batch.
const MaxBatchSteps = 20

// batchKinds are what a step may be: what acts on the page, and waits. A step has no
// answer of its own but what became of it, so nothing that reads is among them.
var batchKinds = []Kind{
	KindOpen, KindClick, KindHover, KindDrag, KindFill, KindFillCredential, KindPress, KindType, KindSelect, KindCheck,
	KindScroll, KindWait, KindBack, KindForward, KindReload,
}

// BatchArgs perform steps one after the other, as one effect. The first one that fails
// ends it. Refs are those of observations before it; the result has one observation,
// of the end, and in steps what became of each.
type BatchArgs struct {
	Steps []BatchStep `json:"steps"`
}

// BatchStep is an action without an envelope.
type BatchStep struct {
	Kind Kind `json:"kind"`
	// Args are those of the kind.
	Args json.RawMessage `json:"args,omitempty"`
}

// Validate checks every step: one that is wrong keeps all from being run.
func (a *BatchArgs) Validate() *Error {
	if len(a.Steps) == 0 || len(a.Steps) > MaxBatchSteps {
		return Errorf(CodeInvalidArgument, "steps: there are %d; want 1-%d", len(a.Steps), MaxBatchSteps)
	}
	for i := range a.Steps {
		if _, err := a.Steps[i].Action(); err != nil {
			err.Message = clip(stepName(i, len(a.Steps), a.Steps[i].Kind)+": "+err.Message, 900)
			return err
		}
	}
	return nil
}

// Action is the step as a request would be read.
func (s *BatchStep) Action() (Action, *Error) {
	a := Action{Request: Request{V: Version, Kind: s.Kind, Args: s.Args}}
	info, known := s.Kind.Lookup()
	if !known || !slices.Contains(batchKinds, s.Kind) {
		return a, Errorf(CodeInvalidArgument, "kind %q cannot be a step", clip(string(s.Kind), 40))
	}
	a.Info, a.Args = info, info.newArgs()
	if raw := bytes.TrimSpace(s.Args); len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
		if err := json.Unmarshal(raw, a.Args); err != nil {
			return a, Errorf(CodeInvalidArgument, "args: %s", clip(err.Error(), 300))
		}
	}
	return a, a.Args.Validate()
}

// StepResult is what became of a step of a batch. Steps after the one that failed have
// none: they did not run.
type StepResult struct {
	Kind       Kind       `json:"kind"`
	Status     Status     `json:"status"`
	Error      *Error     `json:"error,omitempty"`
	Dispatched Dispatched `json:"dispatched"`
	Verdict    Verdict    `json:"verdict,omitempty"`
	// Warnings and Transition are the step's own.
	Warnings   []Warning   `json:"warnings,omitempty"`
	Transition *Transition `json:"transition,omitempty"`
}

// StepError is the error of a batch whose last result is of a step that failed: its
// dispatched and retryable are those of the whole.
func StepError(results []StepResult, steps int) *Error {
	last := results[len(results)-1]
	if last.Error == nil {
		return nil
	}
	e := *last.Error
	e.Message = clip(stepName(len(results)-1, steps, last.Kind)+": "+e.Message, 900)
	e.Dispatched = DispatchedOf(results)
	if e.Dispatched != DispatchedNo {
		e.Retryable = false // the steps before it would run again
	}
	return &e
}

// DispatchedOf is what is known of the steps together.
func DispatchedOf(results []StepResult) Dispatched {
	all := DispatchedNo
	for _, r := range results {
		if r.Dispatched == DispatchedUnknown || r.Dispatched == DispatchedYes && all == DispatchedNo {
			all = r.Dispatched
		}
	}
	return all
}

func stepName(i, of int, kind Kind) string {
	return fmt.Sprintf("step %d of %d (%s)", i+1, of, clip(string(kind), 40))
}
