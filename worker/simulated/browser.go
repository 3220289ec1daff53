package simulated

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

const (
	storageKey = checkpoints.StorageKey("http://simulated.invalid/")
	origin     = "http://simulated.invalid"
	fillsItem  = "fills"
)

// Launcher opens simulated browsers.
type Launcher struct {
	// Latency is what an action takes; OpenLatency what a browser takes to start.
	Latency, OpenLatency time.Duration
}

// Open makes a browser with the state.
func (l *Launcher) Open(ctx context.Context, spec environment.Spec) (environment.Browser, *checkpoints.FidelityReport, error) {
	if err := pause(ctx, l.OpenLatency); err != nil {
		return nil, nil, err
	}
	report := checkpoints.NewFidelityReport(spec.Loaded, spec.Generation, time.Now())
	b := &Browser{latency: l.Latency, generation: spec.Generation, lost: make(chan struct{})}
	for _, area := range spec.Loaded.State.LocalStorage {
		for _, item := range area.Items {
			if area.StorageKey == storageKey && item.Key == fillsItem {
				b.fills, _ = strconv.Atoi(string(item.Value))
			}
		}
	}
	if b.fills > 0 {
		report.Keep(checkpoints.KindStorageItems, 1)
	}
	return b, report, nil
}

// Browser is one environment's browser.
type Browser struct {
	latency    time.Duration
	generation protocol.Generation
	lost       chan struct{}
	loseOnce   sync.Once
	suspended  atomic.Bool

	url          string
	fills        int // in the state that checkpoints carry
	effects      int
	observations int
	known        bool // the agent was shown the page
}

// Run performs one action.
func (b *Browser) Run(ctx context.Context, a *protocol.Action, dispatch func() error) *environment.Outcome {
	begun := time.Now()
	before := b.evidence()
	if err := b.check(a); err != nil {
		return &environment.Outcome{Err: err, Verdict: protocol.VerdictRefused}
	}
	if err := dispatch(); err != nil {
		return &environment.Outcome{
			Err: environment.NotDispatched(err), Verdict: protocol.VerdictRefused,
		}
	}
	out := b.do(ctx, a)
	if out.Err == nil {
		out.Observation = b.observe(a)
	}
	total := float64(time.Since(begun).Microseconds()) / 1000
	out.Transition = &protocol.Transition{
		ID: fmt.Sprintf("x-%d-%d", b.generation, b.observations), Before: before, After: b.evidence(),
		Timing: protocol.Timing{DispatchMS: total},
	}
	return out
}

// check refuses what a real browser would refuse before it did anything.
func (b *Browser) check(a *protocol.Action) *protocol.Error {
	ref, needed := refOf(a)
	if ref == "" && !needed {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(string(ref), "e"))
	if !b.known || err != nil || n < 1 || n > len(elements) {
		return protocol.Errorf(protocol.CodeStaleRef, "%s is not on the page", ref)
	}
	return nil
}

func refOf(a *protocol.Action) (protocol.Ref, bool) {
	switch args := a.Args.(type) {
	case *protocol.ClickArgs:
		return args.ElementRef, true
	case *protocol.DragArgs:
		return args.ElementRef, true
	case *protocol.HoverArgs:
		return args.ElementRef, true
	case *protocol.FillArgs:
		return args.ElementRef, true
	case *protocol.PressArgs:
		return args.ElementRef, false
	case *protocol.TypeArgs:
		return args.ElementRef, false
	}
	return "", false
}

func (b *Browser) do(ctx context.Context, a *protocol.Action) *environment.Outcome {
	latency := b.latency
	if open, ok := a.Args.(*protocol.OpenArgs); ok {
		b.url, b.known = open.URL, false
		u, err := url.Parse(open.URL)
		if err != nil {
			return &environment.Outcome{Err: protocol.Errorf(protocol.CodeInvalidURL, "%v", err)}
		}
		switch n, _ := strconv.Atoi(u.Query().Get("ms")); u.Path {
		case "/slow":
			latency += time.Duration(n) * time.Millisecond
		case "/crash":
			b.lose()
			return &environment.Outcome{Err: protocol.Errorf(protocol.CodeBrowserLost, "")}
		case "/hang":
			latency = time.Hour
		}
	}
	if err := pause(ctx, latency); err != nil {
		return &environment.Outcome{Err: protocol.Errorf(protocol.CodeActionTimeout, "%v", err)}
	}
	out := &environment.Outcome{Verdict: protocol.VerdictNoneYet}
	switch a.Kind {
	case protocol.KindObserveNext:
		return &environment.Outcome{Err: protocol.Errorf(protocol.CodeContinuationExhausted, "")}
	case protocol.KindOpen:
		out.Verdict = protocol.VerdictNavigated
	case protocol.KindFill:
		b.fills++
		out.Verdict = protocol.VerdictDOMChanged
	case protocol.KindBatch:
		b.batch(a.Args.(*protocol.BatchArgs), out)
	case protocol.KindScreenshot:
		out.Screenshot = &protocol.Screenshot{MediaType: "image/png", Width: 1, Height: 1, Bytes: len(pixel), Data: pixel}
	case protocol.KindExtractTable, protocol.KindExtractLinks, protocol.KindExtractList, protocol.KindExtractArticle:
		out.Extraction = &protocol.Extraction{Kind: a.Kind, URL: b.url, Columns: []string{"n"}, Rows: []map[string]string{{"n": "1"}}, Total: 1}
	}
	if a.Info.Effect == protocol.EffectWrite {
		b.effects++
	}
	return out
}

