package action

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/page"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

func (r *run) back(ctx context.Context, _ protocol.Action) *protocol.Error { return r.travel(ctx, -1) }

func (r *run) forward(ctx context.Context, _ protocol.Action) *protocol.Error {
	return r.travel(ctx, +1)
}

// travel goes to a neighbouring history entry, of another document or of this
// one (history API, fragments).
func (r *run) travel(ctx context.Context, step int64) *protocol.Error {
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	var history page.GetNavigationHistoryResult
	pending, err := r.page.Send(page.CommandGetNavigationHistory, nil)
	if err == nil {
		err = observation.Await(acting, r.page, pending, &history)
	}
	if err != nil {
		return r.fail(acting, "read the history", err)
	}
	at := history.CurrentIndex + step
	// The page that a tab starts with is no place to go back to.
	if at < 0 || at >= int64(len(history.Entries)) || (at == 0 && history.Entries[0].URL == "about:blank") {
		return protocol.Errorf(protocol.CodeNoHistory, "")
	}
	return r.navigate(ctx, command{page.CommandNavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: history.Entries[at].ID}})
}

func (r *run) reload(ctx context.Context, _ protocol.Action) *protocol.Error {
	return r.navigate(ctx, command{page.CommandReload, page.ReloadParams{}})
}

// navigate sends a command that leads to another document or entry, and waits.
func (r *run) navigate(ctx context.Context, c command) *protocol.Error {
	if refused := r.begin(); refused != nil {
		return refused
	}
	loading, cancel := limit(ctx, navigationLimit)
	defer cancel()
	pending, err := r.page.Send(c.method, c.params)
	if err == nil {
		err = r.awaitNavigation(loading, pending, nil)
	}
	if r.before.Crashed && (err == nil || errors.Is(err, cdp.ErrCrashed)) {
		return r.awaitRevival(ctx)
	}
	if err == nil {
		_, err = observation.Until(loading, r.page, func(s observation.State) bool {
			return s.Commits != r.before.Commits || s.SameDocument != r.before.SameDocument
		})
	}
	if err == nil {
		err = r.awaitDocument(ctx)
	}
	if err == nil || errors.Is(err, observation.ErrDialog) {
		return r.settled(0)
	}
	return r.stopLoading(r.fail(loading, "navigate", err))
}
