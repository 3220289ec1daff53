package supervisor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/google/go-cmp/cmp"
)

func TestPopupsAreClosedAndRecorded(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/":  `<body style="margin:0"><a target=_blank rel=noopener href="/blank" style="display:block;width:200px;height:100px">x</a>`,
		"/w": "popup", "/blank": "popup",
	})
	r.open(t, "http://a.test/")
	watch := r.Page().Watch()
	defer watch.Close()
	if got := r.eval(t, "window.w = window.open('http://b.test/w?x=1'); 1+1"); got != "2" {
		t.Errorf("opener: %q", got)
	}
	r.await(t, func(s *Snapshot) bool { return len(s.Popups) == 1 })
	clickAt(t, r.Page(), 50, 50)
	s := r.await(t, func(s *Snapshot) bool { return len(s.Popups) == 2 })
	if got := r.eval(t, "1+1"); got != "2" {
		t.Errorf("the opener does not answer: %q", got)
	}
	var urls []string
	for _, popup := range s.Popups {
		urls = append(urls, popup.URL)
	}
	if diff := cmp.Diff([]string{"http://b.test/w?x=1", "http://a.test/blank"}, urls); diff != "" {
		t.Errorf("popups (-want +got):\n%s", diff)
	}
	if h := watch.Take(); len(h.Popups) != 2 {
		t.Errorf("watch: %+v", h.Popups)
	}
	// The other one has to be released to be closed, which is a race.
	if n := r.proxy.requests("/blank"); n != 0 {
		t.Errorf("the popup without opener made %d requests", n)
	}
	if s.URL != "http://a.test/" {
		t.Errorf("the page is at %s", s.URL)
	}
}

func TestAPopupThatAlertsAtOnceStopsNobody(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>", "/p": "<script>alert('popup')</script>"})
	r.open(t, "http://a.test/")
	if got := r.eval(t, "for (let i=0;i<5;i++) open('/p'); 1+1"); got != "2" {
		t.Errorf("opener: %q", got)
	}
	r.await(t, func(s *Snapshot) bool { return len(s.Popups) == 5 })
}

func TestDownloadsAreDeniedAndRecorded(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>", "/x.bin": "data"})
	r.open(t, "http://a.test/")
	res, err := protocol.Call(t.Context(), r.Page(), page.Navigate, page.NavigateParams{URL: "http://a.test/x.bin"})
	if err != nil || res.ErrorText == "" || !res.IsDownload {
		t.Errorf("navigate: %+v %v", res, err)
	}
	s := r.await(t, func(s *Snapshot) bool { return len(s.Downloads) == 1 })
	if d := s.Downloads[0]; d.URL != "http://a.test/x.bin" || d.FileName != "x.bin" {
		t.Errorf("download: %+v", d)
	}
	if s.URL != "http://a.test/" {
		t.Errorf("the page left: %s", s.URL)
	}
}

func TestFramesOfAllKindsAreListedWithTheirWorlds(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/":      `<iframe name=same src="/same"></iframe><iframe name=cross src="http://b.test/cross"></iframe><iframe name=doc srcdoc="<p>doc</p>"></iframe>`,
		"/same":  "<p>same</p>",
		"/cross": `<iframe name=nested src="http://c.test/nested"></iframe>`, "/nested": "<p>nested</p>",
		"/b": "<title>b</title>",
	})
	r.open(t, "http://a.test/")
	s := r.await(t, func(s *Snapshot) bool { return len(s.Frames) == 5 && len(r.worldsOf(s)) == 5 })
	var got []string
	for _, f := range s.Frames {
		kind := ""
		if f.OOPIF {
			kind = " oopif"
		}
		got = append(got, f.Name+" "+f.URL+kind)
	}
	slices.Sort(got)
	want := []string{
		" http://a.test/", "cross http://b.test/cross oopif", "doc about:srcdoc",
		"nested http://c.test/nested oopif", "same http://a.test/same",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	for _, w := range r.Page().Worlds() {
		got := evalIn(t, w.Session, runtime.EvaluateParams{Expression: "installed", UniqueContextID: w.UniqueID})
		if got != "yes" || w.LoaderID == "" {
			t.Errorf("world %+v: installed = %q", w, got)
		}
	}
	r.eval(t, "document.querySelector('[name=cross]').remove()")
	r.await(t, func(s *Snapshot) bool { return len(s.Frames) == 3 })
	s = r.open(t, "http://a.test/b")
	if len(s.Frames) != 1 {
		t.Errorf("frames of an earlier document stay: %+v", s.Frames)
	}
}

