package observation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// reading is what was kept of the newest look at a page. Its slices are shown one
// after the other, without asking the page again.
type reading struct {
	first  *protocol.Observation // the first slice
	budget protocol.ObserveBudget
	// elements are all that were read, ranked; text is at most MaxRetainedChars.
	elements []passElement
	labels   map[node]string
	text     string
	total    int // elements of the page
	// matches are of a search, which has no text.
	matches      []protocol.Match
	totalMatches int
	// unreadText is how many characters the page has beyond text.
	unreadText int
	partial    bool

	// What comes next: an index into elements, a byte of text and how many
	// characters are before it.
	element, textByte, textChar int
	match, finds                int
	// tokens that were given out for it: from firstToken; token is the valid one,
	// 0 for none.
	firstToken, token int
}

// newReading keeps a pass that is ranked.
func newReading(o *Observer, p *pass, q scope) *reading {
	r := &reading{
		budget: q.ObserveBudget, elements: p.Elements, labels: make(map[node]string, len(p.Groups)),
		total: p.Total, partial: p.Partial, firstToken: o.tokens + 1,
	}
	switch {
	case q.search != "":
		r.matches, r.totalMatches = find(p.Text, q.search)
		r.partial = r.partial || p.TextCut // what was not read was not searched
	case q.TextChars > 0: // text that nobody asked for is not missing
		r.text = p.Text
		if p.TextCut {
			r.unreadText = max(0, p.TotalText-p.readText)
		}
	}
	for _, g := range p.Groups {
		r.labels[g.at] = g.Label
	}
	return r
}

// left says whether anything is kept that has not been shown.
func (r *reading) left() bool {
	return r.textByte < len(r.text) || r.element < len(r.elements) || r.match < len(r.matches)
}

// slice puts what comes next into an observation: of text or matches and of
// elements, each within its budget. Refs are handed out as they are shown.
func (o *Observer) slice(r *reading, obs *protocol.Observation, tier int) {
	obs.ElementOffset = r.element
	r.sliceText(obs)
	r.sliceMatches(obs)
	shown := choose(r.elements[r.element:], r.budget.Elements, tier)
	o.show(r, obs, shown)
	r.element += len(shown)

	obs.ElementsTruncated = r.element < r.total || r.partial
	obs.Continuation, r.token = "", 0
	if r.left() {
		o.tokens++
		r.token = o.tokens
		obs.Continuation = continuation(o.generation, r.token)
		return
	}
	obs.UnkeptTextChars, obs.UnkeptMatches = r.unreadText, r.totalMatches-r.finds
	if r.budget.Elements > 0 {
		obs.UnkeptElements = max(0, r.total-len(r.elements))
	}
}

func (r *reading) sliceText(obs *protocol.Observation) {
	obs.TextOffset = r.textChar
	obs.Text = Cut(r.text[r.textByte:], r.budget.TextChars)
	r.textByte += len(obs.Text)
	r.textChar += chars(obs.Text)
	obs.TextTruncated = r.textByte < len(r.text) || r.unreadText > 0
}

// sliceMatches takes as many as fit what text may have, one at least.
func (r *reading) sliceMatches(obs *protocol.Observation) {
	obs.MatchOffset = r.finds
	for left := r.budget.TextChars; left > 0 && r.match < len(r.matches); r.match++ {
		m := r.matches[r.match]
		if left -= chars(m.Text); left < 0 && len(obs.Matches) > 0 {
			break
		}
		obs.Matches = append(obs.Matches, m)
		r.finds += max(m.Count, 1)
	}
}

// show hands out refs for elements and puts these into an observation, with the
// groups that they are in.
func (o *Observer) show(r *reading, obs *protocol.Observation, shown []passElement) {
	for i := range shown {
		o.refs.docs[shown[i].at.Doc] = true
	}
	groups := make(map[protocol.GroupRef]int)
	for i := range shown {
		e := &shown[i]
		ref := o.refs.show(e)
		o.refs.byRef[ref].Page = obs.PageID
		var group protocol.GroupRef
		if e.Group != 0 {
			record := e.record()
			group = o.refs.group(record)
			at, ok := groups[group]
			if !ok {
				at = len(obs.Groups)
				groups[group] = at
				obs.Groups = append(obs.Groups, protocol.Group{Ref: group, Label: r.labels[record]})
			}
			obs.Groups[at].Elements = append(obs.Groups[at].Elements, ref)
		}
		obs.Elements = append(obs.Elements, e.shown(ref, group))
	}
}

// choose is what of ranked elements is shown: up to a tier, within the budget.
func choose(elements []passElement, most, tier int) []passElement {
	if n := slices.IndexFunc(elements, func(e passElement) bool { return e.Tier > tier }); n >= 0 {
		elements = elements[:n]
	}
	return elements[:min(len(elements), most)]
}

// Next is the next slice of the newest observation: the same id, the same refs, as
// the page was then. It asks the page nothing. A token holds for one slice.
func (o *Observer) Next(s State, token protocol.Continuation) (*protocol.Observation, *protocol.Error) {
	generation, n, ok := readContinuation(token)
	r := o.reading
	switch {
	case !ok:
		return nil, protocol.Errorf(protocol.CodeInvalidArgument, "continuation %q cannot be read", Cut(string(token), 40))
	case generation != o.generation:
		return nil, protocol.Errorf(protocol.CodeGenerationChanged, "%s is of generation %d; this is %d", token, generation, o.generation)
	case n > o.tokens:
		return nil, protocol.Errorf(protocol.CodeContinuationSuperseded, "%s was never given out", token)
	case r == nil:
		return nil, protocol.Errorf(protocol.CodeContinuationSuperseded, "a newer observation has nothing to go on with")
	case n != r.token && r.token != 0:
		return nil, protocol.Errorf(protocol.CodeContinuationSuperseded, "%s goes on with %s", r.first.ID, continuation(o.generation, r.token))
	case n != r.token && n >= r.firstToken:
		return nil, protocol.Errorf(protocol.CodeContinuationExhausted, "%s was shown to its end", r.first.ID)
	case n != r.token:
		return nil, protocol.Errorf(protocol.CodeContinuationSuperseded, "%s is newer, and has nothing to go on with", r.first.ID)
	}
	obs := *r.first
	// What is of the page as it is now, and not of the slice, was shown already.
	obs.Tabs, obs.FrameTree, obs.RecentDialogs, obs.UnreadFrames = nil, nil, nil, nil
	obs.PendingDialogs = s.Dialogs
	obs.Elements, obs.Groups, obs.Matches = nil, nil, nil
	o.slice(r, &obs, maxTier)
	o.goOn(&obs)
	return &obs, nil
}

// continuation is "c-GENERATION-N".
func continuation(g protocol.Generation, n int) protocol.Continuation {
	return protocol.Continuation(fmt.Sprintf("c-%d-%d", g, n))
}

// readContinuation is its inverse.
func readContinuation(c protocol.Continuation) (g protocol.Generation, n int, ok bool) {
	rest, ok := strings.CutPrefix(string(c), "c-")
	first, second, _ := strings.Cut(rest, "-")
	generation, err := strconv.ParseUint(first, 10, 64)
	if !ok || err != nil {
		return 0, 0, false
	}
	n, err = strconv.Atoi(second)
	return protocol.Generation(generation), n, err == nil && n > 0
}
