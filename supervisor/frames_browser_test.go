package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/google/go-cmp/cmp"
)

// nest is a page with frames of every kind: same-process, srcdoc, sandboxed
// srcdoc, empty, cross-site, and both kinds below a cross-site one. Six below the
// main frame, of which the sandboxed and the cross-site ones have processes.
var nest = pages{
	"/nest": `<title>nest</title><iframe name=same src="/leaf"></iframe><iframe name=doc srcdoc="<p>d</p>"></iframe>` +
		`<iframe name=empty></iframe><iframe name=cross src="http://c.test/branch"></iframe>`,
	"/branch": `<iframe name=near src="/leaf"></iframe><iframe name=far src="http://d.test/leaf"></iframe>`,
	"/leaf":   "<p>leaf</p>",
	"/plain":  "<title>plain</title>",
	"/late":   `<title>late</title><iframe name=same src="/leaf"></iframe><iframe name=cross src="http://c.test/late2"></iframe>`,
	"/late2":  `<iframe name=far src="http://d.test/leaf"></iframe>`,
	"/box":    `<iframe name=box sandbox="allow-scripts" srcdoc="<p>b</p>"></iframe>`,
}

const nestFrames = 7

// truth is the frame tree as Chromium says it is at this moment: what each
// session's process hosts, and which targets there are. While a document is
// leaving, the three questions can disagree: then there is no truth yet.
func (r *rig) truth(t *testing.T) ([]string, error) {
	t.Helper()
	p := r.Page()
	var lines []string
	var walk func(tree *page.FrameTree, own string)
	walk = func(tree *page.FrameTree, own string) {
		mark := ""
		if string(tree.Frame.ID) == own {
			mark = " oopif"
		}
		lines = append(lines, fmt.Sprintf("%s %s%s%s", tree.Frame.ID, tree.Frame.URL, tree.Frame.URLFragment, mark))
		for _, child := range tree.ChildFrames {
			walk(child, own)
		}
	}
	sessions := map[cdp.SessionID]string{p.session.ID(): ""}
	p.mu.Lock()
	for id, a := range p.sessions {
		if a.kind == kindIframe {
			sessions[id] = string(a.target)
		}
	}
	p.mu.Unlock()
	var own []string
	for id, frame := range sessions {
		tree, err := protocol.Call(t.Context(), p.Session(id), page.GetFrameTree, protocol.Empty{})
		if err != nil {
			return nil, err
		}
		walk(tree.FrameTree, frame)
		if frame != "" {
			own = append(own, frame)
		}
	}
	targets, err := protocol.Call(t.Context(), p.Browser(), target.GetTargets, target.GetTargetsParams{Filter: target.Filter{{Type: "iframe"}}})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, info := range targets.TargetInfos {
		all = append(all, string(info.TargetID))
	}
	slices.Sort(own)
	slices.Sort(all)
	if diff := cmp.Diff(all, own); diff != "" {
		return nil, fmt.Errorf("cross-site frames (-Chromium's +attached):\n%s", diff)
	}
	slices.Sort(lines)
	return lines, nil
}

func seen(s *Snapshot) []string {
	var lines []string
	for _, f := range s.Frames {
		mark := ""
		if f.OOPIF {
			mark = " oopif"
		}
		lines = append(lines, fmt.Sprintf("%s %s%s", f.ID, f.URL, mark))
	}
	slices.Sort(lines)
	return lines
}

// settled waits until so many frames are there, all with a document.
func (r *rig) settled(t *testing.T, frames int, url string) *Snapshot {
	t.Helper()
	return r.await(t, func(s *Snapshot) bool {
		if s.URL != url || len(s.Frames) != frames || len(r.worldsOf(s)) != frames {
			return false
		}
		return !slices.ContainsFunc(s.Frames, func(f Frame) bool { return f.URL == "" || f.LoaderID == "" })
	})
}

func (r *rig) sameAsChromium(t *testing.T, s *Snapshot) {
	t.Helper()
	for begun := time.Now(); ; {
		lines, err := r.truth(t)
		diff := cmp.Diff(lines, seen(r.Page().Snapshot()))
		if err == nil && diff == "" {
			break
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("%s: %v; frames (-Chromium's +ours):\n%s", s.URL, err, diff)
		}
	}
	for _, f := range s.Frames {
		if f.ParentID == "" && f.ID != s.FrameID {
			t.Errorf("%s has no parent: %+v", f.URL, f)
		}
	}
}

