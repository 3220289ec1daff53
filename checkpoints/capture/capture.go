package capture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// Captured is a state with how it was taken.
type Captured struct {
	State checkpoints.State
	How   checkpoints.Capture
}

// Capture takes the environment's state: what prev held, with the cookies, the
// tab and the main frame's storage as they are now. An error means that there is
// no new state (the cookies could not be read); what is less is a warning.
func Capture(ctx context.Context, s Session, prev checkpoints.State) (Captured, error) {
	started := time.Now()
	c := Captured{State: prev, How: checkpoints.Capture{Consistent: true, StartedAt: started.UTC().Truncate(time.Millisecond)}}
	c.takeFrame(ctx, s)
	cookieCtx, cancel := context.WithTimeout(ctx, cookieTime)
	defer cancel()
	cookies, err := s.Cookies(cookieCtx)
	if err != nil {
		return Captured{}, fmt.Errorf("capture cookies: %w", err)
	}
	c.State.Cookies = cookies
	c.How.TookMS = time.Since(started).Milliseconds()
	return c, nil
}

// takeFrame takes tab and localStorage of the main frame. A page that does not
// answer keeps its earlier storage.
func (c *Captured) takeFrame(ctx context.Context, s Session) {
	frameCtx, cancel := context.WithTimeout(ctx, evalTime)
	defer cancel()
	frame, ok, err := s.MainFrame(frameCtx)
	if err != nil {
		c.warn("tabs", err)
		return
	}
	if !ok {
		c.State.Tabs = nil
		return
	}
	c.State.Tabs = []checkpoints.Tab{{URL: frame.URL, Title: frame.Title, Active: true}}
	if !storable(frame) {
		return // about:blank, an error page, a sandboxed document: no storage to take
	}
	items, err := dump(ctx, frame.Eval, frame.Origin)
	if errors.Is(err, errDenied) {
		return // no access means no data of this page's own
	}
	if err != nil {
		c.warn("local storage", err)
		return
	}
	c.State = c.State.Merge(checkpoints.StorageArea{StorageKey: frame.StorageKey, Origin: frame.Origin, Items: items})
}

// warn notes what was not captured. The text is ours: an exception's message
// is a page's.
func (c *Captured) warn(part string, err error) {
	why := "not read"
	for _, known := range []error{errMoved, errChanged, errAnswer} {
		if errors.Is(err, known) {
			why = known.Error()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		why = "no answer in time"
	}
	c.How.Consistent = false
	c.How.Warnings = append(c.How.Warnings, part+": "+why)
}

// storable: a first-party web origin with a storage key of its own.
func storable(f Frame) bool {
	return f.StorageKey != "" && !f.StorageKey.Partitioned() && webOrigin(f.Origin) && f.Eval != nil
}

func webOrigin(origin string) bool {
	return strings.HasPrefix(origin, "https://") || strings.HasPrefix(origin, "http://")
}
