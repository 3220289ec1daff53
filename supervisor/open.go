package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/browser"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// open makes the context and the page in it.
func (s *Supervisor) open(ctx context.Context) error {
	if err := s.openContext(ctx); err != nil {
		return err
	}
	page, err := s.tabs.openTab(ctx)
	if err != nil {
		return fmt.Errorf("open the page: %w", err)
	}
	s.page = page
	return s.page.primeProxy(ctx)
}

func (s *Supervisor) openContext(ctx context.Context) error {
	root := s.conn.Session("")
	yes := true
	created, err := protocol.Call(ctx, root, target.CreateBrowserContext, target.CreateBrowserContextParams{
		DisposeOnDetach: &yes,
		ProxyServer:     s.config.ProxyServer,
		// Without it, loopback addresses would go around the proxy.
		ProxyBypassList: "<-loopback>",
	})
	if err != nil {
		return fmt.Errorf("create the context: %w", err)
	}
	s.tabs.setContext(created.BrowserContextID)
	var acks []*cdp.Pending
	for _, c := range append([]command{
		{target.CommandSetDiscoverTargets, target.SetDiscoverTargetsParams{
			Discover: true, Filter: target.Filter{{Type: "page"}, {Type: "iframe"}},
		}},
		{target.CommandSetAutoAttach, autoAttach()},
		{browser.CommandSetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior:         browser.SetDownloadBehaviorBehaviorDeny,
			BrowserContextID: created.BrowserContextID, EventsEnabled: &yes,
		}},
	}, denyPermissions(created.BrowserContextID)...) {
		ack, err := root.Send(c.method, c.params)
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	return waitAll(ctx, acks)
}

func waitAll(ctx context.Context, acks []*cdp.Pending) error {
	var failures []error
	for _, ack := range acks {
		failures = append(failures, ack.Wait(ctx, nil))
	}
	return errors.Join(failures...)
}

func (t *tabs) setContext(id protocol.BrowserContextID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.context = id
}
