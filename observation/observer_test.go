package observation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestMain(m *testing.M) { pagetest.Main(m) }

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func budget(mode protocol.Mode) protocol.ObserveBudget {
	return (&protocol.ObserveOptions{Mode: mode}).Budget()
}

// lines are elements as "role name [states] =value".
func lines(obs *protocol.Observation) []string {
	var out []string
	for _, e := range obs.Elements {
		s := e.Role + " " + e.Name
		if len(e.States) > 0 {
			s += " [" + strings.Join(e.States, " ") + "]"
		}
		if e.Value != "" {
			s += " =" + e.Value
		}
		out = append(out, s)
	}
	return out
}

func TestObserve(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		html string
		want []string
	}{
		{
			"names come from labels, not from titles", `<label for=a>First</label><input id=a title=no><label>Second <input></label>
			<input aria-labelledby="x y"><span id=x>Third</span> <span id=y>part</span><input placeholder=Fourth><input type=submit>
			<button aria-label="" title=tip>Text wins</button><button title=Tip></button>`,
			[]string{"textbox First", "textbox Second", "textbox Third part", "textbox Fourth", "button Submit", "button Text wins", "button Tip"},
		},
		{
			"content with images and blocks", `<a href=/x><img alt=Logo src=data:,><div>one</div><div>two</div><span>th</span><span>ree</span></a>`,
			[]string{"link Logo one two three"},
		},
		{
			"states", `<button disabled>a</button><fieldset disabled><input aria-label=b></fieldset><input type=checkbox aria-label=c checked>
			<div role=switch aria-checked=true tabindex=0>d</div><button aria-expanded=false aria-pressed=true>e</button><input required readonly aria-label=f value=v>
			<details open><summary>g</summary>x</details><div role=tab aria-selected=true>h</div><input id=i aria-label=i aria-invalid=true><script>i.focus()</script>`,
			[]string{
				"button a [disabled]", "textbox b [disabled]", "checkbox c [checked]", "switch d [checked]", "button e [collapsed pressed]",
				"textbox f [required readonly] =v", "button g [expanded]", "tab h [selected]", "textbox i [invalid focused]",
			},
		},
		{
			"values, never of passwords", `<input aria-label=a value=1><input type=password aria-label=b value=hunter2><select aria-label=c><option>x<option selected>why</select>
			<textarea aria-label=d>text</textarea><input aria-label=e autocomplete=one-time-code value=123456><input aria-label=f style="-webkit-text-security:disc" value=hunter2>
			<label>say <input type=password value=hunter2> to <input type=checkbox></label>`,
			[]string{"textbox a =1", "textbox b", "combobox c =why", "textbox d =text", "textbox e", "textbox f", "textbox say to", "checkbox "},
		},
		{
			"what is hidden is not listed", `<button style="display:none">a</button><button style="visibility:hidden">b</button><button hidden>c</button>
			<button style="width:0;height:0;padding:0;border:0"></button><div inert><button>d</button></div><input type=hidden><button>e</button>`,
			[]string{"button e"},
		},
		{
			"forms that clobber names", `<form><input name=parentNode aria-label=a><input name=firstChild aria-label=b><input name=localName aria-label=c>
			<input name=getAttribute aria-label=d></form><img name=body><img name=title><form name=documentElement></form>`,
			[]string{"textbox a", "textbox b", "textbox c", "textbox d"},
		},
		{
			"roles", `<input type=range aria-label=a><input type=number aria-label=b><input type=search aria-label=c><div contenteditable aria-label=d>x</div>
			<select multiple aria-label=e></select><a>no</a><div role="unknown menuitem">f</div><div onclick=1>g</div><input type=file aria-label=h><input list=l aria-label=i><svg><a href=#><text y=9>j</text></a></svg>`,
			[]string{"slider a =50", "spinbutton b", "searchbox c", "textbox d =x", "listbox e", "menuitem f", "button h", "combobox i", "generic g", "link j"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, page := within(t), pagetest.Open(t)
			page.Load(ctx, t, tc.html)
			obs, err := observation.New(1).Observe(ctx, page, budget(protocol.ModeInteractive))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, lines(obs)); diff != "" {
				t.Errorf("elements (-want +got):\n%s", diff)
			}
		})
	}
}
