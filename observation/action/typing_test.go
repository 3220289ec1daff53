package action_test

import (
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestTypedKeysAreThoseOfAKeyboard(t *testing.T) {
	t.Parallel()
	a := on(t, `<textarea aria-label=Field></textarea><script>got=[];for(const t of ["keydown","keypress","input","keyup"])
		addEventListener(t,e=>got.push([t,e.key,e.code,e.keyCode,e.shiftKey?"S":"",e.data].join(" ").trim()))</script>`)
	for text, want := range map[string]string{
		"a":  "keydown a KeyA 65|keypress a KeyA 97|input|keyup a KeyA 65",
		"A":  "keydown A KeyA 65 S|keypress A KeyA 65 S|input|keyup A KeyA 65 S",
		"7":  "keydown 7 Digit7 55|keypress 7 Digit7 55|input|keyup 7 Digit7 55",
		"@":  "keydown @ Digit2 50 S|keypress @ Digit2 64 S|input|keyup @ Digit2 50 S",
		".":  "keydown . Period 190|keypress . Period 46|input|keyup . Period 190",
		" ":  "keydown   Space 32|keypress   Space 32|input|keyup   Space 32",
		"\n": "keydown Enter Enter 13|keypress Enter Enter 13|input|keyup Enter Enter 13",
		"ü":  "keydown ü  0|keypress ü  252|input|keyup ü  0",
		"漢":  "input",
		"🙂":  "input",
	} {
		a.page.Eval(a.ctx, t, `got=[];document.querySelector("textarea").value="";0`)
		a.ok(protocol.KindType, object{"element_ref": a.ref("Field"), "text": text})
		got, _ := a.page.Eval(a.ctx, t, `got.map(g=>g.replace(/^(input) .*/,"$1")).join("|")`).(string)
		if got != want {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
		a.probe(`document.querySelector("textarea").value`, text)
	}
}

func TestType(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, html, text, want string }{
		{"behind what is there", `<input aria-label=F value=Hello>`, " you", "Hello you"},
		{"into a number", `<input aria-label=F type=number value=4>`, "2", "42"},
		{"into an email field", `<input aria-label=F type=email>`, "a@b.example", "a@b.example"},
		{"into a masked field", `<input aria-label=F onkeydown="if(event.key.length==1&&!/\d/.test(event.key))event.preventDefault()"
			oninput="const d=this.value.replace(/\D/g,'');this.value=[d.slice(0,2),d.slice(2,4),d.slice(4,8)].filter(Boolean).join('/')">`, "1x2032026", "12/03/2026"},
		{"into a field that suggests", `<input aria-label=F onkeyup="this.dataset.last=this.value">`, "Dresden", "Dresden"},
		{"into contenteditable", `<div contenteditable role=textbox aria-label=F>Some <b>bold</b></div>`, "er text", "Some bolder text"},
		{"with line breaks", `<textarea aria-label=F></textarea>`, "one\ntwo", "one\ntwo"},
		{"up to maxlength", `<input aria-label=F maxlength=5>`, "12345", "12345"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, tc.html)
			did := a.ok(protocol.KindType, object{"element_ref": a.ref("F"), "text": tc.text, "delay_ms": 1})
			if did.Value != tc.want || did.Verdict != protocol.VerdictDOMChanged || a.begun != 1 {
				t.Errorf("value %q, verdict %s, dispatched %d times", did.Value, did.Verdict, a.begun)
			}
			a.probe(`(e=>"value" in e?e.value:e.innerText)(document.querySelector("[aria-label=F]"))`, tc.want)
		})
	}
}

func TestTypeIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, html string
		code       protocol.Code
	}{
		{"a password", `<input type=password aria-label=F>`, protocol.CodePasswordForbidden},
		{"a date", `<input type=date aria-label=F>`, protocol.CodeNotEditable},
		{"read-only", `<input readonly aria-label=F>`, protocol.CodeNotEditable},
		{"disabled", `<input disabled aria-label=F>`, protocol.CodeElementDisabled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, tc.html+`<script>n=0;onkeydown=()=>n++</script>`)
			a.fails(protocol.KindType, object{"element_ref": a.ref("F"), "text": "x"}, tc.code, protocol.DispatchedNo)
			a.page.Eval(a.ctx, t, `document.querySelector("input").focus();0`)
			if tc.code != protocol.CodeElementDisabled { // which cannot have the focus
				a.fails(protocol.KindType, object{"text": "x"}, tc.code, protocol.DispatchedNo)
			}
			a.probe("n", 0.0)
		})
	}
}

func TestTypeWhereTheFocusIs(t *testing.T) {
	t.Parallel()
	a := on(t, `<input aria-label=F value=ad><ul tabindex=0 role=listbox aria-label=List onkeydown="this.dataset.got=(this.dataset.got||'')+event.key"><li>x</ul>`)
	a.fails(protocol.KindType, object{"text": "x"}, protocol.CodeNotEditable, protocol.DispatchedNo)
	a.ok(protocol.KindPress, object{"element_ref": a.ref("F"), "key": "End"})
	a.ok(protocol.KindPress, object{"key": "ArrowLeft"})
	if did := a.ok(protocol.KindType, object{"text": "bc"}); did.Value != "abcd" {
		t.Errorf("the field holds %q", did.Value)
	}
	a.ok(protocol.KindType, object{"element_ref": a.ref("F"), "text": "!"}) // it has the focus: where the caret is
	a.probe(`document.querySelector("input").value`, "abc!d")
	a.ok(protocol.KindType, object{"element_ref": a.ref("List"), "text": "ber"})
	a.probe(`document.querySelector("ul").dataset.got`, "ber")
}

