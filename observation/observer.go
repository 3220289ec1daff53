package observation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// observeLimit is how long an observation may take when ctx allows more.
const observeLimit = 15 * time.Second

// recentDialogs is how many closed dialogs an observation tells of, and
// recentMessage how much of what each said, in code points. An action's own
// dialogs are in its transition, whole.
const (
	recentDialogs = 20
	recentMessage = 300
)

// Observer makes the observations of one environment and knows what its refs
// mean. One goroutine uses it at a time.
type Observer struct {
	generation protocol.Generation
	count      int
	refs       *refs
	last       *protocol.Observation
	told       map[protocol.DialogID]bool // recent dialogs that were shown
	owners     map[protocol.FrameID]owner
	reading    *reading // of the newest observation
	kept       []*kept  // the newest ones, the newest last
	tokens     int      // of continuations
	hide       func(text string, cut bool) string
}

// New begins a generation: no ref of an earlier one means anything any more.
func New(generation protocol.Generation) *Observer {
	return &Observer{generation: generation, refs: newRefs(), told: map[protocol.DialogID]bool{}, owners: map[protocol.FrameID]owner{}}
}

// Hide sets what takes secrets out of the text of pages before it is cut into
// slices: a cut could fall into one. cut says that the text goes on in the page.
func (o *Observer) Hide(hide func(text string, cut bool) string) { o.hide = hide }

// Hidden is a text of the page as the agent may see it; cut as for Hide.
func (o *Observer) Hidden(text string, cut bool) string {
	if o.hide == nil {
		return text
	}
	return o.hide(text, cut)
}

// Generation is the one that refs and observation ids belong to.
func (o *Observer) Generation() protocol.Generation { return o.generation }

// Last is the newest observation, nil before the first.
func (o *Observer) Last() *protocol.Observation { return o.last }

// Observe reads the whole page: see Look.
func (o *Observer) Observe(ctx context.Context, page Page, budget protocol.ObserveBudget) (*protocol.Observation, error) {
	return o.Look(ctx, page, Query{ObserveBudget: budget})
}

// Look reads the page, or the part of it that the query says. With a dialog open it
// touches no renderer: it returns the last that is known, marked stale, with the
// dialog. Its error is a *protocol.Error for a region that is not there, or wraps
// ErrCrashed, ErrLost or the cause of ctx.
func (o *Observer) Look(ctx context.Context, page Page, query Query) (*protocol.Observation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, observeLimit, errors.New("the page did not answer"))
	defer cancel()
	q, refused := o.resolve(page.State(), query)
	if refused != nil {
		return nil, refused
	}
	p, unread, err := o.read(ctx, page, q)
	if errors.Is(err, ErrDialog) {
		return o.LastKnown(page, query.ObserveBudget), nil
	}
	if err != nil && q.Args.Region() && WentAway(err) {
		return nil, protocol.Errorf(protocol.CodeStaleRef, "the frame or its document is gone").WithDispatched(protocol.DispatchedNo)
	}
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	p.rank()
	obs := o.build(page.State(), p, unread, q)
	return o.answer(obs, p.Doc, q.Since), nil
}

// build makes the observation that the agent is shown. A page that fits the budget
// is shown whole; only of a larger one the mode leaves out the higher tiers.
func (o *Observer) build(s State, p *pass, unread []protocol.UnreadFrame, q scope) *protocol.Observation {
	obs := o.next(s, q.ObserveBudget)
	obs.URL, obs.Title, obs.Scope = p.URL, p.Title, q.told()
	if q.root != "" { // the page is not its frame
		obs.URL, obs.Title = Cut(clean(s.URL), maxURL), ""
	}
	obs.UnreadFrames = unread
	clear(o.refs.docs)
	if o.hide != nil {
		p.Text = o.hide(p.Text, p.TextCut)
	}
	p.reveal(q.search, o.hide)
	r := newReading(o, p, q)
	obs.TotalTextChars, obs.TotalElements, obs.Partial = p.TotalText, p.Total, r.partial
	if q.search != "" {
		obs.TotalMatches = &r.totalMatches
	}
	r.first, o.reading = obs, r
	tier := maxTier
	if p.Total > q.Elements || p.Partial {
		tier = q.MaxTier
	}
	o.slice(r, obs, tier)
	obs.Digest = digest(obs, p.TextHash)
	o.last = obs
	return obs
}

