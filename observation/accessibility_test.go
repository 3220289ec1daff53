package observation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
)

// TestNamesAsChromiumComputesThem holds roles and names against Chromium's own
// accessibility tree, which is ten times slower to read.
func TestNamesAsChromiumComputesThem(t *testing.T) {
	t.Parallel()
	r := newAgent(t, pagetest.Open(t))
	r.page.Load(r.ctx, t, `
		<button>Plain <b>bold</b>text</button> <button aria-label=" Label  wins ">x</button> <button title=Tip><svg width=9 height=9></svg></button>
		<button><svg width=9 height=9><title>Drawn</title></svg></button> <button><img alt="Pic" src=data:,> and text</button>
		<button aria-labelledby="r1 r2">x</button><span id=r1 hidden>Hidden ref</span><span id=r2>and <i>shown</i></span>
		<button><span aria-hidden=true>skip</span>Keep</button> <button><span style="display:none">skip</span>Keep it</button>
		<button><div>block</div><div>block</div></button> <button>in<span>line</span></button> <button>br<br>eak</button>
		<button><span aria-label=Inner>x</span> after</button> <button><input aria-label=ignored value=val style="width:9px"> in button</button>
		<a href=/a>Link <em>text</em></a> <a href=/b aria-label=""><img alt=Only src=data:,></a> <a href=/c title="Just title"></a>
		<a href=/d>  many   spaces&nbsp;here </a> <a href=/e><span title=Deep></span></a>
		<label>Wraps <input></label> <label for=f1>For</label><input id=f1> <label for=f2>One</label><label for=f2>Two</label><input id=f2>
		<input placeholder=Placeholder> <input title=Title placeholder=Both> <input aria-label=Aria placeholder=x>
		<label>Before <input type=checkbox> after</label> <label><input type=radio name=q> Radio <select><option>sel</select></label>
		<label>Flash <input type=checkbox> screen <input size=3 value=3 aria-label=times> times</label>
		<fieldset><legend>Legend</legend><input type=checkbox aria-describedby=r2></fieldset>
		<input type=submit> <input type=reset> <input type=button value=Val> <input type=image alt=Alt src=data:,> <input type=submit value=Go>
		<textarea aria-label=Area></textarea> <select aria-label=Sel><option>a</select> <select multiple aria-label=Multi><option>a</select>
		<input type=range aria-label=Range> <input type=number aria-label=Num> <input type=search aria-label=Search> <input list=x aria-label=List><datalist id=x></datalist>
		<div role=button tabindex=0>Div button</div> <div role=tab tabindex=0>Tab</div> <div role=menuitem tabindex=0>Item</div> <div role=switch tabindex=0 aria-checked=true>Switch</div>
		<div role=checkbox tabindex=0 aria-checked=mixed>Box</div> <div role=link tabindex=0>Div link</div> <div role=combobox tabindex=0 aria-label=Combo>v</div>
		<div role=slider tabindex=0 aria-label=Slide aria-valuenow=3></div> <div role="bogus button" tabindex=0>Second token</div>
		<svg width=20 height=20><a href=#s aria-label="Svg link"><rect width=9 height=9 /></a></svg> <map name=m><area href=/m alt=Area shape=rect coords=0,0,9,9></map><img usemap=#m width=20 height=20 src=data:,>
		<div id=host></div><script>host.attachShadow({mode:"open"}).innerHTML='<label for=i>Shadow label</label><input id=i><button><slot></slot></button>';host.append("Slotted")</script>`)
	var tree struct {
		Nodes []struct {
			Role struct {
				Value any `json:"value"`
			} `json:"role"`
			Name struct {
				Value any `json:"value"`
			} `json:"name"`
		} `json:"nodes"`
	}
	if err := r.page.Supervised.Page().Call(r.ctx, "Accessibility.getFullAXTree", nil, &tree); err != nil {
		t.Fatal(err)
	}
	theirs := make(map[string]int)
	for _, n := range tree.Nodes {
		// Chromium keeps white space at the ends and runs of it in attributes.
		name := strings.Join(strings.Fields(fmt.Sprint(n.Name.Value)), " ")
		theirs[fmt.Sprint(n.Role.Value, " ", name)]++
	}
	obs := r.observe()
	for _, e := range obs.Elements {
		key := e.Role + " " + e.Name
		if theirs[key] == 0 {
			t.Errorf("not in Chromium's tree: %q", key)
		}
		theirs[key]--
	}
	if len(obs.Elements) < 50 {
		t.Errorf("only %d elements are listed", len(obs.Elements))
	}
	if t.Failed() {
		t.Logf("left over: %v", theirs)
	}
}