func TestAHundredNavigationsLeaveNoGhosts(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, nest, browser)
		back := func(by string) { r.eval(t, "setTimeout(()=>history."+by+"(),0); 0") }
		rounds := 100 / 5
		if strings.HasSuffix(t.Name(), "/chromium") {
			rounds = 4
		}
		for range rounds {
			s := r.open(t, "http://a.test/nest")
			s = r.settled(t, nestFrames, s.URL)
			r.sameAsChromium(t, s)
			r.open(t, "http://b.test/nest") // of another site, with the same frames
			r.sameAsChromium(t, r.settled(t, nestFrames, "http://b.test/nest"))
			r.open(t, "http://b.test/plain")
			r.sameAsChromium(t, r.settled(t, 1, "http://b.test/plain"))
			back("back()")
			r.sameAsChromium(t, r.settled(t, nestFrames, "http://b.test/nest"))
			back("go(-1)")
			r.sameAsChromium(t, r.settled(t, nestFrames, "http://a.test/nest"))
		}
		r.eval(t, "document.querySelector('[name=cross]').remove()")
		r.sameAsChromium(t, r.settled(t, nestFrames-3, "http://a.test/nest"))
	})
}

// Our own browsers have no bfcache; one that we only attach to has. What comes back
// from it tells of its cross-site frames before it tells of itself, and of the
// others not at all.
func TestFramesThatComeBackFromTheBfcache(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		// The last one of the same switch counts. (The headless shell has none even so.)
		r := startRig(t, nest, browser, func(c *Config) { c.Chromium.ExtraArgs = []string{"--disable-features=Prerender2"} })
		watch := r.Page().Watch()
		defer watch.Close()
		restored := 0
		for range 5 {
			r.open(t, "http://a.test/nest")
			r.settled(t, nestFrames, "http://a.test/nest")
			r.open(t, "http://b.test/box")
			r.settled(t, 2, "http://b.test/box")
			r.eval(t, "setTimeout(()=>history.back(),0); 0")
			r.sameAsChromium(t, r.settled(t, nestFrames, "http://a.test/nest"))
			r.eval(t, "setTimeout(()=>history.forward(),0); 0")
			r.sameAsChromium(t, r.settled(t, 2, "http://b.test/box"))
			for _, n := range watch.Take().Navigations {
				if n.Restored {
					restored++
				}
			}
		}
		if restored == 0 && strings.HasSuffix(t.Name(), "/chromium") {
			t.Error("nothing came back from the bfcache, so nothing was shown about it")
		}
	})
}

func TestEveryFrameIsReachable(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, nest, browser)
		for url, frames := range map[string]int{"http://a.test/nest": nestFrames, "http://a.test/box": 2} {
			r.open(t, url)
			s := r.await(t, func(s *Snapshot) bool { return s.URL == url && len(s.Frames) == frames })
			for _, f := range s.Frames {
				w, err := r.Page().WorldIn(t.Context(), f.ID)
				if err != nil {
					t.Errorf("%q %s: %v", f.Name, f.URL, err)
					continue
				}
				got := evalIn(t, w.Session, runtime.EvaluateParams{Expression: "installed + ' ' + location.href", UniqueContextID: w.UniqueID})
				if got != "yes "+f.URL {
					t.Errorf("%q: %q, want the world of %s", f.Name, got, f.URL)
				}
			}
		}
		_, err := r.Page().WorldIn(t.Context(), "no such frame")
		mustErr(t, err, ErrFrameUnknown)
	})
}

func TestAFrameOfTheSameProcessHasNoSessionOfItsOwn(t *testing.T) {
	t.Parallel()
	r := startRig(t, nest)
	r.open(t, "http://a.test/nest")
	s := r.settled(t, nestFrames, "http://a.test/nest")
	own := map[string]bool{}
	for _, f := range s.Frames {
		own[f.Name] = f.OOPIF
		if f.OOPIF == (f.Session == r.Page().session.ID()) && f.Name != "near" {
			t.Errorf("%+v", f)
		}
	}
	want := map[string]bool{"": false, "same": false, "doc": false, "empty": false, "cross": true, "near": false, "far": true}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("own processes (-want +got):\n%s", diff)
	}
}

func TestTheTreeOfAPDFNamesItsFrames(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, pages{"/": "x", "/doc.pdf": "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>"}, browser)
		r.open(t, "http://a.test/")
		pending, err := r.Page().Send(page.CommandNavigate, page.NavigateParams{URL: "http://a.test/doc.pdf"})
		if err != nil {
			t.Fatal(err)
		}
		if err := pending.Wait(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		s := r.Page().Snapshot()
		for _, f := range s.Frames {
			if f.ParentID == "" && f.ID != s.FrameID {
				t.Errorf("two main frames: %+v", s.Frames)
			}
		}
	})
}