// worldsOf may be called under the page's lock, from a condition.
func (r *rig) worldsOf(s *Snapshot) []World {
	p := r.Page()
	var worlds []World
	for _, f := range s.Frames {
		if w, ok := p.worldLocked(p.sessions[f.Session], f.ID); ok {
			worlds = append(worlds, w)
		}
	}
	return worlds
}

func TestAFrameThatMovesBetweenProcessesKeepsItsIdentity(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": `<iframe id=f src="/c"></iframe>`, "/c": "<p>c</p>"})
	r.open(t, "http://a.test/")
	for _, url := range []string{"http://b.test/c", "http://a.test/c", "http://c.test/c", "http://a.test/c"} {
		r.eval(t, "f.src='"+url+"'")
		s := r.await(t, func(s *Snapshot) bool {
			return len(s.Frames) == 2 && s.Frames[1].URL == url && len(r.worldsOf(s)) == 2
		})
		if oopif := !strings.HasPrefix(url, "http://a."); s.Frames[1].OOPIF != oopif {
			t.Errorf("%s: %+v", url, s.Frames[1])
		}
	}
}

func TestSameDocumentNavigationAndRedirectsAreSeen(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>", "/go": "<script>location.replace('/')</script>"})
	before := r.open(t, "http://a.test/")
	watch := r.Page().Watch()
	defer watch.Close()
	r.eval(t, "history.pushState(0,'','/pushed#frag')")
	s := r.await(t, func(s *Snapshot) bool { return s.URL == "http://a.test/pushed#frag" })
	if s.LoaderID != before.LoaderID || s.Commits != before.Commits {
		t.Errorf("pushState counts as a document: %+v", s)
	}
	if h := watch.Take(); len(h.Navigations) != 1 || !h.Navigations[0].SameDocument {
		t.Errorf("watch: %+v", h.Navigations)
	}
	r.eval(t, "location.href='/go'")
	r.await(t, func(s *Snapshot) bool {
		return s.URL == "http://a.test/" && s.Commits == before.Commits+2 && s.Lifecycle.Load
	})
}

func TestFailedRequestsAndConsoleAreCollected(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	r.open(t, "http://a.test/")
	watch := r.Page().Watch()
	defer watch.Close()
	r.eval(t, "console.error('bad', 7); console.log('said'); setTimeout(()=>{throw new Error('boom')}); fetch('https://c.test/x').catch(()=>console.warn('done'))")
	s := r.await(t, func(s *Snapshot) bool { return len(s.Console) == 4 && s.InFlight == 0 })
	var texts []string
	for _, m := range s.Console {
		text, _, _ := strings.Cut(m.Level+" "+m.Text, "\n")
		texts = append(texts, text)
	}
	slices.Sort(texts)
	if diff := cmp.Diff([]string{"error bad 7", "exception Uncaught Error: boom", "log said", "warning done"}, texts); diff != "" {
		t.Errorf("console (-want +got):\n%s", diff)
	}
	h := watch.Take()
	if len(h.Failed) != 1 || h.Failed[0].URL != "https://c.test/x" || h.Failed[0].Error != "net::ERR_TUNNEL_CONNECTION_FAILED" {
		t.Errorf("failed: %+v", h.Failed)
	}
}

func TestWorkersAndServiceWorkersAreNotLeftPaused(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>", "/sw.js": "onmessage=e=>e.source.postMessage('served')"})
	r.open(t, "http://a.test/")
	yes := true
	got := evalIn(t, r.Page(), runtime.EvaluateParams{AwaitPromise: &yes, Expression: `new Promise(done => {
		const w = new Worker(URL.createObjectURL(new Blob(['postMessage("ran")'])));
		w.onmessage = e => done(e.data);
	})`})
	if got != "ran" {
		t.Errorf("worker: %q", got)
	}
	got = evalIn(t, r.Page(), runtime.EvaluateParams{AwaitPromise: &yes, Expression: `new Promise(done => {
		const w = new SharedWorker(URL.createObjectURL(new Blob(['onconnect=e=>e.ports[0].postMessage("shared")'])));
		w.port.onmessage = e => done(e.data);
	})`})
	if got != "shared" {
		t.Errorf("shared worker: %q", got)
	}
	r.open(t, r.site.URL+"/") // a secure context
	got = evalIn(t, r.Page(), runtime.EvaluateParams{AwaitPromise: &yes, Expression: `(async () => {
		navigator.serviceWorker.register('/sw.js');
		const reg = await navigator.serviceWorker.ready;
		return new Promise(done => {
			navigator.serviceWorker.onmessage = e => done(e.data);
			reg.active.postMessage('hello');
		});
	})()`})
	if got != "served" {
		t.Errorf("service worker: %q", got)
	}
}

