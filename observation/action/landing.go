package action

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// A click that the page was kept from is sent again, two frames later, at least
// minClicks times and for landLimit: on a busy machine the browser may aim by a picture
// that is seconds old.
const (
	minClicks = 10
	landLimit = 4 * time.Second
)

// enough says that a click will not land any more.
func enough(try int, begun time.Time) bool {
	return try >= minClicks && time.Since(begun) >= landLimit
}

// came is what the guard of a document saw of a click.
type came struct {
	// Armed: the document is still the one in which the guard was armed.
	Armed bool `json:"armed"`
	// Hits are the presses that came to the target; Missed is what got one that
	// did not, and was kept from it.
	Hits   int    `json:"hits"`
	Missed string `json:"missed"`
}

// clickIn clicks at the prepared point. The browser aims by the picture that it drew
// last, and a page may move things under the pointer: a click that landed elsewhere was
// kept from the page, so it is sent once more, as often as that may help.
func (r *run) clickIn(ctx context.Context, t observation.Target, args prepareArgs, p *prepared, press presses) *protocol.Error {
	begun := time.Now()
	for try := 1; ; try++ {
		if err := r.pipeline(ctx, r.page, press.at(p.X, p.Y)...); err != nil {
			r.disarm()
			return r.fail(ctx, args.Kind, err)
		}
		c, known := r.landed(ctx, p.Mark)
		switch {
		case !known, c.Missed == "" && c.Hits > 0:
			return nil
		case c.Missed == "":
			return protocol.Errorf(protocol.CodeActionFailed, "%s: no click came to its document; something may have slid in front of it", t.Ref)
		case c.Hits > 0:
			return protocol.Errorf(protocol.CodeCovered, "%s got %d of %d clicks; the next came to %s instead and was kept from the page", t.Ref, c.Hits, press.count, c.Missed).
				WithDispatched(protocol.DispatchedYes)
		case enough(try, begun):
			return protocol.Errorf(protocol.CodeCovered, "%s: the click came to %s instead and was kept from the page", t.Ref, c.Missed).
				WithDispatched(protocol.DispatchedYes)
		}
		if r.frame != "" { // else the first look has waited
			if err := r.nextPicture(ctx); err != nil {
				return r.fail(ctx, args.Kind, err)
			}
		}
		var refused *protocol.Error
		target := protocol.Target{ElementRef: t.Ref}
		if _, *p, refused = r.prepare(ctx, target, args); refused != nil || p.Done {
			return refused
		}
	}
}

// landed disarms the guards and says what came to them. It is not known when the page
// went on, or a dialog is open.
func (r *run) landed(ctx context.Context, mark int) (c came, known bool) {
	if r.frame == "" {
		return r.landedInPage(ctx, mark)
	}
	guards := make([]observation.Call, 0, 1+len(r.around))
	guards = append(guards, observation.Begin(r.view, "disarm", struct{}{}))
	for _, w := range r.around {
		guards = append(guards, observation.Begin(w.page, "disarm", struct{}{}))
	}
	for i := range guards {
		var g came
		err := guards[i].Once(ctx, &g)
		if err != nil || !g.Armed || i == 0 && g.Hits > 0 {
			for _, rest := range guards[i+1:] {
				rest.Forget()
			}
			if err != nil { // behind a dialog, say
				r.disarm()
			}
			return g, err == nil && g.Armed
		}
		if c.Missed == "" {
			c.Missed = observation.Cut(g.Missed, maxMessage)
		}
	}
	return c, c.Missed != "" // nobody heard of it: a frame that the browser hit tests late
}

// firstLook is a look at the page that was taken before it settled.
type firstLook struct {
	look
	err error
}

// landedInPage asks together with the first look at the page, which is due anyway.
func (r *run) landedInPage(ctx context.Context, mark int) (came, bool) {
	r.did.Dispatch = r.lap()
	if r.isNavigating() || r.isAsked(r.page.State()) {
		return came{}, false
	}
	r.first = &firstLook{}
	r.first.err = r.looks(ctx, "firstLook", lookArgs{Mark: mark}, &r.first.look)
	c := r.first.Guard
	c.Missed = observation.Cut(c.Missed, maxMessage)
	return c, r.first.err == nil && c.Armed
}

// disarm lets everything through again, without waiting.
func (r *run) disarm() {
	if !r.armed {
		return
	}
	r.armed = false
	post(r.view, "disarm")
	for _, w := range r.around {
		post(w.page, "disarm")
	}
}
