package chrome

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// TestAPageThatLoopedIsLeftAgainAndAgain: an open right after an action whose page never
// came back finds the page there.
func TestAPageThatLoopedIsLeftAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<button onclick="for(;;);">Loop</button>`))
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	for range 5 {
		out := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
		short, stop := context.WithTimeout(ctx, time.Second)
		out = b.do(short, browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, out.Observation, "button", "Loop")})
		stop()
		if out.Err == nil {
			t.Error("the click ended by itself")
		}
	}
}
