package action_test

import (
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	const html = `<select id=s aria-label=One onchange="n+='c'" oninput="n+='i'"><option value=a>Alpha<option value=b>Beta <b>two</b><option disabled>Gamma<optgroup disabled label=x><option>Delta</optgroup></select>
		<select id=m multiple aria-label=Many><option selected>x<option>y<option>z</select><script>n=''</script>`
	a := on(t, html)
	did := a.ok(protocol.KindSelect, object{"element_ref": a.ref("One"), "values": []string{"Beta two"}})
	if did.Value != "Beta two" || did.Verdict != protocol.VerdictDOMChanged {
		t.Errorf("performed %+v", did)
	}
	a.probe("s.value+n", "bic")
	a.ok(protocol.KindSelect, object{"element_ref": a.ref("One"), "values": []string{"a"}})
	a.probe("s.value", "a")
	a.fails(protocol.KindSelect, object{"element_ref": a.ref("One"), "values": []string{"Gamma"}}, protocol.CodeOptionDisabled, protocol.DispatchedNo)
	a.fails(protocol.KindSelect, object{"element_ref": a.ref("One"), "values": []string{"Delta"}}, protocol.CodeOptionDisabled, protocol.DispatchedNo)
	a.fails(protocol.KindSelect, object{"element_ref": a.ref("One"), "values": []string{"a", "b"}}, protocol.CodeInvalidArgument, protocol.DispatchedNo)
	failed := a.fails(protocol.KindSelect, object{"element_ref": a.ref("One"), "values": []string{"beta"}}, protocol.CodeOptionNotFound, protocol.DispatchedNo)
	if !strings.Contains(failed.Message, `there are "Beta two"`) {
		t.Errorf("the nearest option does not come first: %s", failed.Message)
	}
	a.ok(protocol.KindSelect, object{"element_ref": a.ref("Many"), "values": []string{"y", "z"}})
	a.probe("[...m.selectedOptions].map(o=>o.value).join()", "y,z")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, html string
		checked    bool
		probe      string
		begun      int
	}{
		{"a box", `<input type=checkbox aria-label=B id=b>`, true, "b.checked", 1},
		{"a box that is", `<input type=checkbox aria-label=B id=b checked>`, true, "b.checked", 0},
		{"off", `<input type=checkbox aria-label=B id=b checked>`, false, "!b.checked", 1},
		{"a transparent box", `<label style="position:relative"><input type=checkbox id=b style="opacity:0;position:absolute"><i style="display:inline-block;width:20px;height:20px;background:red"></i>B</label>`, true, "b.checked", 1},
		{"a box that is not drawn", `<input type=checkbox id=b style="display:none"><label for=b>B</label>`, true, "b.checked", 1},
		{"a label with a link in its middle", `<label><input type=checkbox id=b style="display:none"><a href="#no" onclick="x=1">terms</a> B</label><script>b.setAttribute("aria-label","B")</script>`, true, "b.checked&&!window.x", 1},
		{"a radio", `<input type=radio name=r checked><input type=radio name=r aria-label=B id=b>`, true, "b.checked", 1},
		{"a switch", `<div role=switch tabindex=0 aria-checked=false aria-label=B id=b style="width:30px;height:20px" onclick="b.ariaChecked=b.ariaChecked!=='true'"></div>`, true, "b.ariaChecked==='true'", 1},
		{"a mixed box", `<input type=checkbox aria-label=B id=b><script>b.indeterminate=true</script>`, true, "b.checked", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, tc.html)
			a.ok(protocol.KindCheck, object{"element_ref": a.ref("B"), "checked": tc.checked})
			if a.begun != tc.begun {
				t.Errorf("dispatched %d times, want %d", a.begun, tc.begun)
			}
			a.probe(tc.probe, true)
		})
	}
}

func TestCheckIsRefused(t *testing.T) {
	t.Parallel()
	a := on(t, `<button>No</button><input type=radio checked aria-label=Radio><input type=checkbox aria-label=Stubborn onclick="return false">`)
	a.fails(protocol.KindCheck, object{"element_ref": a.ref("No"), "checked": true}, protocol.CodeNotToggleable, protocol.DispatchedNo)
	a.fails(protocol.KindCheck, object{"element_ref": a.ref("Radio"), "checked": false}, protocol.CodeNotToggleable, protocol.DispatchedNo)
	a.fails(protocol.KindCheck, object{"element_ref": a.ref("Stubborn"), "checked": true}, protocol.CodeNoEffect, protocol.DispatchedYes)
}

func TestPress(t *testing.T) {
	t.Parallel()
	a := on(t, `<form onsubmit="n+='s';return false"><input aria-label=Field onkeydown="n+=event.key+event.isTrusted"></form><button onclick="n+='b'">Go</button><script>n=''</script><div id=d tabindex=-1>`)
	a.ok(protocol.KindPress, object{"element_ref": a.ref("Field"), "key": "Enter"})
	a.probe("n", "Entertrues")
	a.ok(protocol.KindPress, object{"key": "Tab"})
	a.ok(protocol.KindPress, object{"key": "Space"})
	a.probe("n", "EntertruesTabtrueb")
}

func TestScroll(t *testing.T) {
	t.Parallel()
	a := on(t, `<body style="margin:0"><div style="height:3000px">x</div><button>Low</button><div style="height:3000px">y</div>`)
	did := a.ok(protocol.KindScroll, object{"to": "down", "pages": 0.5})
	a.probe("scrollY", 400.0)
	if did.Verdict != protocol.VerdictDOMChanged {
		t.Errorf("verdict %s", did.Verdict)
	}
	a.ok(protocol.KindScroll, object{"to": "up"})
	a.probe("scrollY", 0.0)
	if did := a.ok(protocol.KindScroll, object{"to": "top"}); did.Verdict != protocol.VerdictNoneYet {
		t.Errorf("verdict %s of a scroll that cannot be", did.Verdict)
	}
	a.ok(protocol.KindScroll, object{"to": "bottom"})
	a.probe("Math.ceil(scrollY)+innerHeight>=document.documentElement.scrollHeight", true)
	a.ok(protocol.KindScroll, object{"to": "element", "element_ref": a.ref("Low")})
	a.probe("Math.abs(scrollY-2611)<20", true)
}

func TestScrollInsideOfAnApplication(t *testing.T) {
	t.Parallel()
	a := on(t, `<body style="margin:0;overflow:hidden;height:100vh"><div id=s style="height:100vh;overflow:auto"><div style="height:5000px">x</div></div>`)
	a.ok(protocol.KindScroll, object{"to": "down"})
	a.probe("s.scrollTop", 800.0)
}
