package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/protocol"
)

// steps are what an owner can do. A step that needs something that the newest
// page does not have looks, or goes home, instead.
var steps map[Step]func(*agent, context.Context)

func init() { // the steps use each other
	steps = map[Step]func(*agent, context.Context){
		StepOpen:       (*agent).open,
		StepObserve:    (*agent).observe,
		StepFill:       (*agent).fill,
		StepPress:      (*agent).press,
		StepClick:      (*agent).click,
		StepScroll:     (*agent).scroll,
		StepScreenshot: (*agent).screenshot,
		StepLinks:      (*agent).links,
		StepPing:       (*agent).ping,
		StepPipelined:  (*agent).pipelined,
		StepResend:     (*agent).resend,
		StepMalformed:  (*agent).malformed,
		StepCancel:     (*agent).cancel,
	}
}

func (a *agent) open(ctx context.Context) {
	a.do(ctx, "open", protocol.KindOpen, &protocol.OpenArgs{URL: a.site.page(a.rng)})
}

// observe looks; a page that was never opened is opened.
func (a *agent) observe(ctx context.Context) {
	if a.last == nil {
		a.open(ctx)
		return
	}
	a.do(ctx, "observe", protocol.KindObserve, &protocol.ObserveArgs{}, client.WithObserve(protocol.ObserveOptions{Mode: protocol.ModeInteractive}))
}

// searchField is the ref of the page's search field, if refs hold.
func (a *agent) searchField() protocol.Ref {
	if a.shown == nil {
		return ""
	}
	return a.site.searchField(a.shown)
}

func (a *agent) fill(ctx context.Context) {
	ref := a.searchField()
	if ref == "" {
		a.look(ctx)
		return
	}
	a.do(ctx, "fill", protocol.KindFill, &protocol.FillArgs{Target: protocol.Target{ElementRef: ref}, Value: a.site.word(a.rng)})
}

func (a *agent) press(ctx context.Context) {
	ref := a.searchField()
	if ref == "" {
		a.look(ctx)
		return
	}
	a.do(ctx, "press", protocol.KindPress, &protocol.PressArgs{Target: protocol.Target{ElementRef: ref}, Key: "Enter"})
}

func (a *agent) click(ctx context.Context) {
	if a.shown == nil {
		a.look(ctx)
		return
	}
	ref := a.site.link(a.shown, a.rng)
	if ref == "" {
		a.open(ctx)
		return
	}
	a.do(ctx, "click", protocol.KindClick, &protocol.ClickArgs{Target: protocol.Target{ElementRef: ref}})
}

// look gets a page with a search field: by looking if nothing is known, else by
// going home.
func (a *agent) look(ctx context.Context) {
	if a.shown == nil && a.last != nil {
		a.observe(ctx)
		return
	}
	a.open(ctx)
}

func (a *agent) scroll(ctx context.Context) {
	a.do(ctx, "scroll", protocol.KindScroll, &protocol.ScrollArgs{To: "down"})
}

func (a *agent) screenshot(ctx context.Context) {
	a.do(ctx, "screenshot", protocol.KindScreenshot, &protocol.ScreenshotArgs{Quality: 50})
}

func (a *agent) links(ctx context.Context) {
	a.do(ctx, "extract_links", protocol.KindExtractLinks, &protocol.ExtractArgs{Limit: 20})
}

func (a *agent) ping(ctx context.Context) {
	a.do(ctx, "ping", protocol.KindPing, nil)
}

// resend sends the newest answered request again, as a client does whose
// connection broke before the answer came.
func (a *agent) resend(ctx context.Context) {
	if a.last == nil {
		a.open(ctx)
		return
	}
	a.send(ctx, "resend", *a.last, repeated)
}

// depth of a pipeline.
const depth = 4

// pipelined sends several actions without waiting, and then hears the answers.
// Which is stored first is up to the network; the fleet keeps that order.
func (a *agent) pipelined(ctx context.Context) {
	reqs := make([]protocol.Request, 0, depth)
	for i := range depth {
		kind, args := protocol.KindObserve, protocol.Args(&protocol.ObserveArgs{})
		if i%2 == 0 {
			kind, args = protocol.KindScroll, &protocol.ScrollArgs{To: "bottom"}
		}
		req, err := protocol.NewRequest(kind, args, time.Now())
		if err != nil {
			a.fail(err)
			return
		}
		reqs = append(reqs, req)
	}
	for _, got := range a.runAll(ctx, reqs) {
		a.heard("pipelined", got, asked)
	}
}

// runAll runs requests at the same time.
func (a *agent) runAll(ctx context.Context, reqs []protocol.Request) []answer {
	answers := make([]answer, len(reqs))
	var running sync.WaitGroup
	for i, req := range reqs {
		running.Go(func() { answers[i] = a.ask(ctx, req) })
	}
	running.Wait()
	return answers
}

func (a *agent) publishRequest(ctx context.Context, kind protocol.Kind, args protocol.Args) (protocol.RequestID, bool) {
	req, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		a.fail(err)
		return "", false
	}
	body, err := json.Marshal(req)
	if err != nil {
		a.fail(err)
		return "", false
	}
	return a.publish(ctx, protocol.LaneQueue, body)
}

// cancel queues an action behind a slow one and cancels it. The cancel may come
// too late; it is answered then, too.
func (a *agent) cancel(ctx context.Context) {
	begun := time.Now()
	slow, ok := a.publishRequest(ctx, protocol.KindOpen, &protocol.OpenArgs{URL: a.site.slow()})
	if !ok {
		return
	}
	victim, queued := a.publishRequest(ctx, protocol.KindObserve, &protocol.ObserveArgs{})
	if queued {
		req, err := protocol.NewRequest(protocol.KindCancel, &protocol.CancelArgs{Request: victim}, time.Now())
		if err == nil {
			a.send(ctx, "cancel", req, provoked)
		}
	}
	a.await(ctx, "", begun, slow, asked)
	if queued {
		a.await(ctx, "", begun, victim, provoked)
	}
}

// spoiled are bodies that are not requests; they are answered under a name made
// of their sequence.
var spoiled = []string{
	`{"v":1,`, `17`, `{"v":1,"kind":"explode"}`, `{"v":9,"kind":"observe"}`, `{"v":1,"id":"not-an-id","kind":"observe"}`,
	`{"v":1,"kind":"ping"}`, `{"v":1,"kind":"press","args":{"key":"Control+A"}}`,
}

// malformed sends something that cannot run. Half of it has no usable id, so the
// client cannot send it: it is published as it is, and reattached to.
func (a *agent) malformed(ctx context.Context) {
	begun := time.Now()
	n := a.rng.IntN(len(spoiled) + 2)
	if n < len(spoiled) {
		if id, ok := a.publish(ctx, protocol.LaneQueue, []byte(spoiled[n])); ok {
			a.await(ctx, "reattach", begun, id, provoked)
		}
		return
	}
	req := protocol.Request{V: protocol.Version, ID: protocol.NewRequestID(begun), Kind: protocol.KindClick}
	if n > len(spoiled) {
		req.Kind = protocol.KindObserve
		req.ID = protocol.NewRequestID(begun.Add(2 * protocol.FutureHorizon))
	} else {
		req.Args = json.RawMessage(fmt.Sprintf(`{"element_ref":%q}`, "#selector"))
	}
	a.send(ctx, "malformed", req, provoked)
}
