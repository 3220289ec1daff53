package observation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// by are elements as "role name by".
func by(obs *protocol.Observation) []string {
	var out []string
	for _, e := range obs.Elements {
		out = append(out, strings.Join(strings.Fields(e.Role+" "+e.Name+" "+e.ClickableBy), " "))
	}
	return out
}

func TestWhatCanBeClickedWithoutARoleIsListed(t *testing.T) {
	t.Parallel()
	const pointer = `style="cursor:pointer"`
	for name, tc := range map[string]struct {
		html string
		want []string
	}{
		"an icon":              {`<div class=bin style="width:24px;height:24px;cursor:pointer"><svg width=24 height=24><rect width=9 height=9 /></svg></div>`, []string{"generic cursor"}},
		"an attribute":         {`<span onclick="x()">Open</span>`, []string{"generic Open listener"}},
		"one in a shadow root": {`<div id=h></div><script>h.attachShadow({mode:"open"}).innerHTML="<p style='cursor:pointer'>In it <b>b</b>"</script>`, []string{"generic In it b cursor"}},
		"a card once": {
			`<div ` + pointer + `><h3>Card</h3><p>text <b>bold</b></p><span><i>x</i></span></div>`, []string{"generic Card text bold x cursor"},
		},
		"what a card holds": {
			`<div onclick="x()" ` + pointer + `><h3>Card</h3><button>Buy</button><span onclick="y()">del</span></div>`,
			[]string{"button Buy", "generic Card Buydel listener", "generic del listener"},
		},
		"a listener that is delegated": {
			`<body onclick="x()"><div onclick="x()"><button>1</button><button>2</button><button>3</button><button>4</button></div>`,
			[]string{"button 1", "button 2", "button 3", "button 4"},
		},
		"rows without roles": {
			`<div onclick="x()">` + strings.Repeat(`<div class=row `+pointer+`>Row</div>`, 5) + `</div>`,
			[]string{"generic Row cursor", "generic Row cursor", "generic Row cursor", "generic Row cursor", "generic Row cursor"},
		},
		"a wrapper of one control":    {`<div ` + pointer + `><a href=/x>One</a></div><label ` + pointer + `><input type=checkbox>Two</label>`, []string{"checkbox Two", "link One"}},
		"what is in a control":        {`<button><span onclick="x()" ` + pointer + `>Go</span></button>`, []string{"button Go"}},
		"a page all of it a pointer":  {`<style>body{cursor:pointer}</style><p>text</p><button>Go</button>`, []string{"button Go"}},
		"tabindex, canvas, editable":  {`<div tabindex=0>Focus</div><canvas width=50 height=50></canvas><canvas width=4 height=4></canvas><div contenteditable aria-label=Edit>x</div>`, []string{"textbox Edit", "generic Focus tabindex", "generic canvas"}},
		"summary and links of an SVG": {`<details><summary>More</summary>x</details><svg><a href=#><text y=9>j</text></a></svg>`, []string{"button More", "link j"}},
		"hidden":                      {`<div hidden ` + pointer + `>x</div><div ` + pointer + `></div>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, page := within(t), pagetest.Open(t)
			page.Load(ctx, t, tc.html)
			if diff := cmp.Diff(tc.want, by(observe(ctx, t, page, observation.New(1), budget(protocol.ModeInteractive)))); diff != "" {
				t.Errorf("elements (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAClickableWithoutARoleIsClicked by its ref, as any other element.
func TestAClickableWithoutARoleIsClicked(t *testing.T) {
	t.Parallel()
	a := newAgent(t, pagetest.Open(t))
	a.page.Load(a.ctx, t, `<div onclick="n++">A</div><div id=b style="cursor:pointer"><b>B</b></div><script>n=0;b.addEventListener("click",()=>n++)</script>`)
	for i, e := range a.observe().Elements {
		a.perform(i, protocol.KindClick, map[string]any{"element_ref": e.Ref})
	}
	if got := fmt.Sprint(a.page.Eval(a.ctx, t, "n"), a.failed); got != "2 map[]" {
		t.Errorf("clicks and failures: %s", got)
	}
}
