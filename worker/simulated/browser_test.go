package simulated_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const page = "http://simulated.invalid/"

func launch(t *testing.T, l *simulated.Launcher, state checkpoints.State, g protocol.Generation) (environment.Browser, *checkpoints.FidelityReport) {
	t.Helper()
	b, report, err := l.Open(t.Context(), environment.Spec{Generation: g, Loaded: &checkpoints.Loaded{State: state}})
	if err != nil {
		t.Fatal(err)
	}
	return b, report
}

func action(t *testing.T, kind protocol.Kind, args protocol.Args) *protocol.Action {
	t.Helper()
	info, known := kind.Lookup()
	if !known {
		t.Fatalf("kind %s", kind)
	}
	return &protocol.Action{Request: protocol.Request{V: protocol.Version, Kind: kind}, Info: info, Args: args}
}

// do runs an action and counts its dispatches.
func do(t *testing.T, b environment.Browser, kind protocol.Kind, args protocol.Args) (out *environment.Outcome, dispatched int) {
	t.Helper()
	out = b.Run(t.Context(), action(t, kind, args), func() error { dispatched++; return nil })
	return out, dispatched
}

func open(url string) *protocol.OpenArgs { return &protocol.OpenArgs{URL: url} }

func fill(ref protocol.Ref) *protocol.FillArgs {
	return &protocol.FillArgs{Target: protocol.Target{ElementRef: ref}, Value: "x"}
}

func TestEveryActionIsDispatchedOnceAndShowsThePage(t *testing.T) {
	t.Parallel()
	b, _ := launch(t, &simulated.Launcher{}, checkpoints.State{}, 1)
	for _, tc := range []struct {
		kind    protocol.Kind
		args    protocol.Args
		verdict protocol.Verdict
		text    string
	}{
		{protocol.KindOpen, open(page), protocol.VerdictNavigated, "Fills: 0. Effects: 1."},
		{protocol.KindFill, fill("e1"), protocol.VerdictDOMChanged, "Fills: 1. Effects: 2."},
		{protocol.KindObserve, &protocol.ObserveArgs{}, protocol.VerdictNoneYet, "Fills: 1. Effects: 2."},
		{protocol.KindScreenshot, &protocol.ScreenshotArgs{}, protocol.VerdictNoneYet, "Effects: 2."},
		{protocol.KindExtractTable, &protocol.ExtractArgs{}, protocol.VerdictNoneYet, "Effects: 2."},
	} {
		out, dispatched := do(t, b, tc.kind, tc.args)
		if out.Err != nil || dispatched != 1 || out.Verdict != tc.verdict || !strings.Contains(out.Observation.Text, tc.text) {
			t.Errorf("%s: %v, dispatched %d, %s, %+v", tc.kind, out.Err, dispatched, out.Verdict, out.Observation)
		}
	}
}

func TestRefsOfAPageThatWasNotShownAreRefusedBeforeTheDispatch(t *testing.T) {
	t.Parallel()
	b, _ := launch(t, &simulated.Launcher{}, checkpoints.State{}, 1)
	for _, ref := range []protocol.Ref{"e1", "", "e9", "x"} {
		out, dispatched := do(t, b, protocol.KindFill, fill(ref))
		if out.Err == nil || out.Err.Code != protocol.CodeStaleRef || dispatched != 0 {
			t.Errorf("%q: %v, dispatched %d", ref, out.Err, dispatched)
		}
	}
}

func TestADispatchThatIsRefusedHasNoEffect(t *testing.T) {
	t.Parallel()
	b, _ := launch(t, &simulated.Launcher{}, checkpoints.State{}, 1)
	out := b.Run(t.Context(), action(t, protocol.KindOpen, open(page)), func() error { return errors.New("fenced") })
	if out.Err == nil || out.Err.Dispatched != protocol.DispatchedNo {
		t.Fatalf("%+v", out)
	}
	if out, _ := do(t, b, protocol.KindObserve, &protocol.ObserveArgs{}); out.Observation.URL != "" || !strings.Contains(out.Observation.Text, "Effects: 0.") {
		t.Fatalf("%+v", out.Observation)
	}
}

func TestTheStateSurvivesInACheckpoint(t *testing.T) {
	t.Parallel()
	b, _ := launch(t, &simulated.Launcher{}, checkpoints.State{}, 1)
	do(t, b, protocol.KindOpen, open(page))
	empty, err := b.Capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	do(t, b, protocol.KindFill, fill("e1"))
	filled, err := b.Capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if empty.DataDigest() == filled.DataDigest() {
		t.Error("a fill changes nothing that is saved")
	}
	do(t, b, protocol.KindObserve, &protocol.ObserveArgs{})
	if same, _ := b.Capture(t.Context()); same.DataDigest() != filled.DataDigest() {
		t.Error("a read changes what is saved")
	}
	again, report := launch(t, &simulated.Launcher{}, filled, 2)
	if out, _ := do(t, again, protocol.KindOpen, open(page)); !strings.Contains(out.Observation.Text, "Fills: 1.") || out.Observation.Generation != 2 {
		t.Errorf("restored %+v", out.Observation)
	}
	if report.Survived[string(checkpoints.KindStorageItems)] != 1 {
		t.Errorf("report %+v", report)
	}
}

func TestPagesThatMakeThingsHappen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := launch(t, &simulated.Launcher{Latency: time.Second, OpenLatency: 3 * time.Second}, checkpoints.State{}, 1)
		begun := time.Now()
		if out, _ := do(t, b, protocol.KindOpen, open(page+"slow?ms=500")); out.Err != nil || time.Since(begun) != 1500*time.Millisecond {
			t.Errorf("slow: %v after %s", out.Err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out := b.Run(ctx, action(t, protocol.KindOpen, open(page+"hang")), func() error { return nil })
		if out.Err == nil || out.Err.Code != protocol.CodeActionTimeout {
			t.Errorf("hang: %v", out.Err)
		}
		out, _ = do(t, b, protocol.KindOpen, open(page+"crash"))
		if out.Err == nil || out.Err.Code != protocol.CodeBrowserLost {
			t.Errorf("crash: %v", out.Err)
		}
		<-b.Lost()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, _, err := (&simulated.Launcher{OpenLatency: time.Hour}).Open(ctx, environment.Spec{Loaded: &checkpoints.Loaded{}}); err == nil {
			t.Error("a browser was opened for nobody")
		}
	})
}
