package supervisor

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
)

// heapAfter is what the heap holds once what is garbage is gone, in bytes.
func heapAfter() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// It is not parallel: the heap is the process's.
func TestAThousandDialogsAreNotLostAndLeaveNothing(t *testing.T) {
	r := startRig(t, pages{"/": "<title>many</title>"}, func(c *Config) { c.Dialogs = PolicyAccept })
	r.open(t, "http://a.test/")
	// The texts are long, so that keeping them would show.
	many := `(() => { const long='x'.repeat(4000); let n=0; for (let i=0;i<COUNT;i++) { confirm(i+long); n++ } return String(n) })()`
	ask := func(count string) string {
		t.Helper()
		pending, err := r.Page().Send(cdpruntime.CommandEvaluate, cdpruntime.EvaluateParams{Expression: strings.ReplaceAll(many, "COUNT", count)})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-pending.Done():
		case <-time.After(5 * time.Minute):
			t.Fatalf("stuck after %d", r.Page().Snapshot().DialogsOpened)
		}
		var reply cdpruntime.EvaluateResult
		if err := pending.Wait(t.Context(), &reply); err != nil {
			t.Fatal(err)
		}
		return describe(reply.Result)
	}
	watch := r.Page().Watch()
	defer watch.Close()
	ask("50")
	before, goroutines := heapAfter(), runtime.NumGoroutine()
	if got := ask("1000"); got != "1000" {
		t.Errorf("%s of 1000", got)
	}
	s := r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) == 0 })
	if s.DialogsOpened != 1050 || len(s.RecentDialogs) != recentDialogs || s.RecentDialogs[recentDialogs-1].ID != "d-0-1050" {
		t.Errorf("%d opened, %d in the ring", s.DialogsOpened, len(s.RecentDialogs))
	}
	// Nobody began another action: all beyond the first twenty are a storm.
	if h := watch.Take(); h.DialogsOpened != 1050 || h.DialogsDismissed != 1030 || len(h.Dialogs) != stormBudget || len(h.DialogsClosed) != stormBudget {
		t.Errorf("evidence: %d opened, %d dismissed, %d and %d listed", h.DialogsOpened, h.DialogsDismissed, len(h.Dialogs), len(h.DialogsClosed))
	}
	if after := heapAfter(); after > before+2<<20 {
		t.Errorf("the heap grew from %d to %d", before, after)
	}
	if now := runtime.NumGoroutine(); now > goroutines+5 {
		t.Errorf("goroutines grew from %d to %d", goroutines, now)
	}
}

// BenchmarkDialogVisible is from alert() to the dialog in the picture.
func BenchmarkDialogVisible(b *testing.B) {
	s, p := benchPage(b)
	for b.Loop() {
		s.BeginAction()
		pending, err := p.Send(cdpruntime.CommandEvaluate, cdpruntime.EvaluateParams{Expression: "alert(1)"})
		if err != nil {
			b.Fatal(err)
		}
		seen, err := p.Await(b.Context(), func(s *Snapshot) bool { return len(s.Dialogs) == 1 })
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := p.AnswerDialog(b.Context(), seen.Dialogs[0].ID, Answer{}); err != nil {
			b.Fatal(err)
		}
		if err := pending.Wait(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkDialogAnswer is from the answer to the page's next statement.
func BenchmarkDialogAnswer(b *testing.B) {
	s, p := benchPage(b)
	for b.Loop() {
		s.BeginAction()
		b.StopTimer()
		pending, err := p.Send(cdpruntime.CommandEvaluate, cdpruntime.EvaluateParams{Expression: "alert(1); 2"})
		if err != nil {
			b.Fatal(err)
		}
		seen, err := p.Await(b.Context(), func(s *Snapshot) bool { return len(s.Dialogs) == 1 })
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := p.AnswerDialog(b.Context(), seen.Dialogs[0].ID, Answer{}); err != nil {
			b.Fatal(err)
		}
		if err := pending.Wait(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// benchPage is a page that asks, whose actions are short.
func benchPage(b *testing.B) (*Supervisor, *Page) {
	b.Helper()
	s, err := Start(b.Context(), benchConfig(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	p := s.Page()
	if err := p.Call(b.Context(), page.CommandNavigate, page.NavigateParams{URL: "http://a.test/"}, nil); err != nil {
		b.Fatal(err)
	}
	return s, p
}
