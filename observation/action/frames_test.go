package action_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// controls are a form whose parts tell the page what a user did to them.
func controls(frame string) string {
	return strings.NewReplacer("FRAME", frame, "TELL", "top.postMessage").Replace(`<div style="height:900px"></div>
		<button onclick="TELL('FRAME click','*')">FRAME button</button><button onclick="TELL('FRAME wrong','*')">FRAME other</button>
		<input aria-label="FRAME text" onchange="TELL('FRAME text '+value,'*')" onkeydown="if(event.key=='Enter')TELL('FRAME enter '+value,'*')">
		<input type=date aria-label="FRAME date" onchange="TELL('FRAME date '+value,'*')">
		<select aria-label="FRAME select" onchange="TELL('FRAME select '+value,'*')"><option>a<option>b</select>
		<input type=checkbox aria-label="FRAME box" onchange="TELL('FRAME box '+checked,'*')"><div style="height:900px"></div>`)
}

// framesPage has controls in a frame of the page's process, in one of another site,
// scaled and far down, and in one of a third site within that.
func framesPage(t *testing.T) *agent {
	t.Helper()
	quoted := strings.ReplaceAll(controls("doc"), `"`, "&quot;")
	page := pagetest.OpenSites(t, map[string]string{
		"/": `<body style="margin:0"><script>got=[];onmessage=e=>got.push(e.data)</script><div style="height:1500px"></div>
			<div style="overflow:auto;height:300px"><div style="height:700px"></div><iframe srcdoc="` + quoted + `"></iframe></div>
			<div style="position:sticky;top:0;height:60px;background:#eee;z-index:2"></div>
			<div style="transform:translate(5px,9px) scale(.8)"><iframe style="margin-left:60px;border:7px solid;padding:11px;width:420px;height:1400px" src="http://alt.test/mid"></iframe></div>
			<div style="height:2500px"></div>`,
		"/mid":  controls("mid") + `<iframe style="width:300px;height:200px" src="http://third.test/leaf"></iframe><div style="height:800px"></div>`,
		"/leaf": controls("leaf"),
	})
	a := newAgent(t, page).patient()
	page.Navigate(a.ctx, t, "http://main.test/")
	return a
}

// patient gives an agent more time: several processes are slower than one.
func (a *agent) patient() *agent {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	a.t.Cleanup(cancel)
	a.ctx = ctx
	return a
}

// refOf waits for an element to be listed.
func (a *agent) refOf(name string) protocol.Ref {
	a.t.Helper()
	for a.ctx.Err() == nil {
		for _, e := range a.observe().Elements {
			if e.Name == name {
				return e.Ref
			}
		}
		pause(a, 20*time.Millisecond)
	}
	a.t.Fatalf("%s is never listed", name)
	return ""
}

// told waits for what a control tells the page; nothing else may be told.
func (a *agent) told(want ...string) {
	a.t.Helper()
	got := ""
	for a.ctx.Err() == nil {
		got, _ = a.page.Eval(a.ctx, a.t, "got.join('|')").(string)
		if got == strings.Join(want, "|") {
			a.page.Eval(a.ctx, a.t, "got=[];0")
			return
		}
		if n := len(strings.Split(got, "|")); got != "" && n > len(want) {
			break
		}
		pause(a, 20*time.Millisecond)
	}
	a.t.Fatalf("the page was told %q, want %q", got, want)
}

func pause(a *agent, d time.Duration) {
	select {
	case <-time.After(d):
	case <-a.ctx.Done():
	}
}

func TestActionsInFrames(t *testing.T) {
	t.Parallel()
	a := framesPage(t)
	for _, frame := range []string{"doc", "mid", "leaf"} {
		button := a.refOf(frame + " button")
		a.ok(protocol.KindClick, object{"element_ref": button})
		a.told(frame + " click")
		text := a.refOf(frame + " text")
		if did := a.ok(protocol.KindFill, object{"element_ref": text, "value": "Grüße 1"}); did.Value != "Grüße 1" {
			t.Errorf("%s: the field holds %q", frame, did.Value)
		}
		if did := a.ok(protocol.KindPress, object{"element_ref": text, "key": "Enter"}); did.Dispatched != protocol.DispatchedYes {
			t.Errorf("%s: press was dispatched %s", frame, did.Dispatched)
		}
		a.told(frame+" enter Grüße 1", frame+" text Grüße 1")
		a.ok(protocol.KindFill, object{"element_ref": a.refOf(frame + " date"), "value": "2026-12-01"})
		a.told(frame + " date 2026-12-01")
		a.ok(protocol.KindSelect, object{"element_ref": a.refOf(frame + " select"), "values": []string{"b"}})
		a.told(frame + " select b")
		a.ok(protocol.KindCheck, object{"element_ref": a.refOf(frame + " box"), "checked": true})
		a.told(frame + " box true")
		if did := a.ok(protocol.KindCheck, object{"element_ref": a.refOf(frame + " box"), "checked": true}); did.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s: a box that is checked was clicked", frame)
		}
		a.ok(protocol.KindScroll, object{"element_ref": button, "to": "top"})
		a.ok(protocol.KindClick, object{"element_ref": button})
		a.told(frame + " click")
	}
}

