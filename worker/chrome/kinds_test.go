package chrome

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// hands is a browser on a page that writes down what is done to it.
type hands struct {
	*bench
	browser *Browser
	seen    *protocol.Observation
}

func newHands(t *testing.T, html string) *hands {
	t.Helper()
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Bench</title><script>function say(s){o.textContent+=s+';'}</script><div style='height:400px'>"+html+"</div><output id=o></output>")
	}))
	ctx := context60(t)
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	h := &hands{bench: b, browser: browser}
	h.request(protocol.KindOpen, map[string]any{"url": b.site.URL})
	return h
}

// request runs a request as it comes from the wire.
func (h *hands) request(kind protocol.Kind, args map[string]any) *environment.Outcome {
	h.t.Helper()
	raw, err := json.Marshal(map[string]any{"v": 1, "kind": kind, "args": args})
	if err != nil {
		h.t.Fatal(err)
	}
	act, refused := protocol.ParseAction(raw, protocol.LaneQueue)
	if refused != nil {
		h.t.Fatalf("%s: %v", raw, refused)
	}
	out := h.browser.Run(context60(h.t), &act, func() error { return nil })
	if out.Observation != nil {
		h.seen = out.Observation
	}
	return out
}

// on is the ref of what was seen last.
func (h *hands) on(role, name string) protocol.Ref {
	h.t.Helper()
	return ref(h.t, h.seen, role, name).ElementRef
}

// says checks what the page has written down, in the result's own observation.
func (h *hands) says(out *environment.Outcome, want string) {
	h.t.Helper()
	if got := h.ok(out).Observation.Text; got != want {
		h.t.Errorf("the page says %q, want %q", got, want)
	}
}

func TestPointerActions(t *testing.T) {
	t.Parallel()
	h := newHands(t, `<button onclick="say('click '+event.detail)" oncontextmenu="say('menu '+event.ctrlKey)" onmouseenter="say('over')">B</button>`)
	button := h.on("button", "B")
	h.says(h.request(protocol.KindHover, map[string]any{"element_ref": button}), "B\nover;")
	h.says(h.request(protocol.KindClick, map[string]any{"element_ref": button, "button": "right", "modifiers": []string{"Control"}}), "B\nover;menu true;")
	h.says(h.request(protocol.KindClick, map[string]any{"element_ref": button, "count": 2, "offset": map[string]any{"x": 1, "y": 1}}), "B\nover;menu true;click 1;click 2;")
}

func TestTypingAndChords(t *testing.T) {
	t.Parallel()
	h := newHands(t, `<input aria-label=F onkeydown="say(event.code)"><input type=password aria-label=P>`)
	field := h.on("textbox", "F")
	h.ok(h.request(protocol.KindType, map[string]any{"element_ref": field, "text": "aB"}))
	h.says(h.request(protocol.KindPress, map[string]any{"key": "Control+A"}), "KeyA;KeyB;ControlLeft;KeyA;")
	h.ok(h.request(protocol.KindType, map[string]any{"text": "c"}))
	if e := h.seen.Elements[0]; e.Value != "c" {
		t.Errorf("the field holds %q", e.Value)
	}
	out := h.request(protocol.KindType, map[string]any{"element_ref": h.on("textbox", "P"), "text": "x"})
	if out.Err == nil || out.Err.Code != protocol.CodePasswordForbidden || out.Err.Dispatched != protocol.DispatchedNo {
		t.Errorf("a password was typed: %v", out.Err)
	}
}

func TestDragging(t *testing.T) {
	t.Parallel()
	h := newHands(t, `<div draggable=true role=button tabindex=0 ondragstart="event.dataTransfer.setData('text/plain','card')">A</div>
		<div role=button tabindex=0 ondragover="event.preventDefault()" ondrop="event.preventDefault();say(event.dataTransfer.getData('text/plain'))">B</div>`)
	h.says(h.request(protocol.KindDrag, map[string]any{"element_ref": h.on("button", "A"), "to_ref": h.on("button", "B")}), "A\nB\ncard;")
}