// newDialogs are those that no observation has shown as closed: what a page said
// in a dialog must not stand beside every other page from then on.
func (o *Observer) newDialogs(recent []protocol.Dialog) []protocol.Dialog {
	var fresh []protocol.Dialog
	for _, d := range recent {
		if !o.told[d.ID] {
			if short := Cut(d.Message, recentMessage); short != d.Message {
				d.Message, d.Truncated = short, true
			}
			fresh = append(fresh, d)
		}
	}
	clear(o.told) // those that are not recent any more come never again
	for _, d := range recent {
		o.told[d.ID] = true
	}
	return fresh
}

// maxTier is the highest there is.
const maxTier = 5

// LastKnown is the page as it was seen last, marked stale, with the dialogs, tabs and
// frames of now. It touches no renderer.
func (o *Observer) LastKnown(page Page, budget protocol.ObserveBudget) *protocol.Observation {
	s := page.State()
	obs := o.next(s, budget)
	obs.Stale, o.reading = true, nil
	obs.URL = Cut(s.URL, maxURL)
	if last := o.last; last != nil && last.URL == obs.URL && last.PageID == obs.PageID {
		now := *obs
		*obs = *last
		obs.ID, obs.At, obs.PendingDialogs, obs.RecentDialogs, obs.Stale = now.ID, now.At, now.PendingDialogs, now.RecentDialogs, true
		obs.Tabs, obs.FrameTree, obs.Continuation = now.Tabs, now.FrameTree, ""
	}
	if obs.Digest == "" {
		obs.Digest = digest(obs, "")
	}
	o.last = obs
	if budget.Since != "" {
		told := *obs
		told.Difference = &protocol.Difference{Since: budget.Since, Whole: protocol.WholeStale}
		return &told
	}
	return obs
}

func (o *Observer) next(s State, budget protocol.ObserveBudget) *protocol.Observation {
	o.count++
	o.refs.now = o.count
	obs := &protocol.Observation{
		ID: observationID(o.generation, o.count), Generation: o.generation, PageID: s.ID,
		Mode: budget.Mode, At: protocol.At(time.Now()),
		RecentDialogs: o.newDialogs(s.RecentDialogs[max(0, len(s.RecentDialogs)-recentDialogs):]),
	}
	obs.PendingDialogs = s.Dialogs
	if s.Tabs != nil && s.Frames != nil {
		obs.Tabs, obs.FrameTree = s.Tabs(), s.Frames(budget.AllFrames)
	}
	return obs
}

// digest changes when URL, title, text or elements do. The text counts by its
// hash, so that what was cut off counts too.
func digest(obs *protocol.Observation, textHash string) string {
	raw, err := json.Marshal(struct {
		URL, Title, Text string
		Chars, Total     int
		Elements         []protocol.Element
	}{obs.URL, obs.Title, textHash, obs.TotalTextChars, obs.TotalElements, obs.Elements})
	if err != nil {
		return "" // strings and numbers always encode
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// TabOf is the tab that a ref was shown in, empty when there is none.
func (o *Observer) TabOf(ref protocol.Ref) protocol.PageID {
	if t, ok := o.refs.byRef[ref]; ok {
		return t.Page
	}
	return ""
}

// Resolve says which element a ref means, as far as that is known without
// asking the page: it checks the node and its fingerprint right before dispatch.
// An observation id of this generation that is not known is accepted, since a
// ref means the same in all of them; one of another generation is stale.
func (o *Observer) Resolve(ref protocol.Ref, id protocol.ObservationID) (Target, *protocol.Error) {
	shown := o.count
	if id != "" {
		g, n, ok := readObservationID(id)
		if !ok || g != o.generation {
			return Target{}, protocol.Errorf(protocol.CodeStaleRef,
				"observation %s is not of this environment's generation %d", Cut(string(id), 40), o.generation)
		}
		shown = n
	}
	t, ok := o.refs.byRef[ref]
	if !ok {
		return Target{}, protocol.Errorf(protocol.CodeStaleRef, "%s was never shown in generation %d", Cut(string(ref), 20), o.generation)
	}
	if shown < t.since {
		return Target{}, protocol.Errorf(protocol.CodeRefChanged, "%s is by now %s %q: it was shown so after observation %s",
			t.Ref, t.Role, Cut(t.Name, 80), Cut(string(id), 40))
	}
	return *t, nil
}