// TestTypeSaysWhatDidNotCome: a text that was not taken whole is no success.
func TestTypeSaysWhatDidNotCome(t *testing.T) {
	t.Parallel()
	a := newAgent(t, pagetest.OpenAsking(t))
	a.page.Load(a.ctx, t, `<input aria-label=Short maxlength=3><input aria-label=Stubborn onkeydown="event.preventDefault()">
		<input aria-label=Asks onkeydown="if(event.key=='c')alert(1)"><form action="#sent"><input aria-label=Sends></form>`)
	failed := a.fails(protocol.KindType, object{"element_ref": a.ref("Short"), "text": "12345"}, protocol.CodeBadValue, protocol.DispatchedYes)
	if !strings.Contains(failed.Message, "part of the 5") {
		t.Errorf("%q", failed.Message)
	}
	a.fails(protocol.KindType, object{"element_ref": a.ref("Stubborn"), "text": "x"}, protocol.CodeNoEffect, protocol.DispatchedYes)
	if did := a.ok(protocol.KindType, object{"element_ref": a.ref("Sends"), "text": "hello\n"}); did.Verdict != protocol.VerdictNavigated {
		t.Errorf("Enter: %s", did.Verdict)
	}
	did, failed := a.do(protocol.KindType, object{"element_ref": a.ref("Asks"), "text": "abcd"})
	if failed == nil || failed.Code != protocol.CodeActionFailed || failed.Dispatched != protocol.DispatchedYes || did.Verdict != protocol.VerdictDialogOpened {
		t.Errorf("%v, verdict %s", failed, did.Verdict)
	}
	if !strings.Contains(failed.Error(), "3 of 4") {
		t.Errorf("%v", failed)
	}
}

func TestTypeInFrames(t *testing.T) {
	t.Parallel()
	a := framesPage(t)
	for _, frame := range []string{"doc", "leaf"} {
		if did := a.ok(protocol.KindType, object{"element_ref": a.refOf(frame + " text"), "text": "Grüße 1\n"}); did.Value != "Grüße 1" {
			t.Errorf("%s: the field holds %q", frame, did.Value)
		}
		a.told(frame+" enter Grüße 1", frame+" text Grüße 1")
	}
}

func TestPressChords(t *testing.T) {
	t.Parallel()
	a := on(t, `<input aria-label=One value="to be copied"><input aria-label=Two><textarea aria-label=Area></textarea><script>got=[];
		addEventListener("keydown",e=>got.push([e.key,e.code,e.altKey?"A":"",e.ctrlKey?"C":"",e.metaKey?"M":"",e.shiftKey?"S":""].join("")))</script>`)
	one, two, area := a.ref("One"), a.ref("Two"), a.ref("Area")
	press := func(keys ...string) {
		for _, k := range keys {
			a.ok(protocol.KindPress, object{"key": k})
		}
	}
	a.ok(protocol.KindPress, object{"element_ref": one, "key": "Control+A"})
	press("Control+C")
	a.ok(protocol.KindPress, object{"element_ref": two, "key": "Control+V"})
	a.probe("document.activeElement.value", "to be copied")
	press("Control+Z")
	a.probe("document.activeElement.value", "")
	press("Control+Shift+Z")
	a.probe("document.activeElement.value", "to be copied")
	press("Shift+Home", "Control+X")
	a.probe("document.activeElement.value", "")
	press("Shift+Tab")
	a.probe("document.activeElement.ariaLabel", "One")
	press("End", "Control+Shift+ArrowLeft", "Backspace", "Control+Backspace")
	a.probe("document.activeElement.value", "to ")
	a.ok(protocol.KindType, object{"element_ref": area, "text": "a"})
	press("Shift+Enter")
	a.probe("document.activeElement.value", "a\n")
	a.page.Eval(a.ctx, t, "got=[];0")
	press("Control+Enter", "Meta+A", "Alt+ArrowDown", "Control+Shift+Z")
	a.probe("got.join(' ')", "ControlControlLeftC EnterEnterC MetaMetaLeftM aKeyAM AltAltLeftA ArrowDownArrowDownA ControlControlLeftC ShiftShiftLeftCS ZKeyZCS")
	a.probe("document.activeElement.value", "a\n")
}

// TestEveryKeyOfTheProtocolCanBePressed also shows that none of them leaves the page.
func TestEveryKeyOfTheProtocolCanBePressed(t *testing.T) {
	t.Parallel()
	a := on(t, `<input aria-label=F><button>Go</button><script>n=0;addEventListener("keydown",e=>{n++;e.preventDefault()})</script>`)
	field := a.ref("F")
	for _, k := range append(append([]string{}, protocol.Keys...), protocol.Chords...) {
		a.page.Eval(a.ctx, t, "n=0")
		a.ok(protocol.KindPress, object{"element_ref": field, "key": k})
		a.probe("n", float64(strings.Count(k, "+")+1))
	}
}
