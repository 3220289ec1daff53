package supervisor

import (
	"testing"

	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

func TestAHiddenPageReachesStorageWithoutTheNetwork(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<script>localStorage.k='v'</script>", "/b": "<title>b</title>"})
	r.open(t, "http://a.test/")
	r.open(t, "http://b.test/b")
	before := r.proxy.requests("a.test")
	h, err := r.Page().OpenHidden(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paused, cancel := h.Subscribe(fetch.RequestPaused.Method)
	defer cancel()
	navigation, err := h.Send(page.CommandNavigate, page.NavigateParams{URL: "http://a.test/"})
	if err != nil {
		t.Fatal(err)
	}
	var request fetch.EventRequestPaused
	if err := decodeValue(<-paused, &request); err != nil {
		t.Fatal(err)
	}
	_, err = protocol.Call(t.Context(), h, fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: request.RequestID, ResponseCode: 200, Body: []byte("<title>vault</title>"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := navigation.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := evalIn(t, h, runtime.EvaluateParams{Expression: "localStorage.k"}); got != "v" {
		t.Errorf("storage: %q", got)
	}
	if after := r.proxy.requests("a.test"); after != before {
		t.Errorf("%d requests of the hidden page", after-before)
	}
	if s := r.Page().Snapshot(); len(s.Popups) != 0 || len(s.Frames) != 1 || s.URL != "http://b.test/b" {
		t.Errorf("the page's picture knows of it: %+v", s)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// The page opens windows while we wait for ours: each is still refused.
func TestAPopupIsNotTakenForAHiddenPage(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>", "/p": "popup"})
	r.open(t, "http://a.test/")
	const popups = 8
	evaluation, err := r.Page().Send(runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: "for (let i=0;i<8;i++) open('/p','_blank','noopener'); 1",
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		h, err := r.Page().OpenHidden(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := evaluation.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.await(t, func(s *Snapshot) bool { return len(s.Popups) == popups })
	if n := r.proxy.requests("/p"); n != 0 {
		t.Errorf("popups made %d requests", n)
	}
}
