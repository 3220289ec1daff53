package supervisor

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// A page that was there before us tells nothing of itself: its frames are asked
// for, and a nested cross-site frame has its parent all the same.
func TestTargetsThatWereThereBeforeAreSeenAsTheyAre(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, nest) // for its site and proxy
		scratch := scratchRoot(t)
		config := testConfig(t, scratch)
		browser(&config)
		config.Popups, config.ProxyServer = PopupsAdopt, newTestProxy(t, r.site, "", "").URL
		config, err := config.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		process, err := chromium.Launch(t.Context(), config.Chromium)
		if err != nil {
			t.Fatal(err)
		}
		lost := make(chan struct{})
		all := newTabs(config, lost, func() error { return ErrClosed })
		var here atomic.Bool // until then somebody else was
		conn := cdp.Start(process.Carrier(), func(e cdp.Event) {
			if here.Load() {
				all.handle(e)
			}
		}, cdp.Options{})
		all.conn = conn
		t.Cleanup(func() {
			_ = conn.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := process.Close(ctx); err != nil {
				t.Error(err)
			}
			nothingLeft(t, scratch)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		created, err := protocol.Call(ctx, conn.Session(""), target.CreateBrowserContext, target.CreateBrowserContextParams{ProxyServer: config.ProxyServer})
		if err != nil {
			t.Fatal(err)
		}
		all.setContext(created.BrowserContextID)
		id := loadBefore(ctx, t, conn, created.BrowserContextID, "http://a.test/late")
		here.Store(true)
		if _, err := protocol.Call(ctx, conn.Session(""), target.SetAutoAttach, autoAttach()); err != nil {
			t.Fatal(err)
		}
		p := awaitAdopted(ctx, t, all, id)
		s := awaitPage(t, p, func(s *Snapshot) bool {
			return len(s.Frames) == 4 && !slices.ContainsFunc(s.Frames, func(f Frame) bool { return f.LoaderID == "" })
		})
		byName := map[string]Frame{}
		for _, f := range s.Frames {
			byName[f.Name] = f
			if f.URL == "" || f.Origin == "" {
				t.Errorf("%+v", f)
			}
			if _, err := p.WorldIn(ctx, f.ID); err != nil {
				t.Errorf("%s: %v", f.URL, err)
			}
		}
		main, cross, far := byName[""], byName["cross"], byName["far"]
		if s.FrameID != main.ID || !cross.OOPIF || cross.ParentID != main.ID || !far.OOPIF || far.ParentID != cross.ID || byName["same"].OOPIF {
			t.Errorf("%+v", s.Frames)
		}
	})
}

// loadBefore shows a page that nobody is attached to.
func loadBefore(ctx context.Context, t *testing.T, conn *cdp.Conn, in protocol.BrowserContextID, url string) target.ID {
	t.Helper()
	root := conn.Session("")
	created, err := protocol.Call(ctx, root, target.CreateTarget, target.CreateTargetParams{URL: url, BrowserContextID: in})
	if err != nil {
		t.Fatal(err)
	}
	flat := true
	attached, err := protocol.Call(ctx, root, target.AttachToTarget, target.AttachToTargetParams{TargetID: created.TargetID, Flatten: &flat})
	if err != nil {
		t.Fatal(err)
	}
	session := conn.Session(cdp.SessionID(attached.SessionID))
	for {
		res, err := protocol.Call(ctx, session, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.readyState + frames.length + document.title"})
		if err != nil {
			t.Fatal(err)
		}
		targets, err := protocol.Call(ctx, root, target.GetTargets, target.GetTargetsParams{Filter: target.Filter{{Type: "iframe"}}})
		if err != nil {
			t.Fatal(err)
		}
		if describe(res.Result) == "complete2late" && len(targets.TargetInfos) == 2 {
			break
		}
	}
	if _, err := protocol.Call(ctx, session, page.StopLoading, protocol.Empty{}); err != nil {
		t.Fatal(err)
	}
	detached, cancel := root.Subscribe(target.DetachedFromTarget.Method)
	defer cancel()
	if err := root.Call(ctx, "Target.detachFromTarget", map[string]any{"sessionId": attached.SessionID}, nil); err != nil {
		t.Fatal(err)
	}
	<-detached // no event of this session is left
	return created.TargetID
}

// awaitAdopted waits for the tab of a target.
func awaitAdopted(ctx context.Context, t *testing.T, all *tabs, id target.ID) (p *Page) {
	t.Helper()
	err := all.await(ctx, func() (bool, error) {
		p = all.withTarget(id)
		return p != nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
