//go:build realworld

package realworld

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/browserfleet/browserfleet/protocol"
)

var modes = []protocol.Mode{protocol.ModeSummary, protocol.ModeInteractive, protocol.ModeDocument}

// isSeen judges what each mode shows of the page.
func (p *pageVisit) isSeen(ctx context.Context) {
	for _, mode := range modes {
		shape := &protocol.ObserveOptions{Mode: mode}
		out := p.run(ctx, p.t, protocol.KindObserve, &protocol.ObserveArgs{}, shape)
		p.figures.add("observe "+string(mode), p.size, out.Transition.Timing.ObserveMS)
		o, budget := out.Observation, shape.Budget()
		p.judgeText(o, budget)
		p.judgeElements(o, budget)
		p.judgeRefs(o)
		p.judgeUTF8(o)
		p.judgeRepeat(o, p.observe(ctx, p.t, shape))
	}
}

func (p *pageVisit) judgeText(o *protocol.Observation, budget protocol.ObserveBudget) {
	n, whole := utf8.RuneCountInString(o.Text), utf8.RuneCountInString(p.truth.Text)
	if n > budget.TextChars {
		p.t.Errorf("%s: %d characters of text, budget %d", o.Mode, n, budget.TextChars)
	}
	if o.TotalTextChars != whole || o.TextTruncated != (budget.TextChars > 0 && whole > budget.TextChars) {
		p.t.Errorf("%s: total text %d, truncated %v; the page has %d", o.Mode, o.TotalTextChars, o.TextTruncated, whole)
	}
	if want := cutTo(p.truth.Text, budget.TextChars); o.Text != want {
		at := commonPrefix(o.Text, want)
		p.t.Errorf("%s: the text differs from the page's at byte %d: %.80q, want %.80q", o.Mode, at, o.Text[at:], want[at:])
	}
	if budget.TextChars > 0 && p.truth.Heading != "" && !strings.Contains(oneLine(o.Text), p.truth.Heading) {
		p.t.Errorf("%s: the heading %q is not in the text", o.Mode, p.truth.Heading)
	}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (p *pageVisit) judgeElements(o *protocol.Observation, budget protocol.ObserveBudget) {
	if len(o.Elements) > budget.Elements {
		p.t.Errorf("%s: %d elements, budget %d", o.Mode, len(o.Elements), budget.Elements)
	}
	if o.TotalElements != p.truth.Acting || o.ElementsTruncated != (len(o.Elements) < o.TotalElements) {
		p.t.Errorf("%s: total of elements %d (truncated %v, %d shown); the page has %d", o.Mode, o.TotalElements, o.ElementsTruncated, len(o.Elements), p.truth.Acting)
	}
	if len(o.Elements) == 0 && p.truth.Acting > 0 && o.Mode == protocol.ModeInteractive {
		p.t.Errorf("%s: shows none of %d elements", o.Mode, p.truth.Acting)
	}
	last := 0
	for _, e := range o.Elements {
		if e.Tier < last || e.Tier > budget.MaxTier {
			p.t.Errorf("%s: %s is of tier %d, after %d, at most %d", o.Mode, e.Ref, e.Tier, last, budget.MaxTier)
		}
		last = e.Tier
		if e.Role == "link" {
			p.judgeLink(o, e)
		}
	}
}

// judgeLink wants a link of the document that a user can see, with its name.
func (p *pageVisit) judgeLink(o *protocol.Observation, e protocol.Element) {
	var same []link
	for _, l := range p.truth.Links {
		if l.Href == e.Href && l.Drawn {
			same = append(same, l)
		}
	}
	if len(same) == 0 {
		p.t.Errorf("%s: %s leads to %q: no link that can be seen does", o.Mode, e.Ref, e.Href)
		return
	}
	if off := slices.Contains(e.States, "offscreen"); len(same) == 1 && off != same[0].Off {
		p.t.Errorf("%s: %s %q is %v; outside of the viewport: %v", o.Mode, e.Ref, e.Name, e.States, same[0].Off)
	}
	if !slices.ContainsFunc(same, func(l link) bool { return named(e.Name, l) }) {
		p.t.Errorf("%s: %s to %s is called %q; the page's: %+v", o.Mode, e.Ref, e.Href, e.Name, same[:min(3, len(same))])
	}
}

// named: by its text as it is shown; by its picture or title without one.
func named(name string, l link) bool {
	for _, text := range []string{l.Shown, l.Text, l.Picture, l.Title} {
		if text == "" {
			continue
		}
		return squash(name) == squash(cutTo(text, nameChars))
	}
	return name == ""
}

// nameChars is the bound of a name.
const nameChars = 200

// cutTo shortens s to limit code points.
func cutTo(s string, limit int) string {
	all := []rune(s)
	return string(all[:min(len(all), limit)])
}

// squash: whether parts of a name stand apart is a matter of style sheets.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func (p *pageVisit) judgeRefs(o *protocol.Observation) {
	refs, grouped := map[protocol.Ref]protocol.GroupRef{}, map[protocol.Ref]protocol.GroupRef{}
	for _, e := range o.Elements {
		if _, twice := refs[e.Ref]; twice || e.Ref == "" {
			p.t.Errorf("%s: ref %q twice", o.Mode, e.Ref)
		}
		refs[e.Ref] = e.Group
	}
	for _, g := range o.Groups {
		if len(g.Elements) == 0 || g.Label == "" {
			p.t.Errorf("%s: group %s %q has %d elements", o.Mode, g.Ref, g.Label, len(g.Elements))
		}
		for _, ref := range g.Elements {
			if grouped[ref] != "" || refs[ref] != g.Ref {
				p.t.Errorf("%s: %s is in group %s, says %q, was in %q", o.Mode, ref, g.Ref, refs[ref], grouped[ref])
			}
			grouped[ref] = g.Ref
		}
	}
	for ref, group := range refs {
		if group != grouped[ref] {
			p.t.Errorf("%s: %s says group %q and is in %q", o.Mode, ref, group, grouped[ref])
		}
	}
}

func (p *pageVisit) judgeUTF8(o *protocol.Observation) {
	all := []string{o.URL, o.Title, o.Text}
	for _, e := range o.Elements {
		all = append(all, e.Name, e.Value, e.Href)
	}
	for _, g := range o.Groups {
		all = append(all, g.Label)
	}
	for _, s := range all {
		if !utf8.ValidString(s) {
			p.t.Errorf("%s: not UTF-8: %.80q", o.Mode, s)
		}
		if at := strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); at >= 0 {
			p.t.Errorf("%s: a control character at %d of %.80q", o.Mode, at, s)
		}
	}
}

// judgeRepeat: a page that has not changed looks the same, with the same refs.
func (p *pageVisit) judgeRepeat(first, second *protocol.Observation) {
	if first.ID == second.ID || first.Digest != second.Digest || !reflect.DeepEqual(first.Elements, second.Elements) || !reflect.DeepEqual(first.Groups, second.Groups) {
		p.t.Errorf("%s: looked at twice, the page differs: %s %s, %s %s", first.Mode, first.ID, first.Digest, second.ID, second.Digest)
	}
}
