package action_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// notes is a page that writes down what comes to it.
const notes = `<script>got=[];for(const t of ["mousedown","mouseup","click","auxclick","dblclick","contextmenu"])
	addEventListener(t,e=>got.push([t,e.button,e.detail,e.altKey?"A":"",e.ctrlKey?"C":"",e.metaKey?"M":"",e.shiftKey?"S":""].join("")))</script>`

func TestClickWithAnyButtonCountAndModifiers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args object
		want string
	}{
		{"plain", object{}, "mousedown01 mouseup01 click01"},
		{"double", object{"count": 2}, "mousedown01 mouseup01 click01 mousedown02 mouseup02 click02 dblclick02"},
		{"triple", object{"count": 3}, "mousedown01 mouseup01 click01 mousedown02 mouseup02 click02 dblclick02 mousedown03 mouseup03 click03"},
		{"right", object{"button": "right"}, "mousedown21 contextmenu20 mouseup21 auxclick21"},
		{"middle", object{"button": "middle"}, "mousedown11 mouseup11 auxclick11"},
		{"with keys held", object{"modifiers": []string{"Shift", "Alt"}}, "mousedown01AS mouseup01AS click01AS"},
		{"with all keys held", object{"modifiers": []string{"Shift", "Alt", "Meta", "Control"}}, "mousedown01ACMS mouseup01ACMS click01ACMS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, notes+`<button>Go</button>`)
			tc.args["element_ref"] = a.ref("Go")
			a.ok(protocol.KindClick, tc.args)
			a.probe("got.join(' ')", tc.want)
			a.ok(protocol.KindClick, object{"element_ref": a.ref("Go")}) // no menu is in the way
			a.probe("got.at(-1)", "click01")
		})
	}
}

func TestClickAtAPlaceInTheBox(t *testing.T) {
	t.Parallel()
	a := on(t, `<div style="height:1200px"></div><div style="height:150px;width:300px;overflow:auto"><button style="border:0;width:900px;height:2000px"
		onclick="at=[event.offsetX,event.offsetY].join()">Big</button></div><div style="height:900px"></div><script>at=""</script>`)
	big := a.ref("Big")
	for _, place := range []string{"3,5", "880,1990", "450,7"} {
		x, y, _ := strings.Cut(place, ",")
		a.ok(protocol.KindClick, object{"element_ref": big, "offset": object{"x": number(t, x), "y": number(t, y)}})
		a.probe("at", place)
	}
	a.page.Eval(a.ctx, t, `at="";0`)
	failed := a.fails(protocol.KindClick, object{"element_ref": big, "offset": object{"x": 900, "y": 1}}, protocol.CodeInvalidArgument, protocol.DispatchedNo)
	if !strings.Contains(failed.Message, "900 x 2000") {
		t.Errorf("%q does not say how large it is", failed.Message)
	}
	a.page.Eval(a.ctx, t, `c=document.createElement("div");c.style="position:fixed;left:0;top:0;width:100%;height:100%";c.ariaLabel="Veil";document.body.append(c);0`)
	a.fails(protocol.KindClick, object{"element_ref": big, "offset": object{"x": 1, "y": 1}}, protocol.CodeCovered, protocol.DispatchedNo)
	a.probe("at", "")
}

// TestAClickThatMissesIsKeptFromThePage: what slides under the pointer gets nothing,
// with any button; and a click that found its target in the end is one.
func TestAClickThatMissesIsKeptFromThePage(t *testing.T) {
	t.Parallel()
	const page = `<button style="position:fixed;left:40px;top:40px" onclick="n++" onauxclick="n++" oncontextmenu="n++">Go</button>
		<div id=trap role=button aria-label=Trap style="display:none;position:fixed;inset:0"></div><script>n=0;got=[];moved=0;ready=0;
		for(const t of ["pointerdown","mousedown","pointerup","mouseup","click","auxclick","dblclick","contextmenu"])trap.addEventListener(t,()=>got.push(t))
		window.addEventListener("mousemove",()=>{if(!ready)return;moved++;trap.style.display=STAY?"block":moved==1?"block":"none"});setInterval(()=>{if(!STAY)trap.style.display="none"},60)</script>`
	for _, button := range []string{"left", "right", "middle"} {
		for name, stay := range map[string]string{"for good": "true", "for a moment": "false"} {
			t.Run(button+" "+name, func(t *testing.T) {
				t.Parallel()
				a := on(t, strings.ReplaceAll(page, "STAY", stay))
				args := object{"element_ref": a.ref("Go"), "button": button, "count": 2}
				a.page.Eval(a.ctx, t, "ready=1")
				if stay == "true" {
					failed := a.fails(protocol.KindClick, args, protocol.CodeCovered, protocol.DispatchedUnknown)
					if !strings.Contains(failed.Message, `button "Trap"`) {
						t.Errorf("%q does not name the trap", failed.Message)
					}
					a.probe("n", 0.0)
				} else {
					a.ok(protocol.KindClick, args)
					a.probe("n>=2", true)
				}
				a.probe("got.join()", "")
			})
		}
	}
}

