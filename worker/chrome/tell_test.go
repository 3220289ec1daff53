package chrome

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/worker/environment"
)

func TestWhatHappensBetweenActionsIsToldAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context60(t)
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			w.Header().Set("Content-Disposition", "attachment")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>Busy</title><button onclick="setTimeout(()=>{window.open('/new?token=1');setTimeout(()=>location='/file?token=1',500);setTimeout(()=>alert('private words'),1000)},300)">Go</button>`)
	}))
	events := make(chan protocol.Event, 100)
	opened, _, err := b.launcher.Open(ctx, environment.Spec{
		Key: key, Generation: 1, Loaded: &checkpoints.Loaded{}, Tell: func(ev protocol.Event) { events <- ev },
	})
	if err != nil {
		t.Fatal(err)
	}
	browser := opened.(*Browser)
	defer func() {
		if err := browser.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	out := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	b.ok(b.do(ctx, browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, out.Observation, "button", "Go")}))
	seen := map[string]protocol.Event{}
	await := func(kinds ...string) {
		t.Helper()
		for _, kind := range kinds {
			for seen[kind].Type == "" {
				select {
				case ev := <-events:
					seen[ev.Type] = ev
				case <-ctx.Done():
					t.Fatalf("no %s: %+v", kind, seen)
				}
			}
		}
	}
	await(protocol.EventPopup, protocol.EventDownload, protocol.EventDialogOpened)
	if !strings.Contains(seen[protocol.EventDownload].URL, "/file") {
		t.Errorf("%+v", seen)
	}
	dialog := seen[protocol.EventDialogOpened].Dialog
	b.ok(b.do(ctx, browser, protocol.KindDialog, &protocol.DialogArgs{DialogID: dialog.ID, Action: protocol.DialogAccept}))
	await(protocol.EventDialogClosed)
	if pending, err := browser.page.Send("Page.crash", nil); err == nil {
		pending.Forget()
	}
	await(protocol.EventPageCrashed)
}

// TestACrashAsksTheSiteForNothing: a page that died may have come from a POST; only its
// agent loads it again.
func TestACrashAsksTheSiteForNothing(t *testing.T) {
	t.Parallel()
	ctx := context60(t)
	var asked atomic.Int64
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>Shop</title><link rel=icon href="data:,"><button>Pay</button>`)
	}))
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	before := asked.Load()
	if pending, err := browser.page.Send("Page.crash", nil); err == nil {
		pending.Forget()
	}
	if _, err := browser.page.Await(ctx, func(s *supervisor.Snapshot) bool { return s.Crashed }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out := b.do(ctx, browser, protocol.KindObserve, &protocol.ObserveArgs{}); out.Err == nil || out.Err.Code != protocol.CodePageCrashed {
			t.Errorf("a look at a crashed page: %v", out.Err)
		}
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("the site was asked %d times", n)
	}
	b.ok(b.do(ctx, browser, protocol.KindReload, &protocol.NoArgs{}))
	if n := asked.Load() - before; n != 1 {
		t.Errorf("the reload asked %d times", n)
	}
}
