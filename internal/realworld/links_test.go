//go:build realworld

package realworld

import (
	"context"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

var interactive = &protocol.ObserveOptions{Mode: protocol.ModeInteractive}

// leads follows links of the page by their refs, and comes back.
func (p *pageVisit) leads(ctx context.Context) {
	o := p.observe(ctx, p.t, interactive)
	for _, href := range p.chosenLinks(o) {
		p.follow(ctx, href)
	}
}

// chosenLinks: the first and the last of those that lead within the page, and of
// those that leave it for another page of the site, and one in the middle.
func (p *pageVisit) chosenLinks(o *protocol.Observation) []string {
	var inside, outside []string
	here, _, _ := strings.Cut(o.URL, "#")
	for _, e := range o.Elements {
		if e.Role != "link" || !strings.HasPrefix(e.Href, p.site.URL) {
			continue
		}
		if page, _, within := strings.Cut(e.Href, "#"); within && page == here {
			inside = append(inside, e.Href)
		} else if page != here {
			outside = append(outside, e.Href)
		}
	}
	var chosen []string
	for _, list := range [][]string{inside, outside} {
		if n := len(list); n > 0 {
			chosen = append(chosen, list[0], list[n/2], list[n-1])
		}
	}
	return chosen
}

// follow clicks the first link to href that the page shows now.
func (p *pageVisit) follow(ctx context.Context, href string) {
	o := p.observe(ctx, p.t, interactive)
	for _, e := range o.Elements {
		if e.Role != "link" || e.Href != href {
			continue
		}
		before := p.eyes.where(ctx)
		out := p.try(ctx, p.t, protocol.KindClick, &protocol.ClickArgs{Target: protocol.Target{ElementRef: e.Ref, ObservationID: o.ID}}, nil)
		if out.Err != nil {
			p.refused(ctx, href, out.Err)
			return
		}
		timing := out.Transition.Timing
		p.figures.add("click: dispatch", p.size, timing.DispatchMS)
		if page, _, _ := strings.Cut(href, "#"); page == strings.Split(before.URL, "#")[0] {
			p.figures.add("click: within", p.size, total(timing))
		} else {
			p.figures.add("click: to a page", p.docs.size(p.t, strings.TrimPrefix(page, p.site.URL)), total(timing))
		}
		p.landed(ctx, href, out.Observation.URL)
		if before.URL != href && out.Verdict != protocol.VerdictNavigated {
			p.t.Errorf("a click that leads to %s: verdict %s", href, out.Verdict)
		}
		if before.URL == href {
			return // a click on where we are makes no entry in the history
		}
		p.returns(ctx, before, href)
		return
	}
	p.t.Errorf("the link to %s is not shown any more", href)
}

// refused: some links are drawn where nobody can hit them, behind others or in a
// drawer beside the page. Then, and only then, a click may say so.
func (p *pageVisit) refused(ctx context.Context, href string, why *protocol.Error) {
	if (why.Code != protocol.CodeCovered && why.Code != protocol.CodeNotVisible) || why.Dispatched != protocol.DispatchedNo || p.eyes.reaches(ctx, href) {
		p.t.Errorf("a click on the link to %s: %v (dispatched %s)", href, why, why.Dispatched)
		return
	}
	p.t.Logf("rightly refused: %v", why)
}

func (p *pageVisit) landed(ctx context.Context, href, told string) {
	is := p.eyes.where(ctx)
	if told != href || is.URL != href {
		p.t.Errorf("a link to %s led to %s, the page says %s", href, told, is.URL)
	}
	if strings.Contains(href, "#") && is.Found && (is.Bottom < -1 || is.Top > is.Height) {
		p.t.Errorf("%s is not in the viewport: %+v", href, is)
	}
}

// returns goes back, forward, and back again.
func (p *pageVisit) returns(ctx context.Context, before spot, href string) {
	for _, step := range []struct {
		kind protocol.Kind
		want string
	}{{protocol.KindBack, before.URL}, {protocol.KindForward, href}, {protocol.KindBack, before.URL}} {
		out := p.run(ctx, p.t, step.kind, &protocol.NoArgs{}, nil)
		if step.kind == protocol.KindBack { // forward's page is another, of another size
			p.figures.add(string(step.kind), p.size, total(out.Transition.Timing))
		}
		if is := p.eyes.where(ctx); out.Observation.URL != step.want || is.URL != step.want {
			p.t.Errorf("%s between %s and %s led to %s, the page says %s", step.kind, before.URL, href, out.Observation.URL, is.URL)
		}
	}
}

// scrolls moves through the page and to an element of it.
func (p *pageVisit) scrolls(ctx context.Context) {
	p.open(ctx, p.t, p.page)
	for _, step := range []struct {
		to   string
		want func(from spot) float64
	}{
		{"down", func(from spot) float64 { return min(from.Y+from.Height, from.Full-from.Height) }},
		{"down", func(from spot) float64 { return min(from.Y+from.Height, from.Full-from.Height) }},
		{"up", func(from spot) float64 { return max(from.Y-from.Height, 0) }},
		{"bottom", func(from spot) float64 { return from.Full - from.Height }},
		{"top", func(spot) float64 { return 0 }},
	} {
		from := p.eyes.where(ctx)
		p.run(ctx, p.t, protocol.KindScroll, &protocol.ScrollArgs{To: step.to}, nil)
		if is := p.eyes.where(ctx); is.Y < step.want(from)-1 || is.Y > step.want(from)+1 {
			p.t.Errorf("scroll %s from %+v: got %v, want %v", step.to, from, is.Y, step.want(from))
		}
	}
	p.scrollsToLast(ctx)
}

func (p *pageVisit) scrollsToLast(ctx context.Context) {
	o := p.observe(ctx, p.t, interactive)
	if len(o.Elements) == 0 {
		return
	}
	last := o.Elements[len(o.Elements)-1]
	p.run(ctx, p.t, protocol.KindScroll, &protocol.ScrollArgs{To: "element", Target: protocol.Target{ElementRef: last.Ref}}, nil)
	for _, e := range p.observe(ctx, p.t, interactive).Elements {
		if e.Ref != last.Ref {
			continue
		}
		for _, s := range e.States {
			if s == "offscreen" {
				p.t.Errorf("scrolled to %s %q, which is %v", e.Ref, e.Name, e.States)
			}
		}
		return
	}
	p.t.Errorf("after scrolling, %s %q is not shown any more", last.Ref, last.Name)
}
