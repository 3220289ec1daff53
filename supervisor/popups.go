package supervisor

import (
	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// PopupPolicy says what becomes of a window that a page opens.
type PopupPolicy int

const (
	// PopupsDeny closes it and records its URL.
	PopupsDeny PopupPolicy = iota
	// PopupsAdopt makes a tab of it, up to 16 in all; further ones are refused.
	PopupsAdopt
)

// Popup is a window that a page wanted and did not get.
type Popup struct {
	URL    string // may be empty when the page gave none
	Opener protocol.FrameID
}

// opening is a Page.windowOpen whose popup has not attached yet.
type opening struct {
	url  string
	page *Page
}

// onPopup adopts or refuses a window that none of us opened.
func (t *tabs) onPopup(a *attached, info *target.Info) {
	ours := info.Subtype == "" && info.BrowserContextID == t.context // not prerendered, not another's
	if !ours {
		t.closePopup(a, info)
		return
	}
	url, opener := t.openedBy(info)
	if opener == nil {
		opener = t.withTarget(info.OpenerID)
	}
	if t.config.Popups == PopupsAdopt && len(t.pages) < maxTabs {
		p, acks, _ := t.adopt(a, url, opener) // one that cannot be set up is gone again
		for _, ack := range acks {
			ack.Forget()
		}
		t.tellAll(func(h *Happened) { h.TabsOpened = bounded(h, h.TabsOpened, p.id) })
		return
	}
	t.closePopup(a, info)
	if opener == nil {
		if len(t.pages) == 0 {
			return
		}
		opener = t.pages[0] // its opener is gone, or never told
	}
	popup := Popup{Opener: info.OpenerFrameID}
	popup.URL, _ = clip(url, maxURL)
	opener.popups = ring(opener.popups, popup, recentPopups)
	opener.tell(func(h *Happened) { h.Popups = bounded(h, h.Popups, popup) })
	opener.touch()
}

// closePopup refuses a window. A popup that can reach its opener is paused together
// with the opener's renderer: the three commands go out at once, and interception
// keeps it from loading anything between its release and its end. (Nearly: under
// load a request can get away, so the proxy has to be the guard.) One that cannot
// (noopener) blocks nobody and is never released.
func (t *tabs) closePopup(a *attached, info *target.Info) {
	a.kind = kindPopup
	t.sessions[a.session.ID()] = a
	if info.CanAccessOpener {
		everything := []*fetch.RequestPattern{{URLPattern: "*"}}
		t.post(a.session, fetch.CommandEnable, fetch.EnableParams{Patterns: everything})
		t.post(a.session, runtime.CommandRunIfWaitingForDebugger, nil)
	}
	t.post(t.conn.Session(""), target.CommandCloseTarget, target.CloseTargetParams{TargetID: info.TargetID})
}

// openedBy is where a popup wanted to go and whose it is: what the target says,
// else the newest Page.windowOpen that no popup has claimed yet.
func (t *tabs) openedBy(info *target.Info) (string, *Page) {
	known := info.URL != "" && info.URL != blank
	for i := len(t.opening) - 1; i >= 0; i-- {
		if o := t.opening[i]; !known || o.url == info.URL {
			t.opening = append(t.opening[:i:i], t.opening[i+1:]...)
			return o.url, o.page
		}
	}
	return info.URL, nil
}

// onWindowOpen comes before its popup attaches and has the URL, which a paused
// target does not know yet.
func (p *Page) onWindowOpen(_ *attached, e cdp.Event) error {
	var v page.EventWindowOpen
	if err := e.Decode(&v); err != nil {
		return err
	}
	p.opening = ring(p.opening, opening{v.URL, p}, recentPopups)
	return nil
}
