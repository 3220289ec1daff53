package extract

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	defaultLimit = 100
	defaultChars = 2000
	// maxColumns is more than a page that means well has.
	maxColumns = 2000
	// extractLimit is how long reading may take.
	extractLimit = 15 * time.Second
)

// indexColumn numbers the rows.
const indexColumn = "index"

var functions = map[protocol.Kind]string{
	protocol.KindExtractTable: "extractTable",
	protocol.KindExtractLinks: "extractLinks",
}

// records is the answer of the page's script.
type records struct {
	Refused string     `json:"error"`
	Message string     `json:"message"`
	URL     string     `json:"url"`
	Columns []string   `json:"columns"`
	Total   int        `json:"total"`
	Rows    [][]string `json:"rows"`
}

// Read extracts what kind says from the region that args name.
func Read(ctx context.Context, page observation.Page, observer *observation.Observer, kind protocol.Kind, args protocol.ExtractArgs) (*protocol.Extraction, *protocol.Error) {
	function, ok := functions[kind]
	if !ok {
		return nil, protocol.Errorf(protocol.CodeUnknownAction, "%s extracts nothing", kind)
	}
	ask := struct {
		Doc   string `json:"doc"`
		ID    int64  `json:"id"`
		Print string `json:"print"`
		Limit int    `json:"limit"`
		Chars int    `json:"chars"`
	}{Limit: orDefault(args.Limit, defaultLimit), Chars: orDefault(args.MaxTextChars, defaultChars)}
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
	if r.Total < len(r.Rows) || len(r.Rows) > ask.Limit || len(r.Columns) > maxColumns {
		return nil, protocol.Errorf(protocol.CodeActionFailed, "the page's answer is out of bounds").WithDispatched(protocol.DispatchedNo)
	}
	return r.build(kind, args.Fields, ask.Chars)
}

func orDefault(n, d int) int {
	if n == 0 {
		return d
	}
	return n
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

// build makes rows of the columns that are asked for.
func (r *records) build(kind protocol.Kind, fields []string, chars int) (*protocol.Extraction, *protocol.Error) {
	offered := append([]string{indexColumn}, r.Columns...)
	columns := offered
	if len(fields) > 0 {
		columns = fields
	}
	for _, name := range columns {
		if !slices.Contains(offered, name) {
			return nil, protocol.Errorf(protocol.CodeInvalidArgument, "fields: no column %q; there are %s",
				observation.Cut(name, 60), observation.Cut(strings.Join(offered, ", "), 1000))
		}
	}
	out := &protocol.Extraction{
		Kind: kind, URL: observation.Cut(r.URL, 8192), Columns: columns, Total: r.Total,
		Truncated: r.Total > len(r.Rows), Rows: make([]map[string]string, 0, len(r.Rows)),
	}
	for i, values := range r.Rows {
		row := make(map[string]string, len(columns))
		for _, name := range columns {
			at := slices.Index(r.Columns, name)
			switch {
			case at >= 0 && at < len(values):
				row[name] = observation.Cut(values[at], max(chars, 8192))
			case at < 0 && name == indexColumn:
				row[name] = strconv.Itoa(i)
			default:
				row[name] = ""
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
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
