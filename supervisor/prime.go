package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
)

// ErrProxyAuth: the context could not present its credential to its proxy.
var ErrProxyAuth = errors.New("supervisor: the proxy did not take the environment's credential")

// blank is where the page waits for its first real navigation.
const blank = "about:blank"

// priming is the one time that the context is asked for its proxy credential.
// Chromium then keeps it for HTTP and WebSocket in this context alone, also after
// Fetch.disable. (A credential inside proxyServer makes every load fail.)
type priming struct {
	auth     ProxyAuth
	answered bool
	refused  bool // asked again: the credential is wrong
}

// primeProxy loads the prime URL through the proxy, answers the challenge, and
// brings the page back to an empty history.
func (p *Page) primeProxy(ctx context.Context) error {
	if p.config.ProxyAuth == nil {
		return nil
	}
	state := &priming{auth: *p.config.ProxyAuth}
	p.setPriming(state)
	defer p.setPriming(nil)
	yes := true
	_, err := protocol.Call(ctx, p, fetch.Enable, fetch.EnableParams{HandleAuthRequests: &yes})
	if err != nil {
		return fmt.Errorf("supervisor: prime the proxy: %w", err)
	}
	// The outcome of the load itself does not matter, the proxy may answer
	// anything; that it was asked once and was content does.
	res, err := protocol.Call(ctx, p, page.Navigate, page.NavigateParams{URL: p.config.PrimeURL})
	if err != nil {
		return fmt.Errorf("supervisor: prime the proxy: %w", err)
	}
	p.mu.Lock()
	content := state.answered && !state.refused
	p.mu.Unlock()
	if !content {
		return fmt.Errorf("%w (load of the prime URL: %q)", ErrProxyAuth, res.ErrorText)
	}
	if _, err := protocol.Call(ctx, p, fetch.Disable, protocol.Empty{}); err != nil {
		return fmt.Errorf("supervisor: prime the proxy: %w", err)
	}
	return p.startOver(ctx)
}

// startOver goes back to an empty page with an empty history.
func (p *Page) startOver(ctx context.Context) error {
	res, err := protocol.Call(ctx, p, page.Navigate, page.NavigateParams{URL: blank})
	if err != nil {
		return fmt.Errorf("supervisor: start over: %w", err)
	}
	_, err = p.Await(ctx, func(s *Snapshot) bool { return s.LoaderID == res.LoaderID && s.Lifecycle.Load })
	if err != nil {
		return err
	}
	if _, err := protocol.Call(ctx, p, page.ResetNavigationHistory, protocol.Empty{}); err != nil {
		return fmt.Errorf("supervisor: start over: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.console, p.downloads, p.popups, p.commits = consoleLog{}, nil, nil, 0
	p.touch()
	return nil
}

func (p *Page) setPriming(state *priming) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prime = state
}

func (p *Page) onAuthRequired(a *attached, e cdp.Event) error {
	var v fetch.EventAuthRequired
	if err := e.Decode(&v); err != nil {
		return err
	}
	response := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
	fromProxy := v.AuthChallenge != nil && v.AuthChallenge.Source == fetch.AuthChallengeSourceProxy
	switch {
	case p.prime == nil || !fromProxy:
	case p.prime.answered:
		p.prime.refused = true
	default:
		p.prime.answered = true
		response = &fetch.AuthChallengeResponse{
			Response: fetch.AuthChallengeResponseResponseProvideCredentials,
			Username: p.prime.auth.User, Password: p.prime.auth.Password,
		}
	}
	p.post(a.session, fetch.CommandContinueWithAuth, fetch.ContinueWithAuthParams{
		RequestID: v.RequestID, AuthChallengeResponse: response,
	})
	return nil
}

// onRequestPaused lets the page's requests pass while the proxy is primed. What
// a refused popup asks for stays paused until the popup is gone. (A layer that
// enables Fetch on the page itself has to continue its own requests: outside of
// priming they are not touched here.)
func (p *Page) onRequestPaused(a *attached, e cdp.Event) error {
	if p.prime == nil || a.kind != kindPage {
		return nil
	}
	var v struct {
		RequestID fetch.RequestID `json:"requestId"`
	}
	if err := e.Decode(&v); err != nil {
		return err
	}
	p.post(a.session, fetch.CommandContinueRequest, fetch.ContinueRequestParams{RequestID: v.RequestID})
	return nil
}
