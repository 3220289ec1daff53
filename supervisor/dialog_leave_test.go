package supervisor

import (
	"testing"

	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// left makes way and navigates; the browser must be well, and no dialog in the way.
func (r *rig) left(t *testing.T, to string) *Snapshot {
	t.Helper()
	p := r.Page()
	p.MakeWay(t.Context())
	res, err := protocol.Call(t.Context(), p, page.Navigate, page.NavigateParams{URL: to})
	if err != nil || res.ErrorText != "" {
		t.Fatalf("%v %+v", err, res)
	}
	s := r.await(t, func(s *Snapshot) bool { return s.URL == to && s.Lifecycle.Load })
	if len(s.Dialogs) != 0 || s.Orphaned || s.Crashed {
		t.Errorf("%+v", s)
	}
	if got := r.eval(t, "6*7"); got != "42" {
		t.Errorf("the page says %q", got)
	}
	return s
}

func TestAPageThatAsksForEverIsLeft(t *testing.T) {
	t.Parallel()
	content := pages{
		"/interval": "<script>setInterval(()=>alert('iv'),10)</script>",
		"/loop":     "<script>setTimeout(()=>{for(;;)confirm('loop')},10)</script>",
		"/frame":    "<iframe src=http://b.test/interval></iframe>",
		"/popup":    "<script>open('/interval')</script>",
		"/":         "<title>gone</title>",
	}
	for _, path := range []string{"/interval", "/loop", "/frame", "/popup"} {
		for _, site := range []string{"a", "d"} {
			t.Run(path[1:]+" to "+site, func(t *testing.T) {
				t.Parallel()
				r := startRig(t, content, adopting)
				if _, err := r.Page().Send(page.CommandNavigate, page.NavigateParams{URL: "http://a.test" + path}); err != nil {
					t.Fatal(err)
				}
				r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) > 0 })
				r.left(t, "http://"+site+".test/")
			})
		}
	}
}

// A page that asks once and goes on is left as it is: its process stays, and with it
// the tabs that share it.
func TestAPageThatAsksOnceIsLeftWithoutItsEnd(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/once": "<script>setTimeout(()=>{alert(1);alert(2)},10)</script>", "/": "<title>gone</title>"})
	if _, err := r.Page().Send(page.CommandNavigate, page.NavigateParams{URL: "http://a.test/once"}); err != nil {
		t.Fatal(err)
	}
	r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) > 0 })
	watch := r.Watch()
	defer watch.Close()
	r.left(t, "http://a.test/")
	if h := watch.Take(); h.Crashed {
		t.Error("its process was ended")
	}
}
