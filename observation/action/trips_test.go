package action_test

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation/action"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// counting notes what is sent, calls of the page's script by their function.
type counting struct {
	*pagetest.Page
	sent []string
}

func (c *counting) Send(method string, params any) (*cdp.Pending, error) {
	return c.SendTo("", method, params)
}

func (c *counting) SendTo(session cdp.SessionID, method string, params any) (*cdp.Pending, error) {
	if call, ok := params.(runtime.CallFunctionOnParams); ok {
		var function string
		if err := json.Unmarshal(call.Arguments[0].Value, &function); err == nil {
			method = function
		}
		c.sent = append(c.sent, method)
		return c.Page.SendTo(session, runtime.CommandCallFunctionOn, params)
	}
	c.sent = append(c.sent, method)
	return c.Page.SendTo(session, method, params)
}

// TestWhatActionsSend: a click is its checks, three events in one pipeline and
// one look at a page that does not react.
func TestWhatActionsSend(t *testing.T) {
	t.Parallel()
	a := on(t, `<button>Go</button><input aria-label=F>`)
	const mouse = "Input.dispatchMouseEvent"
	for _, tc := range []struct {
		kind protocol.Kind
		args object
		want []string
	}{
		{protocol.KindClick, object{"element_ref": a.ref("Go")}, []string{"prepare", mouse, mouse, mouse, "firstLook", "unwatch"}},
		{protocol.KindFill, object{"element_ref": a.ref("F"), "value": "x"}, []string{"prepare", "focusField", "Input.insertText", "readField"}},
		{protocol.KindPress, object{"key": "Escape"}, []string{"watch", "Input.dispatchKeyEvent", "Input.dispatchKeyEvent", "firstLook", "unwatch"}},
	} {
		page := &counting{Page: a.page}
		raw, _ := json.Marshal(object{"v": 1, "kind": tc.kind, "args": tc.args})
		act, refused := protocol.ParseAction(raw, protocol.LaneQueue)
		if refused != nil {
			t.Fatal(refused)
		}
		if _, failed := action.Perform(a.ctx, page, a.observer, act, func() error { return nil }); failed != nil {
			t.Fatal(failed)
		}
		if diff := cmp.Diff(tc.want, page.sent[:min(len(tc.want), len(page.sent))]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.kind, diff)
		}
	}
}

func TestNativePopupsDoNotSwallowTheNextClick(t *testing.T) {
	t.Parallel()
	a := on(t, `<select aria-label=Sel><option>a<option>b</select><input type=date aria-label=Date><input type=color aria-label=Color><button onclick="n++">Go</button><script>n=0</script>`)
	for i, name := range []string{"Sel", "Date", "Color"} {
		a.ok(protocol.KindClick, object{"element_ref": a.ref(name)})
		a.ok(protocol.KindClick, object{"element_ref": a.ref("Go")})
		a.probe("n", float64(i+1))
	}
}
