package observation

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/browserfleet/browserfleet/protocol"
)

// maxKept is how many observations a difference can be to: more than a few steps
// back there is little left that is the same.
const maxKept = 4

// kept is what an agent was shown in an observation, all its slices.
type kept struct {
	obs      *protocol.Observation
	doc      string
	text     string
	cut      bool // the page's text goes on
	elements []protocol.Element
}

// keep remembers an observation's first slice.
func (o *Observer) keep(obs *protocol.Observation, doc string) {
	if len(o.kept) == maxKept {
		o.kept = slices.Delete(o.kept, 0, 1)
	}
	o.kept = append(o.kept, &kept{obs: obs, doc: doc, text: strings.Clone(obs.Text), cut: obs.TextTruncated, elements: obs.Elements})
}

// answer is what the agent is shown of an observation: it, or what is different
// since another one.
func (o *Observer) answer(obs *protocol.Observation, doc string, since protocol.ObservationID) *protocol.Observation {
	o.keep(obs, doc)
	if since == "" {
		return obs
	}
	return o.since(since, o.kept[len(o.kept)-1])
}

// goOn remembers the next slice of the newest observation.
func (o *Observer) goOn(slice *protocol.Observation) {
	if n := len(o.kept); n > 0 && o.kept[n-1].obs.ID == slice.ID {
		k := o.kept[n-1]
		k.text += slice.Text
		k.cut = slice.TextTruncated
		k.elements = append(slices.Clip(k.elements), slice.Elements...)
	}
}

// since is the newest observation as a difference to an earlier one, or it whole,
// with the reason.
func (o *Observer) since(id protocol.ObservationID, now *kept) *protocol.Observation {
	obs := *now.obs
	obs.Difference = &protocol.Difference{Since: id}
	at := slices.IndexFunc(o.kept, func(k *kept) bool { return k.obs.ID == id })
	if at < 0 {
		obs.Difference.Whole = protocol.WholeUnknown
		return &obs
	}
	then := o.kept[at]
	switch {
	case then.obs.PageID != obs.PageID:
		obs.Difference.Whole = protocol.WholeOtherTab
	case obs.TotalMatches != nil || !reflect.DeepEqual(then.obs.Scope, obs.Scope):
		obs.Difference.Whole = protocol.WholeOtherScope
	case then.doc != now.doc:
		obs.Difference.Whole = protocol.WholeNavigated
	}
	if obs.Difference.Whole != "" {
		return &obs
	}
	different := obs
	different.Difference = o.difference(then, now)
	different.Text, different.Elements = "", nil
	different.Groups = groupsOf(&different, then.obs.Groups, obs.Groups)
	if size(&different) < size(now.obs) {
		return &different
	}
	obs.Difference.Whole = protocol.WholeNotSmaller
	return &obs
}

// difference compares what was shown then with what was read now: an element that
// the budget pushed out of sight is not removed.
func (o *Observer) difference(then, now *kept) *protocol.Difference {
	d := &protocol.Difference{Since: then.obs.ID, Navigated: then.obs.URL != now.obs.URL, Text: o.textChange(then, now)}
	known := make(map[protocol.Ref]*protocol.Element, len(then.elements))
	for i := range then.elements {
		known[then.elements[i].Ref] = &then.elements[i]
	}
	for i := range now.elements {
		e := now.elements[i]
		switch was := known[e.Ref]; {
		case was == nil:
			d.Added = append(d.Added, e)
		case !reflect.DeepEqual(*was, e):
			d.Changed = append(d.Changed, e)
		}
		delete(known, e.Ref)
	}
	for i := range o.reading.elements {
		e := &o.reading.elements[i]
		t := o.refs.byNode[e.at]
		if t == nil || known[t.Ref] == nil {
			continue
		}
		was := known[t.Ref]
		delete(known, t.Ref)
		var group protocol.GroupRef
		if e.Group != 0 {
			group = o.refs.group(e.record())
		}
		if is := e.shown(t.Ref, group); !reflect.DeepEqual(*was, is) {
			o.refs.show(e)
			d.Changed = append(d.Changed, is)
		}
	}
	for _, e := range then.elements {
		if known[e.Ref] != nil {
			d.Removed = append(d.Removed, e.Ref)
		}
	}
	return d
}

// textChange is between what was shown then and as much of the text that was read
// now; nil when that is the same.
func (o *Observer) textChange(then, now *kept) *protocol.TextChange {
	old, text := then.text, now.text
	if o.reading.budget.TextChars == 0 {
		return nil // no text was asked for
	}
	if then.cut {
		text = until(o.reading.text, old)
	} else if n := chars(old); n > chars(text) {
		text = Cut(o.reading.text, n)
	}
	if old == text {
		return nil
	}
	first := 0
	for first < len(old) && first < len(text) {
		r, n := utf8.DecodeRuneInString(old[first:])
		if s, _ := utf8.DecodeRuneInString(text[first:]); r != s {
			break
		}
		first += n
	}
	change := &protocol.TextChange{Offset: chars(old[:first])}
	old, text = old[first:], text[first:]
	for old != "" && text != "" {
		r, n := utf8.DecodeLastRuneInString(old)
		if s, _ := utf8.DecodeLastRuneInString(text); r != s {
			break
		}
		old, text = old[:len(old)-n], text[:len(text)-n]
	}
	change.Removed, change.Added = chars(old), text
	return change
}

// anchor is how much of the end of a text is looked for in another one, in bytes.
const anchor = 200

// until is text up to where old was cut: what came in before it must not look as if
// the end were another.
func until(text, old string) string {
	end := old[max(0, len(old)-anchor):]
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	near := min(len(old), len(text))
	before := strings.LastIndex(text[:near], end)
	after := strings.Index(text[max(0, near-len(end)):], end)
	if after >= 0 {
		after += max(0, near-len(end))
	}
	switch {
	case before < 0 && after < 0:
		return Cut(text, chars(old))
	case before < 0 || after >= 0 && after+len(end)-near < near-before-len(end):
		return text[:after+len(end)]
	}
	return text[:before+len(end)]
}

// groupsOf are the groups that a difference has to tell of: those of its elements,
// and those with another label.
func groupsOf(obs *protocol.Observation, then, now []protocol.Group) []protocol.Group {
	told := map[protocol.GroupRef]bool{}
	for _, all := range [][]protocol.Element{obs.Difference.Added, obs.Difference.Changed} {
		for _, e := range all {
			told[e.Group] = true
		}
	}
	var groups []protocol.Group
	for _, g := range now {
		same := slices.ContainsFunc(then, func(was protocol.Group) bool { return was.Ref == g.Ref && was.Label == g.Label })
		if told[g.Ref] || !same {
			groups = append(groups, g)
		}
	}
	return groups
}

// size of an observation, in bytes of JSON.
func size(obs *protocol.Observation) int {
	raw, err := json.Marshal(obs)
	if err != nil {
		return 0 // strings and numbers always encode
	}
	return len(raw)
}
