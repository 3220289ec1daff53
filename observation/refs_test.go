package observation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestRefsMeanTheSameNode(t *testing.T) {
	t.Parallel()
	r := newAgent(t, pagetest.Open(t))
	r.page.Load(r.ctx, t, `<button>A</button><button>B</button><button>C</button>`)
	refs := func() string {
		var out []string
		for _, e := range r.observe().Elements {
			out = append(out, e.Name+"="+string(e.Ref))
		}
		return strings.Join(out, " ")
	}
	for _, step := range []struct{ change, want string }{
		{"0", "A=e1 B=e2 C=e3"},
		{"document.body.append(document.querySelector('button'))", "B=e2 C=e3 A=e1"},
		{"document.querySelector('button').textContent='Z'", "Z=e2 C=e3 A=e1"},
		{"x=document.querySelector('button');x.replaceWith(x.cloneNode(true))", "Z=e4 C=e3 A=e1"},
		{"document.querySelector('button').before(x)", "Z=e2 Z=e4 C=e3 A=e1"},
	} {
		r.page.Eval(r.ctx, t, step.change+";0")
		if got := refs(); got != step.want {
			t.Errorf("after %s: %s, want %s", step.change, got, step.want)
		}
	}
	r.page.Load(r.ctx, t, `<button>A</button>`)
	if got := refs(); got != "A=e5" {
		t.Errorf("in a new document: %s", got)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	r := newAgent(t, pagetest.Open(t))
	r.page.Load(r.ctx, t, `<button>A</button>`)
	obs := r.observe()
	if obs.ID != "o-1-1" || obs.Generation != 1 {
		t.Errorf("observation %s of generation %d", obs.ID, obs.Generation)
	}
	for _, tc := range []struct {
		ref  protocol.Ref
		id   protocol.ObservationID
		code protocol.Code
	}{
		{"e1", "", ""},
		{"e1", "o-1-1", ""},
		{"e1", "o-1-77", ""},
		{"e2", "", protocol.CodeStaleRef},
		{"e1", "o-0-1", protocol.CodeStaleRef},
		{"e1", "o-2-1", protocol.CodeStaleRef},
		{"e1", "junk", protocol.CodeStaleRef},
	} {
		_, err := r.observer.Resolve(tc.ref, tc.id)
		if (err == nil) != (tc.code == "") || (err != nil && err.Code != tc.code) {
			t.Errorf("%s of %q: %v, want %q", tc.ref, tc.id, err, tc.code)
		}
	}
	r.page.Eval(r.ctx, t, "document.querySelector('button').textContent='Z';0")
	if again := r.observe(); again.Elements[0].Ref != "e1" {
		t.Fatalf("the same button is %s", again.Elements[0].Ref)
	}
	for id, want := range map[protocol.ObservationID]protocol.Code{"o-1-1": protocol.CodeRefChanged, "o-1-2": "", "": ""} {
		if _, err := r.observer.Resolve("e1", id); (err == nil) != (want == "") || err != nil && err.Code != want {
			t.Errorf("a button with another text, by observation %q: %v, want %q", id, err, want)
		}
	}
	if _, err := observation.New(2).Resolve("e1", ""); err == nil || err.Dispatched != protocol.DispatchedNo {
		t.Errorf("a ref of another generation: %v", err)
	}
}

// TestNeverTheWrongElement changes the page at random between observation and
// click: a click lands on the element that was shown, or on none.
func TestNeverTheWrongElement(t *testing.T) {
	t.Parallel()
	r := newAgent(t, pagetest.Open(t))
	r.page.Load(r.ctx, t, `<ul id=l></ul><script>
		let n=0, hit=[];
		function row(){const li=document.createElement("li"),k=++n;li.innerHTML="<h3>Row "+k+"</h3><button>Delete</button>";li.dataset.k=k;return li}
		l.onclick=e=>e.target.tagName==="BUTTON"&&hit.push(e.target.parentNode.dataset.k);
		function relabel(li){li.dataset.k=++n;li.querySelector("h3").textContent="Row "+n}
		for(let i=0;i<6;i++)l.append(row())</script>`)
	random := rand.New(rand.NewPCG(7, 11))
	changes := []string{
		"l.insertBefore(row(),l.children[%d])", "l.append(l.children[%d])", "l.children[%d].remove();l.append(row())",
		"relabel(l.children[%d])", "x=l.children[%d];x.replaceWith(x.cloneNode(true))", "l.prepend(l.children[%d])", "%d",
	}
	landed := 0
	for range 40 {
		obs := r.observe()
		at := random.IntN(len(obs.Elements))
		pick := obs.Elements[at]
		label := obs.Groups[slices.IndexFunc(obs.Groups, func(g protocol.Group) bool { return g.Ref == pick.Group })].Label
		for range random.IntN(3) {
			r.page.Eval(r.ctx, t, fmt.Sprintf(changes[random.IntN(len(changes))], min(at, 4)*random.IntN(2))+";0")
		}
		r.page.Eval(r.ctx, t, "hit=[];0")
		delete(r.failed, 0)
		r.perform(0, protocol.KindClick, map[string]any{"element_ref": pick.Ref})
		got := r.page.Eval(r.ctx, t, "hit.map(k=>'Row '+k).join()")
		switch {
		case r.failed[0] == "" && got == label:
			landed++
		case r.failed[0] != "" && got == "":
		default:
			t.Fatalf("the click on %s (%s) hit %q, error %q", pick.Ref, label, got, r.failed[0])
		}
	}
	if landed == 0 || landed == 40 {
		t.Errorf("%d of 40 clicks landed: the test shows nothing", landed)
	}
}

func TestRecordsAndRanking(t *testing.T) {
	t.Parallel()
	r := newAgent(t, pagetest.Open(t))
	var items strings.Builder
	for i := range 12 {
		fmt.Fprintf(&items, `<li><a href="/vote%d">▲</a> <a href="/item%d">A longer title %d</a> by <a href="/user%d">ann</a></li>`, i, i, i, i)
	}
	r.page.Load(r.ctx, t, `<nav><a href=/home>Home</a></nav><form role=search><input type=search aria-label=Query><button>Find</button></form><ol>`+items.String()+
		`</ol><dl><dt><a href=/t1>Term</a></dt><dd>first <a href=/d1>see</a></dd><dt>B</dt><dd>b</dd><dt>C</dt><dd>c</dd></dl>
		<ul><li>`+strings.Repeat("Prose that mentions ", 9)+`<a href=/m>this</a></li><li>2</li><li>3</li></ul>
		<div class=pager><a href="?p=1">1</a><a href="?p=2">2</a><a href="?p=2">Next</a></div><p><a href=/body>2</a></p><footer><a href=/imprint>Imprint</a></footer>`)
	obs, err := r.observer.Observe(r.ctx, r.page, budget(protocol.ModeInteractive))
	if err != nil {
		t.Fatal(err)
	}
	tiers := map[int][]string{}
	for _, e := range obs.Elements {
		tiers[e.Tier] = append(tiers[e.Tier], e.Name)
	}
	for tier, want := range map[int][]string{
		1: {"Query", "Find", "1", "2", "Next"}, 2: {"Home"}, 4: {"2"},
	} {
		if diff := cmp.Diff(want, tiers[tier]); diff != "" {
			t.Errorf("tier %d (-want +got):\n%s", tier, diff)
		}
	}
	if len(tiers[3]) != 13 || tiers[3][0] != "A longer title 0" {
		t.Errorf("titles: %q", tiers[3])
	}
	if !slices.Contains(tiers[5], "this") || !slices.Contains(tiers[3], "Term") {
		t.Errorf("a mention is tier 5 and a term tier 3: %v", tiers)
	}
	if last := obs.Elements[len(obs.Elements)-1]; last.Name != "Imprint" || last.Section != "contentinfo" {
		t.Errorf("last is %+v", last)
	}
	if g := obs.Groups[0]; g.Label != "A longer title 0" || len(g.Elements) != 3 {
		t.Errorf("first group: %+v", g)
	}
	if obs.TotalElements != len(obs.Elements) || obs.ElementsTruncated {
		t.Errorf("%d of %d, truncated=%v", len(obs.Elements), obs.TotalElements, obs.ElementsTruncated)
	}
	few := protocol.ObserveBudget{Mode: protocol.ModeSummary, Elements: 6, MaxTier: 3, TextChars: 10}
	cut, err := r.observer.Observe(r.ctx, r.page, few)
	if err != nil {
		t.Fatal(err)
	}
	if len(cut.Elements) != 6 || !cut.ElementsTruncated || cut.TotalElements != obs.TotalElements {
		t.Errorf("%d of %d, truncated=%v", len(cut.Elements), cut.TotalElements, cut.ElementsTruncated)
	}
	if len([]rune(cut.Text)) != 10 || !cut.TextTruncated || cut.TotalTextChars <= 10 {
		t.Errorf("text %q of %d", cut.Text, cut.TotalTextChars)
	}
	if cut.Elements[0].Ref != obs.Elements[0].Ref {
		t.Errorf("the same element is %s and %s", obs.Elements[0].Ref, cut.Elements[0].Ref)
	}
}

func TestDigestTellsPagesApart(t *testing.T) {
	t.Parallel()
	r := newAgent(t, pagetest.Open(t))
	r.page.Load(r.ctx, t, `<title>T</title><button id=b>A</button><p id=p>x</p><input id=i aria-label=I>`)
	seen := map[string]string{}
	for _, change := range []string{
		"0", "b.textContent='B'", "p.textContent='y'", "document.title='U'", "location.hash='h'", "b.disabled=true", "i.value='v'",
		"p.textContent='z'.repeat(20000)+'1'", "p.textContent='z'.repeat(20000)+'2'",
	} {
		r.page.Eval(r.ctx, t, change+";0")
		first, second := r.observe(), r.observe()
		if first.Digest != second.Digest || len(first.Digest) != 64 {
			t.Errorf("the digest changed without a reason: %s, %s", first.Digest, second.Digest)
		}
		if other, ok := seen[first.Digest]; ok {
			t.Errorf("%s and %s have the same digest", change, other)
		}
		seen[first.Digest] = change
	}
}

func TestScreenshot(t *testing.T) {
	t.Parallel()
	r := newAgent(t, pagetest.Open(t))
	r.page.Load(r.ctx, t, `<body style="margin:0"><div style="height:2000px;background:linear-gradient(red,blue)">x</div>`)
	for _, tc := range []struct {
		args  protocol.ScreenshotArgs
		media string
		high  int
	}{
		{protocol.ScreenshotArgs{}, "image/jpeg", 800},
		{protocol.ScreenshotArgs{Format: "png", FullPage: true}, "image/png", 2000},
	} {
		shot, err := observation.New(1).Screenshot(r.ctx, r.page, tc.args)
		if err != nil {
			t.Fatal(err)
		}
		if shot.MediaType != tc.media || shot.Width != 1280 || shot.Height != tc.high || shot.Bytes != len(shot.Data) || shot.Bytes < 1000 {
			t.Errorf("%+v gave %s %dx%d, %d bytes", tc.args, shot.MediaType, shot.Width, shot.Height, shot.Bytes)
		}
	}
	r.page.Eval(r.ctx, t, `document.body.innerHTML='<canvas id=c width=1280 height=800></canvas>';g=c.getContext('2d');d=g.createImageData(1280,800);
		for(i=0;i<d.data.length;i++)d.data[i]=Math.random()*256;g.putImageData(d,0,0);0`)
	_, err := observation.New(1).Screenshot(r.ctx, r.page, protocol.ScreenshotArgs{Format: "png"})
	if err == nil || err.Code != protocol.CodeResultTooLarge || !strings.Contains(err.Message, "jpeg") {
		t.Errorf("a picture that is too large: %v", err)
	}
	r.page.Eval(r.ctx, t, `document.body.innerHTML='<div style="height:20000px">';0`)
	_, err = observation.New(1).Screenshot(r.ctx, r.page, protocol.ScreenshotArgs{FullPage: true})
	if err == nil || err.Code != protocol.CodeResultTooLarge || err.Dispatched != protocol.DispatchedNo {
		t.Errorf("a page that is too large: %v", err)
	}
}
