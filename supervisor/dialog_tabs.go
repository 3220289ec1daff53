package supervisor

// A dialog stops its renderer, and tabs that can reach each other (a window and
// what it opened) share one: a dialog of one stops them all. So each shows the
// others' dialogs as its own, and a navigation of one answers them.

// group is the tab that a page goes back to, over those that opened it. One that is
// closed by now still names the group. Callers hold mu.
func (t *tabs) group(p *Page) TabID {
	root := p.id
	for range maxTabs + 1 {
		if p.opener == "" {
			return root
		}
		root = p.opener
		opener := t.withID(root)
		if opener == nil {
			return root
		}
		p = opener
	}
	return root
}

func (t *tabs) withID(id TabID) *Page {
	for _, p := range t.pages {
		if p.id == id {
			return p
		}
	}
	return nil
}

// related are the open pages of the page's group, itself first. Callers hold mu.
func (p *Page) related() []*Page {
	pages := []*Page{p}
	for _, other := range p.pages {
		if other != p && p.group(other) == p.group(p) {
			pages = append(pages, other)
		}
	}
	return pages
}

// stopped says whether a dialog stops the page. Callers hold mu.
func (p *Page) stopped() bool {
	for _, r := range p.related() {
		if len(r.open) > 0 {
			return true
		}
	}
	return false
}

// showDialogs fills in the open dialogs of a snapshot. Callers hold mu.
func (p *Page) showDialogs(s *Snapshot) {
	group := p.group(p)
	show := func(other *Page) {
		for _, d := range other.open {
			s.Orphaned = s.Orphaned || d.State == DialogOrphaned
			if p.group(other) == group {
				s.Dialogs = append(s.Dialogs, d.shown())
			} else {
				s.Elsewhere = append(s.Elsewhere, d.shown())
			}
		}
	}
	show(p)
	for _, other := range p.pages {
		if other != p {
			show(other)
		}
	}
}