// batch has the latency of one action.
func (b *Browser) batch(args *protocol.BatchArgs, out *environment.Outcome) {
	for i := range args.Steps {
		step, err := args.Steps[i].Action()
		if err == nil {
			err = b.check(&step)
		}
		done := protocol.StepResult{Kind: step.Kind, Status: protocol.StatusOK, Dispatched: protocol.DispatchedYes, Verdict: protocol.VerdictNoneYet}
		if err != nil {
			done.Status, done.Error, done.Dispatched, done.Verdict = protocol.StatusError, err, err.Dispatched, protocol.VerdictRefused
		}
		out.Steps = append(out.Steps, done)
		if err != nil {
			break
		}
		b.effects++
	}
	out.Dispatched, out.Err = protocol.DispatchedOf(out.Steps), protocol.StepError(out.Steps, len(args.Steps))
	b.effects-- // the batch itself is counted by its caller
}

var elements = []protocol.Element{
	{Ref: "e1", Role: "searchbox", Name: "Search", InputType: "search", Tier: 1},
	{Ref: "e2", Role: "link", Name: "One", Href: origin + "/1", Tier: 4},
	{Ref: "e3", Role: "link", Name: "Two", Href: origin + "/2", Tier: 4},
}

func (b *Browser) observe(a *protocol.Action) *protocol.Observation {
	b.observations++
	b.known = true
	budget := a.Observe.Budget()
	text := []rune(fmt.Sprintf("A simulated page. Fills: %d. Effects: %d.", b.fills, b.effects))
	n := min(len(elements), budget.Elements)
	return &protocol.Observation{
		ID:         protocol.ObservationID(fmt.Sprintf("o-%d-%d", b.generation, b.observations)),
		Generation: b.generation, PageID: "t1", URL: b.url, Title: "Simulated", Mode: budget.Mode, At: protocol.At(time.Now()),
		Text: string(text[:min(len(text), budget.TextChars)]), TotalTextChars: len(text), TextTruncated: budget.TextChars < len(text),
		Elements: elements[:n], TotalElements: len(elements), ElementsTruncated: n < len(elements),
		Digest: b.digest(),
	}
}

func (b *Browser) digest() string { return fmt.Sprintf("%064x", b.effects) }

func (b *Browser) evidence() *protocol.PageEvidence {
	return &protocol.PageEvidence{URL: b.url, Digest: b.digest()}
}

// Capture reads the state.
func (b *Browser) Capture(context.Context) (checkpoints.State, error) {
	s := checkpoints.State{Tabs: []checkpoints.Tab{{URL: b.url, Active: true}}}
	if b.fills > 0 {
		s = s.Merge(checkpoints.StorageArea{
			StorageKey: storageKey, Origin: origin,
			Items: []checkpoints.Item{{Key: fillsItem, Value: checkpoints.Text(strconv.Itoa(b.fills))}},
		})
	}
	return s, nil
}

// Suspend and Resume are remembered only: there is no egress.
func (b *Browser) Suspend() { b.suspended.Store(true) }

// Resume ends Suspend.
func (b *Browser) Resume() { b.suspended.Store(false) }

// Lost is closed when the browser has died.
func (b *Browser) Lost() <-chan struct{} { return b.lost }

// Close ends it.
func (b *Browser) Close(context.Context) error {
	b.lose()
	return nil
}

func (b *Browser) lose() { b.loseOnce.Do(func() { close(b.lost) }) }

// pixel is a PNG of one transparent pixel.
var pixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82")

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
