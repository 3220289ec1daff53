package caserun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

const (
	// closeLimit bounds the end of a browser.
	closeLimit = 30 * time.Second
	// look is how often is looked.
	look = 100 * time.Millisecond
)

// Key is the owner of the environments that cases run in.
var Key = protocol.OwnerKey{Tenant: "cases", Owner: "agent"}

// Run performs the steps of the case in an environment of its own and returns
// what does not hold afterwards. What has to come, a late frame say, it awaits as
// long as its patience lasts.
func Run(ctx context.Context, t testing.TB, launcher environment.Launcher, site *Site, patience time.Duration) (problems []string) {
	t.Helper()
	r := &run{
		t: t, launcher: launcher, site: site, patience: patience,
		seen: make(map[string]*protocol.Observation), extracted: make(map[string]*protocol.Extraction),
		failed: make(map[int]*protocol.Error), kept: make(map[string]checkpoints.State),
	}
	r.open(ctx, checkpoints.State{})
	defer r.close(ctx)
	for i, step := range site.file.Steps {
		r.at = i
		r.step(ctx, step)
	}
	for _, e := range site.file.Expect {
		r.expect(ctx, e)
	}
	return r.problems
}

type run struct {
	t        testing.TB
	launcher environment.Launcher
	site     *Site
	patience time.Duration

	browser    environment.Browser
	generation protocol.Generation
	at         int

	newest    *protocol.Observation
	seen      map[string]*protocol.Observation
	extracted map[string]*protocol.Extraction
	dialogs   []protocol.Dialog
	downloads []string
	kept      map[string]checkpoints.State
	failed    map[int]*protocol.Error // by step
	problems  []string
}

func (r *run) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *run) open(ctx context.Context, state checkpoints.State) {
	r.t.Helper()
	r.generation++
	browser, _, err := r.launcher.Open(ctx, environment.Spec{Key: Key, Generation: r.generation, Loaded: &checkpoints.Loaded{State: state}})
	if err != nil {
		r.t.Fatalf("open the browser: %v", err)
	}
	r.browser, r.newest = browser, nil
}

func (r *run) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if err := r.browser.Close(ctx); err != nil {
		r.t.Errorf("close the browser: %v", err)
	}
}

// request runs one request of the agent.
func (r *run) request(ctx context.Context, kind protocol.Kind, args map[string]any) *environment.Outcome {
	r.t.Helper()
	info, ok := kind.Lookup()
	if !ok {
		return &environment.Outcome{Err: protocol.Errorf(protocol.CodeUnknownAction, "there is no action %s", kind)}
	}
	request := map[string]any{"v": 1, "kind": kind, "args": args, "observe": map[string]any{"mode": "interactive", "max_text_chars": protocol.MaxTextChars}}
	raw, err := json.Marshal(request)
	if err != nil {
		r.t.Fatal(err)
	}
	action, refused := protocol.ParseAction(raw, protocol.LaneQueue)
	if refused != nil {
		return &environment.Outcome{Err: refused}
	}
	begun := 0
	out := r.browser.Run(ctx, &action, func() error { begun++; return nil })
	if begun > 1 {
		r.problem("step %d: dispatched %d times", r.at, begun)
	}
	if out.Err != nil && (out.Err.Dispatched == protocol.DispatchedNo) != (begun == 0) && info.Effect == protocol.EffectWrite {
		r.problem("step %d: dispatched=%s after %d dispatches", r.at, out.Err.Dispatched, begun)
	}
	r.take(out)
	return out
}

// take keeps what an outcome tells.
func (r *run) take(out *environment.Outcome) {
	if o := out.Observation; o != nil {
		r.newest = o
		r.noteDialogs(o.RecentDialogs)
		r.noteDialogs(o.PendingDialogs)
	}
	if x := out.Transition; x != nil {
		r.noteDialogs(x.Dialogs)
		r.downloads = append(r.downloads, x.Downloads...)
	}
}

func (r *run) noteDialogs(all []protocol.Dialog) {
	for _, d := range all {
		if !slices.ContainsFunc(r.dialogs, func(known protocol.Dialog) bool { return known.ID == d.ID }) {
			r.dialogs = append(r.dialogs, d)
		}
	}
}

// do is a step that is one request.
func (r *run) do(ctx context.Context, kind protocol.Kind, args map[string]any) *environment.Outcome {
	r.t.Helper()
	out := r.request(ctx, kind, args)
	r.t.Logf("step %d %s %v: %s %v", r.at, kind, args, out.Verdict, out.Err)
	if out.Err != nil {
		r.failed[r.at] = out.Err
	}
	return out
}

func (r *run) observe(ctx context.Context) *protocol.Observation {
	r.t.Helper()
	out := r.request(ctx, protocol.KindObserve, map[string]any{})
	if out.Observation == nil {
		r.problem("step %d: no observation: %v", r.at, out.Err)
		return &protocol.Observation{}
	}
	return out.Observation
}

