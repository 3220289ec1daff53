package supervisor

import (
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

const (
	recentPrints = 20
	// printBinding is how the isolated world tells of a print. The page's own
	// scripts do not see it.
	printBinding = "browserfleetPrint"
	// printScript reports window.print(): headless browsers print nothing and tell
	// nobody, but they do fire beforeprint (measured on 156). An event that the
	// page made up is not trusted.
	printScript = `addEventListener("beforeprint", (e) => { if (e.isTrusted) globalThis.` + printBinding + `?.(""); }, true);
//# sourceURL=browserfleet-print.js`
)

// Print is a page's wish to be printed, which nothing came of.
type Print struct {
	FrameID protocol.FrameID
	URL     string
	At      time.Time
}

// printCommands install the report in a session's documents.
func (p *Page) printCommands() []command {
	yes := true
	return []command{
		{runtime.CommandAddBinding, runtime.AddBindingParams{Name: printBinding, ExecutionContextName: p.config.WorldName}},
		{page.CommandAddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: printScript, WorldName: p.config.WorldName, RunImmediately: &yes,
		}},
	}
}

func (p *Page) onBindingCalled(a *attached, e cdp.Event) error {
	var v runtime.EventBindingCalled
	if err := e.Decode(&v); err != nil {
		return err
	}
	if v.Name != printBinding {
		return nil
	}
	print := Print{At: time.Now()}
	for id, w := range a.worlds {
		if w.ContextID == v.ExecutionContextID {
			print.FrameID = id
		}
	}
	if f := p.frames.byID[print.FrameID]; f != nil {
		print.URL = f.URL
	}
	p.prints = ring(p.prints, print, recentPrints)
	p.tell(func(h *Happened) { h.Prints = bounded(h, h.Prints, print) })
	return nil
}
