package action

import (
	"context"
	"errors"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// errTooLong is the cause of a context that this package bounded.
var errTooLong = errors.New("it took too long")

// refusals maps what the page's script refuses to codes. A refusal comes before
// any effect unless the run knows better.
var refusals = map[string]protocol.Code{
	"stale":            protocol.CodeStaleRef,
	"changed":          protocol.CodeRefChanged,
	"not_visible":      protocol.CodeNotVisible,
	"covered":          protocol.CodeCovered,
	"moving":           protocol.CodeNotVisible,
	"disabled":         protocol.CodeElementDisabled,
	"not_editable":     protocol.CodeNotEditable,
	"password":         protocol.CodePasswordForbidden,
	"bad_value":        protocol.CodeBadValue,
	"not_toggleable":   protocol.CodeNotToggleable,
	"option_not_found": protocol.CodeOptionNotFound,
	"option_disabled":  protocol.CodeOptionDisabled,
	"ambiguous_option": protocol.CodeAmbiguousOption,
	"bad_argument":     protocol.CodeInvalidArgument,
	"file_input":       protocol.CodeFileChooser,
	"no_table":         protocol.CodeNotFound,
}

// refusal is what every answer of the page's script may be instead.
type refusal struct {
	Refused string `json:"error"`
	Message string `json:"message"`
}

// maxMessage bounds what a page can put into an error, in code points.
const maxMessage = 500

// err is the refusal as the agent reads it, nil when there is none.
func (f refusal) err() *protocol.Error {
	if f.Refused == "" {
		return nil
	}
	code, ok := refusals[f.Refused]
	if !ok {
		code = protocol.CodeActionFailed
	}
	return protocol.Errorf(code, "%s", observation.Cut(f.Message, maxMessage)).WithDispatched(protocol.DispatchedNo)
}

// fail says what an error of the transport or of the page means for the agent.
func (r *run) fail(ctx context.Context, doing string, err error) *protocol.Error {
	code := codeOf(ctx, err, r.sent)
	e := protocol.Errorf(code, "%s: %s", doing, observation.Cut(err.Error(), maxMessage))
	if r.sent {
		return e.WithDispatched(protocol.DispatchedUnknown)
	}
	return e.WithDispatched(protocol.DispatchedNo)
}

func codeOf(ctx context.Context, err error, sent bool) protocol.Code {
	switch {
	case errors.Is(err, observation.ErrLost), errors.Is(err, cdp.ErrClosed), errors.Is(err, cdp.ErrDetached):
		return protocol.CodeBrowserLost
	case errors.Is(err, observation.ErrCrashed), errors.Is(err, cdp.ErrCrashed):
		return protocol.CodePageCrashed
	case errors.Is(err, observation.ErrDialog):
		return protocol.CodeDialogOpen
	case observation.WentAway(err):
		if sent {
			return protocol.CodeActionFailed
		}
		return protocol.CodeStaleRef
	case errors.Is(err, errTooLong), errors.Is(err, context.DeadlineExceeded):
		if sent {
			return protocol.CodeActionTimeout
		}
		return protocol.CodeRendererUnresponsive
	case errors.Is(context.Cause(ctx), context.Canceled), errors.Is(err, context.Canceled):
		return protocol.CodeInterrupted
	}
	return protocol.CodeActionFailed
}
