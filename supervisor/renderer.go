package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
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
//
// A frame of another process whose dialog is open loses its process first: it must
// not be removed while its dialog is open.
func (p *Page) EndRenderer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	if err := p.endAskingFrames(ctx); err != nil {
		return err
	}
	return p.end(ctx, p.pageSession)
}

// endAskingFrames ends the processes of cross-site frames that ask, or did so last.
func (p *Page) endAskingFrames(ctx context.Context) error {
	p.mu.Lock()
	var asking []*attached
	for _, id := range append(p.askers(), p.storm.frame) {
		f := p.frames.byID[id]
		if f == nil {
			continue
		}
		if a := p.sessions[f.Session]; a != nil && a.kind == kindIframe && !slices.Contains(asking, a) {
			asking = append(asking, a)
		}
	}
	p.mu.Unlock()
	var failures []error
	for _, a := range asking {
		failures = append(failures, p.end(ctx, a))
	}
	return errors.Join(failures...)
}

// askers are the frames whose dialogs are open. Callers hold mu.
func (p *Page) askers() (ids []protocol.FrameID) {
	for _, d := range p.open {
		ids = append(ids, d.FrameID)
	}
	return ids
}

// end ends the process of a session.
func (p *Page) end(ctx context.Context, a *attached) error {
	p.mu.Lock()
	pid := a.pid
	p.mu.Unlock()
	if p.hasEnded(ctx, a, 0) {
		return nil
	}
	if !p.killRenderer(pid) {
		p.post(a.session, page.CommandCrash, nil)
		if p.hasEnded(ctx, a, crashPatience) {
			return nil
		}
		for _, pid := range p.unclaimed(ctx, a) {
			p.killRenderer(pid)
		}
	}
	return p.awaitEnd(ctx, a)
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

func (p *Page) awaitEnd(ctx context.Context, a *attached) error {
	err := p.tabs.await(ctx, func() (bool, error) {
		return a.crashed || p.gone || p.sessions[a.session.ID()] != a, nil
	})
	if err != nil {
		return fmt.Errorf("supervisor: end a renderer of %s: %w", p.id, err)
	}
	return nil
}

// hasEnded waits so long for the crash.
func (p *Page) hasEnded(ctx context.Context, a *attached, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.awaitEnd(ctx, a) == nil
}

// unclaimed are the renderers that no other session has: this one's, spare ones, and
// those of sessions that cannot say because they do not answer either.
func (p *Page) unclaimed(ctx context.Context, of *attached) []int {
	if p.process == nil {
		return nil
	}
	all := p.process.Children(chromium.Renderers)
	claimed := make(map[int]bool)
	var asked []*attached
	p.mu.Lock()
	for _, a := range p.sessions {
		switch {
		case a == of || a.page == nil || a.kind != kindPage && a.kind != kindIframe:
		case a.page == p && of.kind == kindPage: // its frames end with it
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
