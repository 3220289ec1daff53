package chrome

import (
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/observation/action"
	"github.com/browserfleet/browserfleet/observation/tab"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	// arrivalLimit is how long an action waits for the document of a tab that it
	// opened, before it shows the tab as it is.
	arrivalLimit = 10 * time.Second
	// titlesLimit bounds the question for the titles of tabs.
	titlesLimit = time.Second
)

// show makes a tab the current one. The former one's watch goes on: its
// observations tell what happened meanwhile.
func (b *Browser) show(p *supervisor.Page) {
	id := protocol.PageID(p.ID())
	if b.tabs[id] == nil {
		b.tabs[id] = tab.New(id, p)
	}
	b.page, b.tab = p, b.tabs[id]
}

// follow takes note of tabs that were opened and closed since it looked last. The
// newest tab that a page opened becomes the current one, as it would for a person;
// after the current one was closed that is its opener, else the newest.
func (b *Browser) follow() {
	open := b.supervised.Tabs()
	known := make(map[protocol.PageID]bool, len(open))
	var newest *supervisor.Page
	for _, p := range open {
		id := protocol.PageID(p.ID())
		known[id] = true
		if b.tabs[id] == nil {
			newest = p
		}
	}
	for id, t := range b.tabs {
		if !known[id] {
			t.Close()
			delete(b.tabs, id)
		}
	}
	switch {
	case len(open) == 0:
	case newest != nil:
		for _, p := range open { // each is watched from here on
			b.show(p)
		}
		b.show(newest)
	case b.tabs[protocol.PageID(b.page.ID())] == nil:
		opener := b.supervised.Tab(b.page.Opener())
		if opener == nil {
			opener = open[len(open)-1]
		}
		b.show(opener)
	}
}

// choose makes the tab current that an action is for: the one that it names, or
// the one that its ref is in.
func (b *Browser) choose(a *protocol.Action) *protocol.Error {
	b.follow()
	id := a.Tab
	if id == "" {
		id = b.observer.TabOf(refOf(a.Args))
	}
	if id == "" || a.Kind == protocol.KindTabs && a.Tab == "" {
		return nil
	}
	p := b.supervised.Tab(supervisor.TabID(id))
	switch {
	case p != nil:
		b.show(p)
	case a.Tab != "":
		return protocol.Errorf(protocol.CodeTabClosed, "%s is not open", id)
	default:
		return protocol.Errorf(protocol.CodeStaleRef, "%s was in %s, which is closed", refOf(a.Args), id)
	}
	return nil
}

// refOf is the ref in an action's arguments, empty when there is none.
func refOf(args protocol.Args) protocol.Ref {
	switch a := args.(type) {
	case interface{ Ref() protocol.Ref }:
		return a.Ref()
	case *protocol.ExtractArgs:
		return a.RegionRef
	}
	return ""
}

// arrive waits for the document of a tab that was opened meanwhile, so that what
// is shown is not the empty page before it.
func (r *run) arrive(ctx context.Context) {
	before := r.b.page
	r.b.follow()
	p := r.b.page
	if p == before || p.Snapshot().Wanted == "" || p.Snapshot().Wanted == "about:blank" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, arrivalLimit)
	defer cancel()
	// A document that does not come is seen as it is: not there.
	_, _ = p.Await(ctx, func(s *supervisor.Snapshot) bool {
		return s.Commits > 0 && s.Lifecycle.DOMContentLoaded || s.Gone || s.Crashed || len(s.Dialogs) > 0
	})
}

// tabs lists, opens, chooses and closes tabs.
func (r *run) tabs(ctx context.Context, args *protocol.TabsArgs) {
	p, failed := r.tabOf(args)
	if failed != nil {
		r.refuse(failed)
		return
	}
	if args.Action == protocol.TabsNew && args.URL != "" {
		u, err := r.b.policy.Load().CheckNavigation(args.URL)
		if err != nil {
			r.refuse(navigationError(err))
			return
		}
		args = &protocol.TabsArgs{Action: args.Action, URL: u.String()}
	}
	r.out.Err = r.read(func() *protocol.Error {
		switch args.Action {
		case protocol.TabsNew:
			return r.openTab(ctx, args.URL)
		case protocol.TabsClose:
			return r.closeTab(ctx, p)
		case protocol.TabsSelect:
			r.b.show(p)
		}
		return nil
	})
}