func TestEmulationReachesCrossSiteFrames(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": `<iframe src="http://b.test/c"></iframe>`, "/c": "<p>c</p>"}, func(c *Config) {
		c.Locale, c.Timezone, c.UserAgent = "de-DE", "Asia/Tokyo", "browserfleet-test/1"
		c.Viewport = Viewport{Width: 900, Height: 500, Scale: 2}
	})
	r.open(t, "http://a.test/")
	r.await(t, func(s *Snapshot) bool { return len(r.worldsOf(s)) == 2 })
	const expression = "[(1.5).toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent].join(' ')"
	for _, w := range r.Page().Worlds() {
		got := evalIn(t, w.Session, runtime.EvaluateParams{Expression: expression, UniqueContextID: w.UniqueID})
		if got != "1,5 Asia/Tokyo browserfleet-test/1" {
			t.Errorf("frame %s: %q", w.FrameID, got)
		}
	}
	if got := r.eval(t, "[innerWidth, innerHeight, devicePixelRatio].join(' ')"); got != "900 500 2" {
		t.Errorf("viewport: %q", got)
	}
}

// A parent that keeps removing frames which keep asking can hit the moment between
// our answer and the removal. The browser may then be lost, but never silently.
func TestFramesThatAskAndVanishDoNotHangTheSupervisor(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		// Each frame says that it asks, and goes a moment later, however slow the machine.
		"/": `<script>onmessage=e=>{const f=[...document.querySelectorAll('iframe')].find(f=>f.contentWindow===e.source);
			if(f)setTimeout(()=>f.remove(), Math.random()*100)};
			setInterval(()=>{if(document.querySelectorAll('iframe').length>3)return;const f=document.createElement('iframe');
			f.src='http://b.test/c';document.body.append(f)}, 60)</script><body>`,
		"/c": "<script>parent.postMessage('asks','*');for(let i=0;i<9;i++)confirm(i)</script>",
	}, dismissing, func(c *Config) {
		c.Heartbeat = Heartbeat{Interval: 100 * time.Millisecond, Deadline: 4 * time.Second, Misses: 2}
	})
	if _, err := r.Page().Send(page.CommandNavigate, page.NavigateParams{URL: "http://a.test/"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := r.Page().Await(ctx, func(s *Snapshot) bool { return s.Orphaned || r.Page().dialogs > 60 })
	switch {
	case errors.Is(err, ErrWedged), errors.Is(err, ErrExited), errors.Is(err, ErrConnection):
		t.Log("the browser was lost, and noticed")
	case err != nil:
		t.Fatal(err)
	default:
		t.Logf("%d dialogs, orphaned %v", len(s.RecentDialogs), s.Orphaned)
	}
}

func TestTheDefaultContextCanLoadNothing(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	// What a confused layer above could do by hand, outside of the context.
	events, cancel := r.Page().Browser().Subscribe("Target.attachedToTarget")
	defer cancel()
	var created struct {
		TargetID string `json:"targetId"`
	}
	err := r.Page().Browser().Call(t.Context(), "Target.createTarget", map[string]any{"url": r.site.URL + "/"}, &created)
	if err != nil {
		t.Fatal(err)
	}
	<-events // it was attached, and closed as nobody's page
	if s := r.Page().Snapshot(); len(s.Popups) != 0 {
		t.Errorf("a page of another context counts as a popup: %+v", s.Popups)
	}
	if n := r.proxy.requests("127.0.0.1"); n != 0 {
		t.Errorf("%d requests of the default context reached the environment's proxy", n)
	}
}

func TestCallsNameWhatTheyWereRefusedFor(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{})
	err := r.Page().Call(t.Context(), "No.such", nil, nil)
	if reply, ok := err.(*cdp.Error); !ok || reply.Code != -32601 || cdp.MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
}
