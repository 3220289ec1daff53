package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// Version is the major version of the wire contract. Every message carries it;
// an unknown one is refused.
const Version = 1

// Request is what an agent publishes on act.O.q or act.O.c.
type Request struct {
	V int `json:"v"`
	// ID is a ULID or a UUIDv7. Without one the request runs under the name
	// s<sequence>-<stream's creation> and cannot be sent again safely.
	ID   RequestID `json:"id,omitempty"`
	Kind Kind      `json:"kind"`
	// Args depend on the kind; unknown fields are ignored.
	Args json.RawMessage `json:"args,omitempty"`
	// Tab is the tab to act on, as an observation lists it: t1. It becomes the
	// current one. Without it the action is of its ref's tab, else of the current
	// one.
	Tab PageID `json:"tab,omitempty"`
	// QueueDeadlineMS: how long the request may wait, from the server's store
	// time, before it is answered expired. Default 300,000, at most 900,000.
	QueueDeadlineMS int64 `json:"queue_deadline_ms,omitempty"`
	// BudgetMS: how long it may run once begun. Default 60,000, at most 600,000.
	BudgetMS int64 `json:"budget_ms,omitempty"`
	// Observe shapes the observation of the result.
	Observe *ObserveOptions `json:"observe,omitempty"`
}

var pagePattern = regexp.MustCompile(`^t[1-9][0-9]{0,8}$`)

// QueueDeadline is how long the request may wait.
func (r *Request) QueueDeadline() time.Duration {
	if r.QueueDeadlineMS == 0 {
		return DefaultQueueLimit
	}
	return time.Duration(r.QueueDeadlineMS) * time.Millisecond
}

// Budget is how long the request may run.
func (r *Request) Budget() time.Duration {
	if r.BudgetMS == 0 {
		return DefaultRunBudget
	}
	return time.Duration(r.BudgetMS) * time.Millisecond
}

// Validate checks what the envelope itself says, not the args.
func (r *Request) Validate() *Error {
	switch {
	case r.V == 0:
		return Errorf(CodeInvalidRequest, "field v is missing; this is version %d", Version)
	case r.V != Version:
		return Errorf(CodeUnsupportedVersion, "version %d is unknown here; this is version %d", r.V, Version)
	case r.Kind == "":
		return Errorf(CodeInvalidRequest, "field kind is missing")
	case r.QueueDeadlineMS < 0 || r.QueueDeadlineMS > MaxQueueDeadline.Milliseconds():
		return Errorf(CodeInvalidArgument, "queue_deadline_ms %d: want 1-%d", r.QueueDeadlineMS, MaxQueueDeadline.Milliseconds())
	case r.BudgetMS < 0 || r.BudgetMS > MaxRunBudget.Milliseconds():
		return Errorf(CodeInvalidArgument, "budget_ms %d: want 1-%d", r.BudgetMS, MaxRunBudget.Milliseconds())
	}
	if r.Tab != "" && !pagePattern.MatchString(string(r.Tab)) {
		return Errorf(CodeInvalidArgument, "tab %q: want the id of a tab, such as t1", clip(string(r.Tab), 20))
	}
	if r.Observe != nil {
		return r.Observe.Validate()
	}
	return nil
}

// Action is a request that passed every check that needs no page.
type Action struct {
	Request
	Info KindInfo
	Args Args
}

// ParseAction reads a stored body. The error, if any, is what the request is
// answered with; the Request is as far as it could be read.
func ParseAction(body []byte, lane Lane) (Action, *Error) {
	var a Action
	if err := json.Unmarshal(body, &a.Request); err != nil {
		return a, Errorf(CodeInvalidRequest, "body is not a request: %s", clip(err.Error(), 300))
	}
	if err := a.Validate(); err != nil {
		return a, err
	}
	info, ok := a.Kind.Lookup()
	if !ok {
		return a, Errorf(CodeUnknownAction, "kind %q is unknown", clip(string(a.Kind), 40))
	}
	if !a.Kind.OnLane(lane) {
		return a, Errorf(CodeInvalidRequest, "kind %s belongs on lane %s, not on %s", a.Kind, info.Lane, lane)
	}
	a.Info, a.Args = info, info.newArgs()
	if raw := bytes.TrimSpace(a.Request.Args); len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
		if err := json.Unmarshal(raw, a.Args); err != nil {
			return a, Errorf(CodeInvalidArgument, "args of %s: %s", a.Kind, clip(err.Error(), 300))
		}
	}
	if err := a.Args.Validate(); err != nil {
		return a, err
	}
	return a, a.named(lane)
}

// named: a request that passes the queue says what it means.
func (a *Action) named(lane Lane) *Error {
	if d, ok := a.Args.(*DialogArgs); ok && lane == LaneControl && d.DialogID == "" {
		return Errorf(CodeInvalidArgument, "dialog_id is missing; take it from pending_dialogs")
	}
	return nil
}

// NewRequest builds a request with an id of now.
func NewRequest(kind Kind, args Args, now time.Time) (Request, error) {
	r := Request{V: Version, ID: NewRequestID(now), Kind: kind}
	if args == nil {
		return r, nil
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return r, fmt.Errorf("args of %s: %w", kind, err)
	}
	r.Args = raw
	return r, nil
}
