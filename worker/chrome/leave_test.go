package chrome

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// The page's process dies while the server of the next page is asked: that is no
// "the server has no content", and the former page is not there any more.
func TestAnOpenDuringWhichThePageDiesSaysSo(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	ctx := context60(t)
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			once.Do(func() { close(asked) })
			select {
			case <-answer:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<!doctype html><title>here</title><h1>here</h1>")
	}))
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	var opening sync.WaitGroup
	var out *environment.Outcome
	opening.Go(func() { out = b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/slow"}) })
	select {
	case <-asked:
	case <-ctx.Done():
		t.Fatal("the server was not asked")
	}
	if err := browser.page.EndRenderer(ctx); err != nil {
		t.Fatal(err)
	}
	opening.Wait()
	close(answer)
	// Where the navigation outlives the page, it arrives in a page of its own.
	if out.Err == nil && out.Observation != nil && out.Observation.URL == b.site.URL+"/slow" {
		return
	}
	if out.Err == nil || out.Err.Code != protocol.CodePageCrashed {
		t.Errorf("got %v", out.Err)
	}
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/again"}))
}

// A page that asks again and again is left, with the browser.
func TestAPageThatNeverStopsAskingIsLeft(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/")
	a.click("Forever")
	out := a.act(protocol.KindOpen, &protocol.OpenArgs{URL: a.site.URL + "/gone"})
	if out.URL != a.site.URL+"/gone" || len(out.PendingDialogs) != 0 {
		t.Errorf("%+v", out.Observation)
	}
	stays(t, a.Browser)
}