// TestAFrameThatIsCoveredOrTurned: a click must not land on what is above the frame,
// nor elsewhere in it.
func TestAFrameThatIsCoveredOrTurned(t *testing.T) {
	t.Parallel()
	page := pagetest.OpenSites(t, map[string]string{
		"/":   `<script>got=[];onmessage=e=>got.push(e.data)</script><iframe id=f src="http://alt.test/in"></iframe>`,
		"/in": controls("in"),
	})
	a := newAgent(t, page).patient()
	page.Navigate(a.ctx, t, "http://main.test/")
	button := a.refOf("in button")
	a.page.Eval(a.ctx, t, `c=document.createElement("div");c.style="position:fixed;inset:0";document.body.append(c);0`)
	a.fails(protocol.KindClick, object{"element_ref": button}, protocol.CodeCovered, protocol.DispatchedNo)
	a.page.Eval(a.ctx, t, `c.remove();f.style.transform="rotate(10deg)";0`)
	a.fails(protocol.KindClick, object{"element_ref": button}, protocol.CodeNotVisible, protocol.DispatchedNo)
	a.page.Eval(a.ctx, t, `f.style.transform="";f.style.visibility="hidden";0`)
	a.fails(protocol.KindClick, object{"element_ref": button}, protocol.CodeNotVisible, protocol.DispatchedNo)
	a.page.Eval(a.ctx, t, `f.style.visibility="";0`)
	a.ok(protocol.KindClick, object{"element_ref": button})
	a.told("in click")
}

// TestAClickThatMissesInAFrameIsKeptFromThePage: what slides under the pointer gets
// nothing.
func TestAClickThatMissesInAFrameIsKeptFromThePage(t *testing.T) {
	t.Parallel()
	page := pagetest.OpenSites(t, map[string]string{
		"/": `<script>got=[];onmessage=e=>got.push(e.data)</script><iframe id=f src="http://alt.test/in"></iframe>`,
		"/in": controls("in") + `<div id=trap style="display:none;position:fixed;inset:0" onpointerdown="top.postMessage('trap','*')" onclick="top.postMessage('trap','*')"></div>
			<script>onmousemove=()=>trap.style.display="block"</script>`,
	})
	a := newAgent(t, page).patient()
	page.Navigate(a.ctx, t, "http://main.test/")
	a.fails(protocol.KindClick, object{"element_ref": a.refOf("in button")}, protocol.CodeCovered, protocol.DispatchedUnknown)
	a.ok(protocol.KindSelect, object{"element_ref": a.refOf("in select"), "values": []string{"b"}})
	a.told("in select b")
}

// TestRefsOfFramesThatAreGone: a ref of a frame that was removed, has another document
// or lost its process is stale; a click that ends its frame was dispatched.
func TestRefsOfFramesThatAreGone(t *testing.T) {
	t.Parallel()
	page := pagetest.OpenSites(t, map[string]string{
		"/": `<script>onmessage=()=>f.remove()</script><iframe id=f src="http://alt.test/in"></iframe><button>Top</button>`,
		"/in": `<button onclick="parent.postMessage(1,'*')">Remove</button><input aria-label=Field><a href="http://third.test/next">Next</a>
			<button onclick="location='/next'">Go</button>`,
		"/next": `<button>There</button>`,
	})
	a := newAgent(t, page).patient()
	for _, end := range []string{`f.remove()`, `f.src="http://third.test/next"`, `f.src="/next"`} {
		page.Navigate(a.ctx, t, "http://main.test/")
		field, button := a.refOf("Field"), a.refOf("Remove")
		a.page.Eval(a.ctx, t, end+";0")
		a.gone("Field")
		a.fails(protocol.KindFill, object{"element_ref": field, "value": "x"}, protocol.CodeStaleRef, protocol.DispatchedNo)
		a.fails(protocol.KindClick, object{"element_ref": button}, protocol.CodeStaleRef, protocol.DispatchedNo)
		a.ok(protocol.KindWait, object{"until": "element-hidden", "element_ref": field})
		a.ok(protocol.KindClick, object{"element_ref": a.refOf("Top")})
	}
	for _, step := range []struct{ click, then string }{{"Next", "There"}, {"Go", "There"}, {"Remove", "Top"}} {
		page.Navigate(a.ctx, t, "http://main.test/")
		a.ok(protocol.KindClick, object{"element_ref": a.refOf(step.click)})
		a.gone(step.click)
		a.refOf(step.then)
	}
}

// gone waits until nothing of this name is listed.
func (a *agent) gone(name string) {
	a.t.Helper()
	for slices.ContainsFunc(a.observe().Elements, func(e protocol.Element) bool { return e.Name == name }) {
		pause(a, 20*time.Millisecond)
		if a.ctx.Err() != nil {
			a.t.Fatal(fmt.Sprint(name, " never goes"))
		}
	}
}
