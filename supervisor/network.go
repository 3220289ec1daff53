package supervisor

import (
	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/browser"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// maxRequests bounds the requests in flight that are known per session.
const maxRequests = 4096

// request is what is kept of a request in flight.
type request struct {
	frame  protocol.FrameID
	loader protocol.LoaderID
	url    string
	kind   network.ResourceType
}

// FailedRequest is one that got no response: blocked, refused by the proxy's
// tunnel, not resolved. Those that the page cancelled are not among them.
type FailedRequest struct {
	URL     string
	Type    network.ResourceType
	Error   string // such as net::ERR_TUNNEL_CONNECTION_FAILED
	Blocked network.BlockedReason
}

// Download is one that was refused.
type Download struct {
	URL      string
	FileName string // as the site suggested it: not a path to trust
	FrameID  protocol.FrameID
}

func (p *Page) onRequest(a *attached, e cdp.Event) error {
	var v struct {
		RequestID network.RequestID    `json:"requestId"`
		LoaderID  protocol.LoaderID    `json:"loaderId"`
		FrameID   protocol.FrameID     `json:"frameId"`
		Type      network.ResourceType `json:"type"`
		Request   struct {
			URL string `json:"url"`
		} `json:"request"`
	}
	if err := e.Decode(&v); err != nil {
		return err
	}
	if pid := requestPID(string(v.RequestID)); pid != 0 {
		a.pid = pid
	}
	// An event source stays open for ever; it says nothing about settling.
	if v.Type == network.ResourceTypeEventSource || len(a.requests) >= maxRequests {
		return nil
	}
	url, _ := clip(v.Request.URL, 512)
	a.requests[v.RequestID] = request{frame: v.FrameID, loader: v.LoaderID, url: url, kind: v.Type}
	return nil
}

func (p *Page) onRequestFinished(a *attached, e cdp.Event) error {
	var v struct {
		RequestID network.RequestID `json:"requestId"`
	}
	if err := e.Decode(&v); err != nil {
		return err
	}
	delete(a.requests, v.RequestID)
	return nil
}

func (p *Page) onRequestFailed(a *attached, e cdp.Event) error {
	var v network.EventLoadingFailed
	if err := e.Decode(&v); err != nil {
		return err
	}
	r, known := a.requests[v.RequestID]
	delete(a.requests, v.RequestID)
	if known && !v.Canceled {
		failed := FailedRequest{URL: r.url, Type: r.kind, Error: v.ErrorText, Blocked: v.BlockedReason}
		p.tell(func(h *Happened) { h.Failed = bounded(h, h.Failed, failed) })
	}
	return nil
}

// forgetRequests drops those of a frame's earlier documents: no event ends them.
func (a *attached) forgetRequests(frame protocol.FrameID, loader protocol.LoaderID) {
	for id, r := range a.requests {
		if r.frame == frame && r.loader != loader {
			delete(a.requests, id)
		}
	}
}

func (p *Page) inFlight() int {
	total := 0
	for _, a := range p.sessions {
		if a.page == p {
			total += len(a.requests)
		}
	}
	return total
}

func (t *tabs) onDownload(e cdp.Event) error {
	var v browser.EventDownloadWillBegin
	if err := e.Decode(&v); err != nil {
		return err
	}
	url, _ := clip(v.URL, maxURL)
	name, _ := clip(v.SuggestedFilename, 256)
	d := Download{URL: url, FileName: name, FrameID: v.FrameID}
	p := t.withFrame(v.FrameID)
	if p == nil {
		if len(t.pages) == 0 {
			return nil
		}
		p = t.pages[0]
	}
	defer p.touch()
	p.downloads = ring(p.downloads, d, recentDownloads)
	p.tell(func(h *Happened) { h.Downloads = bounded(h, h.Downloads, d) })
	return nil
}
