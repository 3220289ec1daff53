package supervisor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/chromedp/cdproto/page"
)

const (
	// endLimit bounds the end of a renderer, until the browser has told of it.
	endLimit = 15 * time.Second
	// crashPatience is how long Page.crash may take: it interrupts a script that
	// loops (70 to 400 ms, measured on 156), but not a process that is stopped, nor
	// native code.
	crashPatience = time.Second
	// ownPatience is how long other tabs may take to say which process is theirs: who
	// does not loses it.
	ownPatience = 5 * time.Second
)

// renderers are the processes of a browser's pages.
type renderers interface {
	Children(kind string) []int
	KillChild(pid int)
	Kill()
}

// EndRenderer ends the process of a page, whatever it does: it loops, it is stopped,
// it asks again and again. The page has crashed then; browser, cookies, storage and
// history stay, and Page.navigate revives it. Only the tabs that share the process
// crash with it. It returns when the browser has told of the crash, or fails after
// endLimit.
//
// A pid is in no message of the protocol. But Blink's names for requests begin
// with it (attached.pid), which every page that loads more than its document tells.
// For others Page.crash does, unless the process takes no commands at all; then it
// is one of those that no other tab has.
func (p *Page) EndRenderer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	if p.hasEnded(ctx, 0) {
		return nil
	}
	p.mu.Lock()
	pid := p.pageSession.pid
	p.mu.Unlock()
	if p.killRenderer(pid) {
		return p.awaitEnd(ctx)
	}
	p.post(p.session, page.CommandCrash, nil)
	if p.hasEnded(ctx, crashPatience) {
		return nil
	}
	for _, pid := range p.unclaimed(ctx) {
		p.killRenderer(pid)
	}
	return p.awaitEnd(ctx)
}

// StartEndRenderer is EndRenderer without waiting for it. A browser that does not
// even tell of the crash is killed.
func (p *Page) StartEndRenderer() {
	select {
	case <-p.lost:
	default:
		p.workers.Go(p.runEndRenderer)
	}
}

func (p *Page) runEndRenderer() {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	if p.EndRenderer(ctx) != nil && p.process != nil {
		p.process.Kill()
	}
}

// killRenderer ends a process if it is a renderer of this browser.
func (t *tabs) killRenderer(pid int) bool {
	if t.process == nil || pid == 0 || !slices.Contains(t.process.Children(chromium.Renderers), pid) {
		return false
	}
	t.process.KillChild(pid)
	return true
}

func (p *Page) awaitEnd(ctx context.Context) error {
	if _, err := p.Await(ctx, func(s *Snapshot) bool { return s.Crashed || s.Gone }); err != nil {
		return fmt.Errorf("supervisor: end the renderer of %s: %w", p.id, err)
	}
	return nil
}

// hasEnded waits so long for the crash.
func (p *Page) hasEnded(ctx context.Context, patience time.Duration) bool {
	if patience == 0 {
		s := p.Snapshot()
		return s.Crashed || s.Gone
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.awaitEnd(ctx) == nil
}

// unclaimed are the renderers that no other tab has: this one's, spare ones, and
// those of tabs that cannot say because they do not answer either.
func (p *Page) unclaimed(ctx context.Context) []int {
	if p.process == nil {
		return nil
	}
	all := p.process.Children(chromium.Renderers)
	claimed := make(map[int]bool)
	var asked []*attached
	p.mu.Lock()
	for _, a := range p.sessions {
		switch {
		case a.page == nil || a.page == p || a.kind != kindPage && a.kind != kindIframe:
		case a.pid != 0:
			claimed[a.pid] = true
		case !a.crashed && !a.probe.late && !a.page.stopped():
			asked = append(asked, a)
		}
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, ownPatience)
	defer cancel()
	maps.Copy(claimed, askPIDs(ctx, asked))
	return slices.DeleteFunc(all, func(pid int) bool { return claimed[pid] })
}

// askPIDs asks renderers for the name of a style sheet that only the inspector sees,
// and turns that off again. What does not answer in time has no process.
func askPIDs(ctx context.Context, asked []*attached) map[int]bool {
	enabled := make([]*cdp.Pending, 0, len(asked))
	for _, a := range asked {
		a.forget("DOM.enable")
		if pending, err := a.session.Send("CSS.enable", nil); err == nil {
			enabled = append(enabled, pending)
		}
	}
	_ = waitAll(ctx, enabled) // not before that is there anything to name
	named := make([]*cdp.Pending, 0, len(asked))
	for _, a := range asked {
		// A session's first frame has its target's id.
		if pending, err := a.session.Send("CSS.createStyleSheet", map[string]any{"frameId": a.target}); err == nil {
			named = append(named, pending)
		}
		a.forget("CSS.disable")
		a.forget("DOM.disable")
	}
	pids := make(map[int]bool)
	for _, pending := range named {
		var reply struct {
			ID string `json:"styleSheetId"`
		}
		if pending.Wait(ctx, &reply) == nil {
			pids[sheetPID(reply.ID)] = true
		}
	}
	return pids
}

// forget sends a command whose reply nobody needs.
func (a *attached) forget(method string) {
	if pending, err := a.session.Send(method, nil); err == nil {
		pending.Forget()
	}
}

// requestPID is the process in the name of a request, "PID.N"; 0 where the browser
// named it.
func requestPID(id string) int { return leadingPID(id, ".") }

// sheetPID is the process in the name of a style sheet, "style-sheet-PID-N".
func sheetPID(id string) int { return leadingPID(strings.TrimPrefix(id, "style-sheet-"), "-") }

func leadingPID(id, end string) int {
	digits, _, ok := strings.Cut(id, end)
	pid, err := strconv.Atoi(digits)
	if !ok || err != nil || pid < 0 {
		return 0
	}
	return pid
}
