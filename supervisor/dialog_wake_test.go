package supervisor

import (
	"testing"

	"github.com/chromedp/cdproto/page"
)

// A dialog of a window stops the page that opened it: who waits for that page is
// woken, and sees whose dialog it is.
func TestADialogWakesTheTabsThatItStops(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<script>setTimeout(()=>open('/asks'),10)</script>", "/asks": "<script>alert('early')</script>"}, adopting, asking)
	watch := r.Page().Watch()
	defer watch.Close()
	if _, err := r.Page().Send(page.CommandNavigate, page.NavigateParams{URL: "http://a.test/"}); err != nil {
		t.Fatal(err)
	}
	for s := r.Page().Snapshot(); len(s.Dialogs) == 0; s = r.Page().Snapshot() {
		select {
		case <-watch.Wake():
		case <-t.Context().Done():
			t.Fatal("not woken")
		}
	}
	d := r.Page().Snapshot().Dialogs[0]
	if d.Tab != "t2" || d.Message != "early" {
		t.Errorf("%+v", d)
	}
	if err := r.AnswerDialog(t.Context(), d.ID, Answer{}); err != nil {
		t.Fatal(err)
	}
}