// tabOf is the tab that is meant; without any it is the current one.
func (r *run) tabOf(args *protocol.TabsArgs) (*supervisor.Page, *protocol.Error) {
	if args.Index == nil || r.action.Tab != "" { // choose has shown it
		return r.b.page, nil
	}
	open := r.b.supervised.Tabs()
	if *args.Index >= len(open) {
		return nil, protocol.Errorf(protocol.CodeTabClosed, "index %d: %d tabs are open", *args.Index, len(open))
	}
	return open[*args.Index], nil
}

func (r *run) openTab(ctx context.Context, url string) *protocol.Error {
	p, err := r.b.supervised.OpenTab(ctx)
	if errors.Is(err, supervisor.ErrTooManyTabs) {
		return protocol.Errorf(protocol.CodePolicyDenied, "%v; close some first", err).WithDispatched(protocol.DispatchedNo)
	}
	if err != nil {
		return tabError(err)
	}
	r.b.show(p)
	if url == "" {
		return nil
	}
	open := protocol.Action{Request: r.action.Request, Args: &protocol.OpenArgs{URL: url}}
	open.Kind = protocol.KindOpen
	begun := func() error { return nil } // by tabs itself
	done, failed := action.Perform(ctx, r.b.tab, r.b.observer, open, begun)
	r.out.Verdict, r.out.Dispatched = done.Verdict, done.Dispatched
	return failed
}

func (r *run) closeTab(ctx context.Context, p *supervisor.Page) *protocol.Error {
	err := r.b.supervised.CloseTab(ctx, p)
	switch {
	case errors.Is(err, supervisor.ErrLastTab):
		return protocol.Errorf(protocol.CodePolicyDenied, "the last tab stays open; close the environment instead").WithDispatched(protocol.DispatchedNo)
	case err != nil:
		return tabError(err)
	}
	return nil
}

// tabError is of a browser that could not open or close a tab.
func tabError(err error) *protocol.Error {
	code := protocol.CodeActionFailed
	if errors.Is(err, cdp.ErrClosed) {
		code = protocol.CodeBrowserLost
	}
	return protocol.Errorf(code, "%v", err).WithDispatched(protocol.DispatchedUnknown)
}

// tabGone makes sense of an action whose tab closed itself: the browser is well,
// and what it was asked for was done or had no page left to be done in.
func (r *run) tabGone() {
	failed := r.out.Err
	if failed == nil || failed.Code != protocol.CodeBrowserLost || !r.b.page.Snapshot().Gone || len(r.b.supervised.Tabs()) == 0 {
		return
	}
	id := r.b.page.ID()
	if failed.Dispatched == protocol.DispatchedNo {
		r.out.Err = protocol.Errorf(protocol.CodeTabClosed, "%s closed itself", id)
		return
	}
	r.out.Err, r.out.Dispatched, r.out.Verdict = nil, protocol.DispatchedYes, protocol.VerdictTabClosed
}

// tabLeft reports whether the tab closed itself only when the page was looked at, after
// the action, and another one is shown now.
func (r *run) tabLeft(ctx context.Context) bool {
	left := r.b.page
	if !left.Snapshot().Gone || len(r.b.supervised.Tabs()) == 0 {
		return false
	}
	r.arrive(ctx)
	if r.b.page == left {
		return false
	}
	if r.action.Kind != protocol.KindObserve {
		r.out.Verdict = protocol.VerdictTabClosed
	}
	return true
}

// titles completes the list of tabs. No event tells of titles, so the browser is
// asked; it answers whatever its pages do.
func (r *run) titles(ctx context.Context) {
	o := r.out.Observation
	if o == nil {
		return
	}
	if len(o.Tabs) == 1 {
		o.Tabs[0].Title = o.Title
		return
	}
	ctx, cancel := within(ctx, titlesLimit)
	defer cancel()
	titles, err := r.b.supervised.Titles(ctx)
	if err != nil {
		return
	}
	for i := range o.Tabs {
		o.Tabs[i].Title = titles[supervisor.TabID(o.Tabs[i].ID)]
	}
}
