package action

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// errorPageLimit is how long to wait for Chromium's error page, which commits
// after the reply that says why.
const errorPageLimit = time.Second

// open navigates. The caller's policy has admitted the URL. It works on a
// crashed page, which it revives, and in front of a dialog, which it closes.
func (r *run) open(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.OpenArgs)
	if refused := r.begin(); refused != nil {
		return refused
	}
	loading, cancel := limit(ctx, navigationLimit)
	defer cancel()
	pending, err := r.page.Send(page.CommandNavigate, page.NavigateParams{URL: args.URL})
	if err != nil {
		r.sent = false
		return r.fail(loading, "navigate", err)
	}
	var reply page.NavigateResult
	err = r.awaitNavigation(loading, pending, &reply)
	if r.before.Crashed && (err == nil && reply.ErrorText == "" || errors.Is(err, cdp.ErrCrashed)) {
		return r.awaitRevival(ctx)
	}
	if err != nil {
		if errors.Is(err, observation.ErrDialog) {
			return r.settled(0)
		}
		return r.stopLoading(r.fail(loading, "open", err))
	}
	if reply.ErrorText == errAborted && !reply.IsDownload {
		if err := r.survives(loading); err != nil {
			return r.fail(loading, "open", err)
		}
	}
	if reply.ErrorText != "" || reply.IsDownload {
		return r.loadError(loading, &reply)
	}
	return r.awaitLoad(ctx, string(reply.LoaderID))
}

// awaitNavigation waits for the reply to Page.navigate, which comes when the
// server has answered. A dialog or crash of before is no obstacle; a new one is.
func (r *run) awaitNavigation(ctx context.Context, pending *cdp.Pending, reply any) error {
	return observation.AwaitUnless(ctx, r.page, pending, reply, func(s observation.State) error {
		switch {
		case s.Gone:
			return observation.ErrLost
		case r.isAsked(s):
			return observation.ErrDialog
		}
		return nil
	})
}

// awaitLoad waits for DOMContentLoaded of the document, or of one that took its
// place. Without a loader the navigation stayed within the document.
func (r *run) awaitLoad(ctx context.Context, loader string) *protocol.Error {
	if loader == "" {
		return r.settled(0)
	}
	loading, cancel := limit(ctx, navigationLimit)
	defer cancel()
	_, err := observation.Until(loading, r.page, func(s observation.State) bool { return s.Commits != r.before.Commits })
	if err == nil {
		err = r.awaitDocument(ctx)
	}
	if err == nil || errors.Is(err, observation.ErrDialog) {
		return r.settled(0)
	}
	return r.stopLoading(r.fail(loading, "load", err).WithDispatched(protocol.DispatchedYes))
}

// awaitRevival waits for the document that a crashed page is given. The reply to
// the navigation comes before the news that the page lives, or is lost: a crash is
// told twice, by the session and by the browser, and the second telling fails what
// was sent after the first. The navigation itself goes on.
func (r *run) awaitRevival(ctx context.Context) *protocol.Error {
	loading, cancel := limit(ctx, navigationLimit)
	defer cancel()
	for s := r.page.State(); s.Crashed; s = r.page.State() {
		if err := r.page.Next(loading, s); err != nil {
			return r.fail(loading, "open", err)
		}
	}
	return r.awaitLoad(ctx, "unknown")
}

// errAborted is what Chromium answers for a document that did not come: of a 204,
// and also when the page's process died while its server was asked.
const errAborted = "net::ERR_ABORTED"

// survives asks the page's process for something, and is its end where there is
// one: the news of that comes after the reply to the navigation.
func (r *run) survives(ctx context.Context) error {
	ctx, cancel := limit(ctx, errorPageLimit)
	defer cancel()
	pending, err := r.page.Send(runtime.CommandGetHeapUsage, nil)
	if err == nil {
		err = observation.Await(ctx, r.page, pending, nil)
	}
	if errors.Is(err, observation.ErrCrashed) || errors.Is(err, cdp.ErrCrashed) || errors.Is(err, observation.ErrLost) {
		return err
	}
	return nil // what holds it up otherwise is no reason to think it dead
}

// settled ends an action without looking for changes in the page. A page whose
// dialog nobody can answer any more has not arrived anywhere: its browser is lost.
func (r *run) settled(changes int) *protocol.Error {
	if d := r.page.State().Dialog; d != nil && d.State == protocol.DialogOrphaned {
		return protocol.Errorf(protocol.CodeBrowserLost, "a dialog of the page stood in the way, and nobody can answer it any more").
			WithDispatched(protocol.DispatchedUnknown)
	}
	r.did.Dispatched = protocol.DispatchedYes
	r.did.Dispatch = r.lap()
	r.did.Verdict = r.verdict(changes)
	return nil
}

// stopLoading keeps a page that took too long from changing after the answer.
func (r *run) stopLoading(e *protocol.Error) *protocol.Error {
	if e.Code == protocol.CodeActionTimeout {
		if pending, err := r.page.Send(page.CommandStopLoading, nil); err == nil {
			pending.Forget()
		}
	}
	return e
}

// loadError maps Chromium's net errors. Its error page, if it shows one, is
// waited for, so that the observation that follows is not of the former page.
func (r *run) loadError(ctx context.Context, reply *page.NavigateResult) *protocol.Error {
	text := reply.ErrorText
	code := netErrorCode(text, reply.IsDownload)
	if code != protocol.CodeNoContent && code != protocol.CodeDownloadRefused {
		waiting, cancel := limit(ctx, errorPageLimit)
		defer cancel()
		_, _ = observation.Until(waiting, r.page, func(s observation.State) bool {
			return s.Commits != r.before.Commits && s.Ready()
		})
	}
	return protocol.Errorf(code, "%s", observation.Cut(text, 100)).WithDispatched(protocol.DispatchedYes)
}

func netErrorCode(text string, download bool) protocol.Code {
	switch {
	case download:
		return protocol.CodeDownloadRefused
	case text == errAborted:
		return protocol.CodeNoContent // 204, 205, or the page kept us
	case text == "net::ERR_TOO_MANY_REDIRECTS":
		return protocol.CodeTooManyRedirects
	case strings.HasPrefix(text, "net::ERR_CERT_"), strings.HasPrefix(text, "net::ERR_SSL_"), strings.HasPrefix(text, "net::ERR_BAD_SSL_"):
		return protocol.CodeBadTLS
	case text == "net::ERR_INVALID_AUTH_CREDENTIALS": // the full browser's answer to a 401
		return protocol.CodeAuthRequired
	case strings.HasPrefix(text, "net::ERR_BLOCKED_BY_"):
		return protocol.CodePolicyDenied
	}
	return protocol.CodeNavigationFailed
}