func TestPicturesOfElements(t *testing.T) {
	t.Parallel()
	h := newHands(t, `<button style="width:77px;height:33px">B</button>`)
	out := h.ok(h.request(protocol.KindScreenshot, map[string]any{"element_ref": h.on("button", "B"), "format": "png", "refs": true}))
	if s := out.Screenshot; s.Width != 77 || s.Height != 33 || s.MediaType != "image/png" || out.Observation != nil {
		t.Errorf("%s of %d x %d", s.MediaType, s.Width, s.Height)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	h := newHands(t, `<input aria-label=F onchange="say(value)"><button onclick="say('one')">One</button><button onclick="this.remove()">Two</button><a href="#there">Link</a>`)
	one, two := map[string]any{"element_ref": h.on("button", "One")}, map[string]any{"element_ref": h.on("button", "Two")}
	step := func(kind protocol.Kind, args map[string]any) map[string]any {
		return map[string]any{"kind": kind, "args": args}
	}
	most := 20 // steps that the gate lets through
	batch := func(steps ...map[string]any) (*environment.Outcome, int) {
		raw, err := json.Marshal(map[string]any{"v": 1, "kind": "batch", "args": map[string]any{"steps": steps}})
		if err != nil {
			t.Fatal(err)
		}
		act, refused := protocol.ParseAction(raw, protocol.LaneQueue)
		if refused != nil {
			t.Fatal(refused)
		}
		begun := 0
		out := h.browser.Run(context60(t), &act, func() error {
			if begun == most {
				return errors.New("the owner is another worker's")
			}
			begun++
			return nil
		})
		return out, begun
	}
	out, begun := batch(
		step(protocol.KindFill, map[string]any{"element_ref": h.on("textbox", "F"), "value": "x"}), step(protocol.KindClick, one),
		step(protocol.KindWait, map[string]any{"until": "load"}), step(protocol.KindClick, map[string]any{"element_ref": h.on("link", "Link")}),
	)
	h.says(out, "OneTwoLink\nx;one;")
	if begun != 3 || len(out.Steps) != 4 || out.Verdict != protocol.VerdictNavigated || out.Dispatched != protocol.DispatchedYes {
		t.Errorf("begun %d times, %d steps, %s, %s", begun, len(out.Steps), out.Verdict, out.Dispatched)
	}
	for i, s := range out.Steps {
		if s.Status != protocol.StatusOK || s.Transition == nil || (s.Dispatched == protocol.DispatchedYes) != (i != 2) {
			t.Errorf("step %d: %s, dispatched %s, %v", i+1, s.Status, s.Dispatched, s.Transition)
		}
	}
	if s := out.Steps[3]; s.Verdict != protocol.VerdictNavigated || s.Transition.After.URL != s.Transition.Before.URL+"/#there" && s.Transition.After.URL != s.Transition.Before.URL+"#there" {
		t.Errorf("the last step: %s, %s", s.Verdict, s.Transition.After.URL)
	}
	most = 1
	if out, _ = batch(step(protocol.KindClick, one), step(protocol.KindClick, one), step(protocol.KindClick, one)); len(out.Steps) != 2 ||
		out.Steps[0].Status != protocol.StatusOK || out.Steps[1].Dispatched != protocol.DispatchedNo || out.Err.Dispatched != protocol.DispatchedYes {
		t.Errorf("an owner that is lost in the middle: %+v %v", out.Steps, out.Err)
	}
	most = 20
	out, begun = batch(step(protocol.KindClick, two), step(protocol.KindClick, two), step(protocol.KindClick, one))
	if e := out.Err; e == nil || e.Code != protocol.CodeStaleRef || e.Dispatched != protocol.DispatchedYes || e.Retryable || !strings.HasPrefix(e.Message, "step 2 of 3 (click): ") {
		t.Errorf("%+v", out.Err)
	}
	if begun != 1 || len(out.Steps) != 2 || out.Steps[1].Dispatched != protocol.DispatchedNo || out.Observation == nil || strings.Contains(out.Observation.Text, "Two") {
		t.Errorf("begun %d times, %d steps, %+v", begun, len(out.Steps), out.Observation)
	}
	if out, begun = batch(step(protocol.KindClick, two), step(protocol.KindClick, one)); begun != 0 || out.Err.Dispatched != protocol.DispatchedNo {
		t.Errorf("begun %d times, %v", begun, out.Err)
	}
}

// TestWaitingForANameTellsNoSecret: else a page that shows one could be asked for it letter
// by letter.
func TestWaitingForANameTellsNoSecret(t *testing.T) {
	t.Parallel()
	h := newHands(t, `<button>Token `+secret+`</button><button>Costs</button>`)
	wait := func(name string) *protocol.Error {
		return h.request(protocol.KindWait, map[string]any{"until": "element-visible", "role": "button", "name": name, "timeout_ms": 400}).Err
	}
	for name, code := range map[string]protocol.Code{
		"token": "", "costs": "", "": "", "token " + secret[:3]: protocol.CodeWaitTimeout, secret[2:7]: protocol.CodeWaitTimeout, secret: protocol.CodeWaitTimeout,
	} {
		if err := wait(name); (err == nil) != (code == "") || err != nil && err.Code != code {
			t.Errorf("%q: %v", name, err)
		}
	}
}
