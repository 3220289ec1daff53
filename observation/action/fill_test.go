package action_test

import (
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestFill(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, html, value, probe, want string }{
		{"replaces", `<input aria-label=F value=old id=f>`, "new", "f.value", "new"},
		{"empties", `<input aria-label=F value=old id=f oninput="e=1">`, "", "f.value+e", "1"},
		{"lines", `<textarea aria-label=F id=f>old</textarea>`, "a\nb", "f.value", "a\nb"},
		{"contenteditable", `<div contenteditable aria-label=F id=f><p>old <b>text</b></p></div>`, "new", "f.innerText.trim()", "new"},
		{"search field of a role", `<div contenteditable role=searchbox aria-label=F id=f></div>`, "new", "f.innerText.trim()", "new"},
		{"number", `<input type=number aria-label=F id=f>`, "-1.5", "f.value", "-1.5"},
		{"range with a step", `<input type=range min=0 max=10 step=5 aria-label=F id=f>`, "5", "f.value", "5"},
		{"off screen", `<div style="height:3000px"></div><input aria-label=F id=f>`, "new", "f.value", "new"},
		{"fires trusted input", `<input aria-label=F id=f oninput="e+=event.isTrusted+event.data">`, "new", "e", "0truenew"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, `<script>e=0</script>`+tc.html)
			if tc.name == "fires trusted input" {
				a.page.Eval(a.ctx, t, "e='0'")
			}
			if tc.name == "empties" {
				a.page.Eval(a.ctx, t, "e=''")
			}
			a.ok(protocol.KindFill, object{"element_ref": a.ref("F"), "value": tc.value})
			a.probe(tc.probe, tc.want)
		})
	}
}

func TestFillIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, html, value string
		code              protocol.Code
		dispatched        protocol.Dispatched
		want              string
	}{
		{"password", `<input type=password aria-label=F id=f>`, "x", protocol.CodePasswordForbidden, protocol.DispatchedNo, ""},
		{"file", `<input type=file aria-label=F id=f>`, "x", protocol.CodeNotEditable, protocol.DispatchedNo, ""},
		{"button", `<button id=f value="">F</button>`, "x", protocol.CodeNotEditable, protocol.DispatchedNo, ""},
		{"select", `<select id=f aria-label=F><option value="">x</select>`, "x", protocol.CodeNotEditable, protocol.DispatchedNo, ""},
		{"color", `<input type=color value=#000001 aria-label=F id=f>`, "red", protocol.CodeBadValue, protocol.DispatchedNo, "#000001"},
		{"off the scale", `<input type=range value=7 min=0 max=10 aria-label=F id=f>`, "11", protocol.CodeBadValue, protocol.DispatchedNo, "7"},
		{"maxlength", `<input maxlength=3 aria-label=F id=f>`, "abcdef", protocol.CodeBadValue, protocol.DispatchedYes, "abc"},
		{"a field that takes nothing", `<input value=old aria-label=F id=f oninput="f.value='old'">`, "new", protocol.CodeNoEffect, protocol.DispatchedYes, "old"},
		{"a field that gives the focus away", `<input aria-label=F id=f onfocus="g.focus()"><input id=g>`, "x", protocol.CodeNotEditable, protocol.DispatchedYes, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, tc.html)
			a.fails(protocol.KindFill, object{"element_ref": a.ref("F"), "value": tc.value}, tc.code, tc.dispatched)
			a.probe("f.value", tc.want)
			a.probe("window.g ? g.value : ''", "")
		})
	}
}

func TestCredentialStaysInThePage(t *testing.T) {
	t.Parallel()
	const secret = "correct horse"
	a := on(t, `<form onsubmit="return false"><input aria-label=User><input type=password aria-label=Pass id=f><button type=button onclick="f.type='text'">Show</button></form>`)
	args := object{"element_ref": a.ref("Pass"), "credential_ref": "c"}
	a.fails(protocol.KindFillCredential, args, protocol.CodeCredentialUnavailable, protocol.DispatchedNo)
	a.secret = secret
	for _, name := range []string{"User", "Pass"} {
		did := a.ok(protocol.KindFillCredential, object{"element_ref": a.ref(name), "credential_ref": "c"})
		if did.Value != "" {
			t.Errorf("the value is in what was performed: %q", did.Value)
		}
	}
	a.probe("f.value", secret)
	a.ok(protocol.KindClick, object{"element_ref": a.ref("Show")})
	for _, name := range []string{"User", "Pass"} {
		if e := a.element(name); e.Value != "" {
			t.Errorf("%s shows its value %q", name, e.Value)
		}
	}
	a.page.Eval(a.ctx, t, "f.maxLength=3;0")
	failed := a.fails(protocol.KindFillCredential, object{"element_ref": a.ref("Pass"), "credential_ref": "c"}, protocol.CodeBadValue, protocol.DispatchedYes)
	if strings.Contains(failed.Error(), secret[:3]) {
		t.Errorf("the error holds a part of the secret: %v", failed)
	}
}
