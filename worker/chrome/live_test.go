package chrome

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// A worker without contact lets nothing of its browsers out, also before it has
// noticed and suspended them.
func TestAChromiumReachesNothingWithoutContact(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			visits.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>Site</title>"))
	}))
	var live atomic.Bool
	live.Store(true)
	opened, _, err := b.launcher.Open(t.Context(), environment.Spec{Key: key, Generation: 1, Loaded: &checkpoints.Loaded{}, Live: live.Load})
	if err != nil {
		t.Fatal(err)
	}
	browser := opened.(*Browser)
	defer func() {
		if err := browser.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	visit := &protocol.OpenArgs{URL: b.site.URL + "/"}
	b.ok(b.do(t.Context(), browser, protocol.KindOpen, visit))
	live.Store(false)
	if out := b.do(t.Context(), browser, protocol.KindOpen, visit); out.Err == nil {
		t.Errorf("opened without contact: %+v", out.Verdict)
	}
	if n := visits.Load(); n != 1 {
		t.Errorf("the site was visited %d times", n)
	}
	live.Store(true)
	b.ok(b.do(t.Context(), browser, protocol.KindOpen, visit))
}