// TestTheSecondClickOfTwoIsJudgedByItself: the first one opened something.
func TestTheSecondClickOfTwoIsJudgedByItself(t *testing.T) {
	t.Parallel()
	a := on(t, `<button onclick="n++;d.style.display='block'">Go</button><div id=d role=button aria-label=Buy style="display:none;position:fixed;inset:0" onclick="bought=1"></div><script>n=0;bought=0</script>`)
	failed := a.fails(protocol.KindClick, object{"element_ref": a.ref("Go"), "count": 2}, protocol.CodeCovered, protocol.DispatchedYes)
	if !strings.Contains(failed.Message, "1 of 2") || !strings.Contains(failed.Message, "Buy") {
		t.Errorf("%q", failed.Message)
	}
	a.probe("n", 1.0)
	a.probe("bought", 0.0)
}

// TestAClickThatNobodyHeardOf: a frame of another site slid in front of the
// button, and no guard of the page heard of the click.
func TestAClickThatNobodyHeardOf(t *testing.T) {
	t.Parallel()
	a := on(t, `<button onclick="n++">Go</button><script>n=0;ready=0;window.addEventListener("mousemove",()=>{if(!ready--)return;const f=document.createElement("iframe");
		f.style="position:fixed;inset:0;width:100%;height:100%;border:0";f.srcdoc="<p>x";document.body.append(f)})</script>`)
	ref := a.ref("Go")
	a.page.Eval(a.ctx, t, "ready=1")
	a.fails(protocol.KindClick, object{"element_ref": ref}, protocol.CodeActionFailed, protocol.DispatchedUnknown)
	a.probe("n", 0.0)
}

func TestHover(t *testing.T) {
	t.Parallel()
	a := on(t, `<style>#m{display:none}#h:hover #m{display:block}</style><div style="height:1500px"></div><button>Far</button>
		<div id=h><button aria-haspopup=menu onmouseenter="n++" onmousedown="n=99">Menu</button><div id=m><a href=#x>Item</a></div></div><div style="height:900px"></div><script>n=0</script>`)
	a.ok(protocol.KindHover, object{"element_ref": a.ref("Far")})
	did := a.ok(protocol.KindHover, object{"element_ref": a.ref("Menu")})
	if did.Dispatched != protocol.DispatchedYes || a.begun != 1 {
		t.Errorf("dispatched %s, %d times", did.Dispatched, a.begun)
	}
	a.probe("n", 1.0)
	a.ok(protocol.KindClick, object{"element_ref": a.ref("Item")})
	a.probe("location.hash", "#x")
	a.fails(protocol.KindHover, object{"element_ref": a.ref("Menu"), "offset": object{"x": 4000, "y": 0}}, protocol.CodeInvalidArgument, protocol.DispatchedNo)
}

func TestHoverAndClickOptionsInFrames(t *testing.T) {
	t.Parallel()
	a := framesPage(t)
	for _, frame := range []string{"doc", "leaf"} {
		button := a.refOf(frame + " button")
		a.ok(protocol.KindHover, object{"element_ref": button, "offset": object{"x": 2, "y": 2}})
		a.ok(protocol.KindClick, object{"element_ref": button, "count": 2, "offset": object{"x": 3, "y": 3}})
		a.told(frame+" click", frame+" click")
		a.ok(protocol.KindClick, object{"element_ref": button, "button": "middle"})
		a.ok(protocol.KindClick, object{"element_ref": button})
		a.told(frame + " click")
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
