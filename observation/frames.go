package observation

import (
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	// maxFrames is how many frames below the main one are read.
	maxFrames = 40
	// framesLimit is how long the frames of a page may take beyond the page itself,
	// and framesShare the part of the caller's time that they may take at most.
	framesLimit = 5 * time.Second
	framesShare = 3 // a third
	// maxUnread is how many frames that were not read are named.
	maxUnread = 20
	// maxFrameText is how much text of each is read, in code points: what one answer
	// may show.
	maxFrameText = protocol.MaxTextChars
	// maxFrameURL is what is told of the URL of each, in code points.
	maxFrameURL = 512
	// maxStarts is how often the reading starts over when the page's document is
	// replaced meanwhile.
	maxStarts = 3
)

// framePass is the reading of one frame.
type framePass struct {
	frame Frame
	owner owner
	args  passArgs
	call  Call
	pass  pass
	err   error
}

// read reads the page and the frames in it, all at once. A frame that does not
// answer takes nothing from the page but its own part.
func (o *Observer) read(ctx context.Context, page Page, q scope) (*pass, []protocol.UnreadFrame, error) {
	for start := 1; ; start++ {
		s := page.State()
		p, unread, err := o.readOnce(ctx, page, s, q)
		now := page.State()
		if err != nil || now.World.Loader == s.World.Loader || len(now.Children) == 0 || start == maxStarts {
			return p, unread, err
		}
	}
}

func (o *Observer) readOnce(ctx context.Context, page Page, s State, q scope) (*pass, []protocol.UnreadFrame, error) {
	args := q.args()
	var frames []*framePass
	if below := s.below(q.root); len(below) > 0 && s.blocked() == nil {
		preparing, cancel := framesContext(ctx)
		frames = o.prepareFrames(preparing, page, s, below)
		cancel()
		args.Owners = ownersIn(q.root, frames)
	}
	main := Begin(Within(page, q.root), "observe", args)
	for _, f := range frames {
		if f.err == nil {
			f.args = q.inFrame()
			f.args.Owners = ownersIn(f.frame.ID, frames)
			f.call = Begin(Within(page, f.frame.ID), "observe", f.args)
		}
	}
	var p pass
	err := main.finish(ctx, &p)
	if err == nil {
		err = p.check(args)
	}
	reading, cancel := framesContext(ctx)
	defer cancel()
	for _, f := range frames {
		switch {
		case err != nil:
			f.call.Forget()
		case f.err == nil:
			if f.err = f.call.finish(reading, &f.pass); f.err == nil {
				f.err = f.pass.check(f.args)
			}
			if errors.Is(f.err, ErrDialog) {
				err = f.err
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return &p, o.merge(&p, frames, q), nil
}

// framesContext bounds what is done for frames, so that the page has its time.
func framesContext(ctx context.Context) (context.Context, context.CancelFunc) {
	d := framesLimit
	if end, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(end)/framesShare)
	}
	return context.WithTimeoutCause(ctx, d, errFrameSlow)
}

var (
	errFrameSlow       = errors.New("the frame did not answer in time")
	errFrameUnanswered = errors.New("the frame does not answer")
	errFrameMany       = errors.New("too many frames")
)

// reason names why a frame was not read.
func reason(err error) string {
	switch {
	case errors.Is(err, errFrameMany):
		return "too_many"
	case errors.Is(err, ErrCrashed):
		return "crashed"
	case WentAway(err):
		return "replaced"
	}
	return "unresponsive"
}

// prepareFrames finds worlds and owners of frames of s.
func (o *Observer) prepareFrames(ctx context.Context, page Page, s State, below []Frame) []*framePass {
	o.dropOwners(&s)
	frames := make([]*framePass, 0, min(len(below), maxFrames))
	silent := make(map[cdp.SessionID]bool)
	for _, f := range below {
		pass := &framePass{frame: f}
		silent[f.World.Session] = silent[f.World.Session] || f.Unresponsive
		switch {
		case len(frames) >= maxFrames:
			pass.err = errFrameMany
		case f.Crashed:
			pass.err = ErrCrashed
		case silent[f.World.Session]:
			pass.err = errFrameUnanswered
		case f.World.Unique == "":
			pass.err = makeWorld(Within(page, f.ID), f.World)
		}
		frames = append(frames, pass)
	}
	for _, f := range frames {
		if f.err == nil && f.frame.World.Unique == "" {
			_, f.err = awaitWorld(ctx, Within(page, f.frame.ID))
		}
	}
	o.findOwners(ctx, page, frames)
	return frames
}

func ownersIn(parent protocol.FrameID, frames []*framePass) []int64 {
	var ids []int64
	for _, f := range frames {
		if f.frame.Parent == parent && f.owner.ID != 0 {
			ids = append(ids, f.owner.ID)
		}
	}
	return ids
}

// place is where a frame is in the page.
type place struct {
	pass      *pass
	path      []int
	offscreen bool
	focused   bool
}

// merge puts the frames' passes into the page's and names those that a user sees
// and that were not read.
func (o *Observer) merge(p *pass, frames []*framePass, q scope) []protocol.UnreadFrame {
	p.locate(q.root, nil)
	places := map[protocol.FrameID]place{q.root: {pass: p, focused: true}}
	documents := map[string]bool{p.Doc: true}
	var unread []protocol.UnreadFrame
	for _, f := range frames {
		outer, ok := places[f.frame.Parent]
		if !ok {
			continue // its parent is hidden, or was named
		}
		in, shown := outer.pass.holder(f.owner)
		if f.err == nil && (in == nil || documents[f.pass.Doc]) { // a frame may not pass for another one
			f.err = ErrContextGone
			delete(o.owners, f.frame.ID)
		}
		if in != nil && !shown || errors.Is(f.err, ErrFrameGone) {
			continue
		}
		if f.err != nil {
			p.Partial = true
			if len(unread) < maxUnread {
				unread = append(unread, protocol.UnreadFrame{FrameID: f.frame.ID, URL: Cut(clean(f.frame.URL), maxFrameURL), Reason: reason(f.err)})
			}
			continue
		}
		documents[f.pass.Doc] = true
		here := place{
			pass: &f.pass, path: append(append([]int(nil), outer.path...), in.Order),
			offscreen: outer.offscreen || in.Offscreen, focused: outer.focused && in.Focused,
		}
		places[f.frame.ID] = here
		f.pass.locate(f.frame.ID, here.path)
		f.pass.seenThrough(here)
		p.add(&f.pass, q.args().Text)
	}
	return unread
}