func (r *run) step(ctx context.Context, s Step) {
	r.t.Helper()
	switch s.Do {
	case "observe", "extract_text":
		r.until(ctx, func() bool { r.seen[s.As] = r.observe(ctx); return r.hasCome(s.As) })
	case "extract_table", "extract_list":
		out := r.do(ctx, protocol.Kind(s.Do), map[string]any{"index": s.Index})
		r.extracted[s.As] = out.Extraction
	case "wait":
		r.wait(ctx, s)
	case "dialog":
		r.answer(ctx, s)
	case "checkpoint":
		state, err := r.browser.Capture(ctx)
		if err != nil {
			r.problem("step %d: %v", r.at, err)
		}
		r.kept[s.As] = state
	case "restore":
		r.close(ctx)
		r.open(ctx, r.kept[s.From])
	default:
		r.act(ctx, s)
	}
}

// act builds the request of a step and performs it.
func (r *run) act(ctx context.Context, s Step) {
	r.t.Helper()
	args := map[string]any{}
	kind := protocol.Kind(s.Do)
	switch s.Do {
	case "open":
		args["url"] = s.URL
		if strings.HasPrefix(s.URL, "/") {
			args["url"] = r.site.Main() + s.URL
		}
	case "fill":
		args["value"] = s.Value
	case "type":
		args["text"] = s.Value
	case "check", "uncheck":
		kind = protocol.KindCheck
		args["checked"] = s.Do == "check"
	case "select":
		args["values"] = s.Options
	case "press":
		args["key"] = s.Key
	case "close_tab": // the newest that a page opened is current by itself
		kind, args["action"] = protocol.KindTabs, protocol.TabsClose
	case "scroll":
		height, _ := r.evaluate(ctx, `document.querySelector("[role=list],[role=feed]").clientHeight`).(float64)
		args["to"], args["pages"] = "down", s.DY/height
	}
	if s.Target.Role != "" {
		ref, from, ok := r.find(ctx, s.Target)
		if !ok {
			r.failed[r.at] = protocol.Errorf(protocol.CodeNotVisible, "%s %q is not listed", s.Target.Role, s.Target.Name)
			return
		}
		args["element_ref"], args["observation_id"] = ref, from
	}
	r.do(ctx, kind, args)
}

// find looks an element up in an older observation, or in a new one.
func (r *run) find(ctx context.Context, want Target) (protocol.Ref, protocol.ObservationID, bool) {
	r.t.Helper()
	obs := r.seen[want.From]
	if obs == nil {
		obs = r.observe(ctx)
	}
	for _, e := range obs.Elements {
		if (want.Role == "any" || e.Role == want.Role) && e.Name == want.Name && strings.Contains(frameURL(obs, e.FrameID), want.Hint.Frame) {
			return e.Ref, obs.ID, true
		}
	}
	if slices.Contains([]string{"feed", "list"}, want.Role) && len(obs.Elements) > 0 {
		return obs.Elements[0].Ref, obs.ID, true // what is in it scrolls it
	}
	r.t.Logf("step %d: %s %q is not among %v", r.at, want.Role, want.Name, lines(obs))
	return "", "", false
}

// frameURL is the URL of a frame, or of the page.
func frameURL(obs *protocol.Observation, id protocol.FrameID) string {
	if id != "" && obs.FrameTree != nil {
		for _, f := range obs.FrameTree.Children {
			if f.FrameID == id {
				return f.URL
			}
		}
	}
	return obs.URL
}

// hasCome says whether an observation lists what it is expected to.
func (r *run) hasCome(as string) bool {
	return !slices.ContainsFunc(r.site.file.Expect, func(e Expect) bool {
		return e.Observe == as && (e.Kind == "listed" || e.Kind == "count_listed") && !isListed(r.seen[as], e)
	})
}

func (r *run) wait(ctx context.Context, s Step) {
	r.t.Helper()
	switch {
	case s.For.Listed != nil:
		r.until(ctx, func() bool { _, _, ok := r.find(ctx, *s.For.Listed); return ok })
	case s.For.Tabs > 0:
		r.until(ctx, func() bool { return r.tabs(ctx) == s.For.Tabs })
	case s.For.Download > 0:
		r.until(ctx, func() bool { r.observe(ctx); return len(r.downloads) >= s.For.Download })
	case s.For.Text != "":
		r.do(ctx, protocol.KindWait, map[string]any{"until": "text", "text": s.For.Text})
	case s.For.URLEnds != "":
		r.do(ctx, protocol.KindWait, map[string]any{"until": "url", "url": s.For.URLEnds})
	default:
		pause(ctx, time.Duration(s.For.MS)*time.Millisecond)
	}
}

// until looks again and again; what did not come, an expectation will miss.
func (r *run) until(ctx context.Context, holds func() bool) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	for !holds() && ctx.Err() == nil {
		pause(ctx, look)
	}
}

// answer answers the dialog that is open, or that opens soon.
func (r *run) answer(ctx context.Context, s Step) {
	r.t.Helper()
	var pending []protocol.Dialog
	r.until(ctx, func() bool { pending = r.observe(ctx).PendingDialogs; return len(pending) > 0 })
	if len(pending) == 0 {
		r.problem("step %d: no dialog is open", r.at)
		return
	}
	args := map[string]any{"dialog_id": pending[0].ID, "action": "dismiss"}
	if s.Accept {
		args["action"] = "accept"
	}
	if s.Text != nil {
		args["prompt_text"] = *s.Text
	}
	r.do(ctx, "dialog", args)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func lines(o *protocol.Observation) []string {
	var all []string
	for _, e := range o.Elements {
		all = append(all, fmt.Sprintf("%s %q %v", e.Role, e.Name, e.States))
	}
	return all
}
