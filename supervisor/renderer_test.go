package supervisor

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// beside opens a second tab and waits for its document.
func (r *rig) beside(t *testing.T, url string) *Page {
	t.Helper()
	p, err := r.OpenTab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := protocol.Call(t.Context(), p, page.Navigate, page.NavigateParams{URL: url}); err != nil {
		t.Fatal(err)
	}
	awaitPage(t, p, func(s *Snapshot) bool { return s.URL == url && s.Lifecycle.Load })
	return p
}

// Two tabs of one site, one of which has to go: the other keeps its document, whether
// its process is known from its requests or has to be asked for.
func TestOnlyTheProcessOfAWedgedTabIsEnded(t *testing.T) {
	t.Parallel()
	content := pages{"/bare": "<title>bare</title>", "/rich": "<title>rich</title><script src=/x.js></script>", "/x.js": "0"}
	for _, path := range []string{"/bare", "/rich"} {
		for name, freeze := range map[string]func(*testing.T, *rig, *Page){
			"loops": func(t *testing.T, _ *rig, p *Page) {
				pending, err := p.Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "setTimeout(()=>{for(;;);},0);1"})
				if err == nil {
					err = pending.Wait(t.Context(), nil)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			"is stopped": func(t *testing.T, r *rig, p *Page) {
				if err := syscall.Kill(r.pidOf(t, p), syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(strings.TrimPrefix(path, "/")+" "+name, func(t *testing.T) {
				t.Parallel()
				r := startRig(t, content)
				r.open(t, "http://a.test"+path)
				other := r.beside(t, "http://a.test"+path)
				watch := r.Watch()
				defer watch.Close()
				freeze(t, r, r.Page())
				if err := r.Page().EndRenderer(t.Context()); err != nil {
					t.Fatal(err)
				}
				if s := r.Page().Snapshot(); !s.Crashed {
					t.Errorf("%+v", s)
				}
				if got := evalIn(t, other, runtime.EvaluateParams{Expression: "document.title"}); got != path[1:] || other.Snapshot().Crashed {
					t.Errorf("the other tab says %q", got)
				}
				if told := watch.Take().TabsCrashed; !slices.Equal(told, []TabID{r.Page().ID()}) {
					t.Errorf("told of %v", told)
				}
				r.open(t, "http://a.test"+path)
			})
		}
	}
}

// pidOf is the renderer of a page, as the page itself has it named.
func (r *rig) pidOf(t *testing.T, p *Page) int {
	t.Helper()
	for pid := range askPIDs(t.Context(), []*attached{p.pageSession}) {
		if slices.Contains(r.Process().Children(chromium.Renderers), pid) {
			return pid
		}
	}
	t.Fatalf("%s has no process", p.ID())
	return 0
}

// Tabs that can reach each other share a process: both crash, and both are told.
func TestTabsThatShareAProcessAreToldByName(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<title>x</title>"}, adopting)
	r.open(t, "http://a.test/")
	r.eval(t, "window.w=open('/');0")
	r.await(t, func(s *Snapshot) bool { return len(s.Tabs) == 2 })
	other := r.Tab("t2")
	awaitPage(t, other, func(s *Snapshot) bool { return s.URL == "http://a.test/" })
	watch := r.Watch()
	defer watch.Close()
	if err := r.Page().EndRenderer(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitPage(t, other, func(s *Snapshot) bool { return s.Crashed })
	told := watch.Take().TabsCrashed
	slices.Sort(told)
	if !slices.Equal(told, []TabID{"t1", "t2"}) {
		t.Errorf("told of %v", told)
	}
}

// What a process is asked for leaves no trace that its page could see.
func TestTheQuestionForAProcessIsNotSeen(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<title>x</title>"})
	r.open(t, "http://a.test/")
	r.eval(t, "window.seen=[];new MutationObserver(l=>seen.push(...l)).observe(document,{subtree:true,childList:true,attributes:true,characterData:true});0")
	before := r.eval(t, "document.documentElement.outerHTML")
	r.pidOf(t, r.Page())
	if got := r.eval(t, "[document.documentElement.outerHTML,document.styleSheets.length,seen.length].join()"); got != before+",0,0" {
		t.Errorf("%q", got)
	}
}

func TestProcessesInNames(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int{"123.4": 123, "ADB3A38C28559C8B43BF9E9C92ADF611": 0, "": 0, "x.1": 0, "-5.1": 0, "interception-job-1.0": 0} {
		if got := requestPID(id); got != want {
			t.Errorf("%q: %d", id, got)
		}
	}
	if sheetPID("style-sheet-17-2") != 17 || sheetPID("17") != 0 {
		t.Error("style sheets")
	}
}
