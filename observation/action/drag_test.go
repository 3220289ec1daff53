package action_test

import (
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// columns are two lists whose cards are dragged by the browser: it carries data.
const columns = `<style>[role=listbox]{display:inline-block;width:200px;height:150px;vertical-align:top;background:#ddd}</style>
	<div role=listbox aria-label=Left tabindex=0 id=l><div role=option tabindex=0 draggable=true id=card style="width:90px">Card</div></div>
	<div role=listbox aria-label=Right tabindex=0 id=r></div><div role=button tabindex=0 aria-label=Nowhere style="width:80px;height:60px">x</div><script>
	card.ondragstart=e=>{e.dataTransfer.setData("text/card",e.target.id);r.ariaLabel="Drop here"};card.ondragend=()=>r.ariaLabel="Right";
	for(const c of [l,r]){c.ondragover=e=>e.preventDefault();c.ondrop=e=>{e.preventDefault();c.append(document.getElementById(e.dataTransfer.getData("text/card")))}}</script>`

func TestDragAndDrop(t *testing.T) {
	t.Parallel()
	a := on(t, `<div style="height:900px"></div>`+columns+`<div style="height:900px"></div>`)
	did := a.ok(protocol.KindDrag, object{"element_ref": a.ref("Card"), "to_ref": a.ref("Right")})
	if did.Verdict != protocol.VerdictDOMChanged || a.begun != 1 {
		t.Errorf("verdict %s, dispatched %d times", did.Verdict, a.begun)
	}
	a.probe("card.parentNode.id", "r")
	a.ok(protocol.KindDrag, object{"element_ref": a.ref("Card"), "offset": object{"x": 2, "y": 2}, "to_ref": a.ref("Left"), "to_offset": object{"x": 190, "y": 140}})
	a.probe("card.parentNode.id", "l")
	a.fails(protocol.KindDrag, object{"element_ref": a.ref("Card"), "to_ref": a.ref("Nowhere")}, protocol.CodeNoEffect, protocol.DispatchedYes)
	a.probe("card.parentNode.id", "l")
	a.ok(protocol.KindClick, object{"element_ref": a.ref("Nowhere")}) // no button stayed down
}

// board is a page that drags by pointer events, as sortable lists and sliders do.
const board = `<div role=button tabindex=0 aria-label=Piece id=p style="position:absolute;left:20px;top:20px;width:40px;height:40px;background:red;touch-action:none"></div>
	<div role=button tabindex=0 aria-label=Field id=f style="position:absolute;left:300px;top:200px;width:120px;height:90px;background:blue"></div><script>moves=0;at="";
	p.onpointerdown=e=>{p.setPointerCapture(e.pointerId);p.style.zIndex=9;const dx=e.clientX-p.offsetLeft,dy=e.clientY-p.offsetTop;
		p.onpointermove=e=>{moves++;p.style.left=e.clientX-dx+"px";p.style.top=e.clientY-dy+"px"};
		p.onpointerup=e=>{p.onpointermove=p.onpointerup=null;p.style.visibility="hidden";const under=document.elementFromPoint(e.clientX,e.clientY);p.style.visibility="";
			at=(under.ariaLabel||under.localName)+" "+p.offsetLeft+","+p.offsetTop}}</script>`

func TestDragByPointer(t *testing.T) {
	t.Parallel()
	a := on(t, board+`<input type=range min=0 max=100 value=0 aria-label=Volume style="position:absolute;left:20px;top:400px;width:200px;margin:0">`)
	a.ok(protocol.KindDrag, object{"element_ref": a.ref("Piece"), "offset": object{"x": 10, "y": 10}, "to_ref": a.ref("Field"), "to_offset": object{"x": 30, "y": 20}})
	a.probe("at", "Field 320,210")
	a.probe("moves>=5", true)
	a.ok(protocol.KindDrag, object{"element_ref": a.ref("Piece"), "by": object{"x": -200, "y": -100}})
	a.probe("at", "html 120,110")
	a.ok(protocol.KindDrag, object{"element_ref": a.ref("Volume"), "offset": object{"x": 8, "y": 8}, "by": object{"x": 92, "y": 0}})
	a.probe(`Math.abs(document.querySelector("input").value-50)<=2`, true)
}

func TestDragIsRefused(t *testing.T) {
	t.Parallel()
	a := on(t, board)
	piece, field := a.ref("Piece"), a.ref("Field")
	for _, tc := range []struct {
		between string
		args    object
		code    protocol.Code
	}{
		{"0", object{"to_ref": field, "to_offset": object{"x": 500, "y": 1}}, protocol.CodeInvalidArgument},
		{"c=document.createElement('div');c.style='position:fixed;left:250px;top:0;width:400px;height:600px';document.body.append(c);0", object{"to_ref": field}, protocol.CodeCovered},
		{"c.style.left=0;0", object{"by": object{"x": 5, "y": 5}}, protocol.CodeCovered},
		{"c.remove();f.remove();0", object{"to_ref": field}, protocol.CodeStaleRef},
	} {
		a.page.Eval(a.ctx, t, tc.between)
		tc.args["element_ref"] = piece
		a.fails(protocol.KindDrag, tc.args, tc.code, protocol.DispatchedNo)
	}
	a.probe("moves", 0.0)
}

// TestADragThatMissesTakesNothing: something slides under the pointer before the press.
func TestADragThatMissesTakesNothing(t *testing.T) {
	t.Parallel()
	a := on(t, board+`<div id=trap style="display:none;position:fixed;inset:0;z-index:99" onpointerdown="at='trap'"></div><script>ready=0;
		window.addEventListener("mousemove",()=>{if(ready)trap.style.display="block"})</script>`)
	piece := a.ref("Piece")
	a.page.Eval(a.ctx, t, "ready=1")
	failed := a.fails(protocol.KindDrag, object{"element_ref": piece, "by": object{"x": 50, "y": 0}}, protocol.CodeCovered, protocol.DispatchedUnknown)
	if !strings.Contains(failed.Message, "trap") {
		t.Errorf("%q", failed.Message)
	}
	a.probe("at+moves", "0")
}

func TestDragInAFrame(t *testing.T) {
	t.Parallel()
	page := pagetest.OpenSites(t, map[string]string{
		"/":   `<div style="height:700px"></div><button>Outside</button><iframe src="http://alt.test/in" style="width:600px;height:500px"></iframe>`,
		"/in": columns + `<script>new MutationObserver(()=>card.textContent="Card of "+card.parentNode.id).observe(r,{childList:true})</script>`,
	})
	a := newAgent(t, page).patient()
	page.Navigate(a.ctx, t, "http://main.test/")
	card := a.refOf("Card")
	a.fails(protocol.KindDrag, object{"element_ref": card, "to_ref": a.refOf("Outside")}, protocol.CodeInvalidArgument, protocol.DispatchedNo)
	a.ok(protocol.KindDrag, object{"element_ref": card, "to_ref": a.refOf("Right")})
	a.refOf("Card of r")
}
