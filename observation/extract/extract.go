package extract

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	defaultLimit = 100
	defaultChars = 2000
	// defaultArticle is enough for most articles in one answer.
	defaultArticle = 12_000
	// maxColumns is more than a page that means well has.
	maxColumns = 2000
	// extractLimit is how long reading may take.
	extractLimit = 15 * time.Second
)

var functions = map[protocol.Kind]string{
	protocol.KindExtractTable:   "extractTable",
	protocol.KindExtractLinks:   "extractLinks",
	protocol.KindExtractList:    "extractList",
	protocol.KindExtractArticle: "extractArticle",
}

// Read extracts what kind says from the region that args name. An article passes
// through hide before it is cut: an agent that chooses the cuts must not be able to
// read a secret in pieces too small to be known for what they are.
func Read(ctx context.Context, page observation.Page, observer *observation.Observer, kind protocol.Kind, args protocol.ExtractArgs, hide func(string) string) (*protocol.Extraction, *protocol.Error) {
	function, ok := functions[kind]
	if !ok {
		return nil, protocol.Errorf(protocol.CodeUnknownAction, "%s extracts nothing", kind)
	}
	ask := question{Index: -1, Offset: args.Offset, Limit: cmp.Or(args.Limit, defaultLimit), Chars: cmp.Or(args.MaxTextChars, defaultChars)}
	if kind == protocol.KindExtractArticle {
		ask.Limit, ask.Chars = 1, cmp.Or(args.MaxTextChars, defaultArticle)
	}
	if args.Index != nil {
		ask.Index = *args.Index
	}
	view := page
	if args.RegionRef != "" {
		t, refused := observer.Resolve(args.RegionRef, args.ObservationID)
		if refused != nil {
			return nil, refused
		}
		ask.Doc, ask.ID, ask.Print = t.Doc(), t.NodeID(), t.Print
		view = observation.Within(page, t.Frame)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, extractLimit, errors.New("the page did not answer"))
	defer cancel()
	var r records
	if err := observation.Read(ctx, view, function, ask, &r); err != nil {
		return nil, failed(err)
	}
	if refused := r.refusal(args); refused != nil {
		return nil, refused
	}
	if !r.bounded(kind, ask) {
		return nil, protocol.Errorf(protocol.CodeActionFailed, "the page's answer is out of bounds").WithDispatched(protocol.DispatchedNo)
	}
	if kind == protocol.KindExtractArticle {
		r.cutText(ask, hide)
	}
	return r.build(kind, args.Fields, ask)
}

func (r *records) refusal(args protocol.ExtractArgs) *protocol.Error {
	message := observation.Cut(r.Message, 300)
	switch r.Refused {
	case "":
		return nil
	case "stale":
		return protocol.Errorf(protocol.CodeStaleRef, "%s: %s", args.RegionRef, message)
	case "changed":
		return protocol.Errorf(protocol.CodeRefChanged, "%s: %s", args.RegionRef, message)
	}
	return protocol.Errorf(protocol.CodeNotFound, "%s", message)
}

func failed(err error) *protocol.Error {
	code := protocol.CodeActionFailed
	switch {
	case errors.Is(err, observation.ErrFrameGone):
		code = protocol.CodeStaleRef
	case errors.Is(err, observation.ErrDialog):
		code = protocol.CodeDialogOpen
	case errors.Is(err, observation.ErrCrashed), errors.Is(err, cdp.ErrCrashed):
		code = protocol.CodePageCrashed
	case errors.Is(err, observation.ErrLost), errors.Is(err, cdp.ErrClosed), errors.Is(err, cdp.ErrDetached):
		code = protocol.CodeBrowserLost
	case errors.As(err, new(*cdp.LostError)), errors.Is(err, context.DeadlineExceeded):
		code = protocol.CodeRendererUnresponsive
	}
	return protocol.Errorf(code, "extract: %s", observation.Cut(err.Error(), 300)).WithDispatched(protocol.DispatchedNo)
}
