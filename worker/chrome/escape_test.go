package chrome

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// framedSite has a frame of the same site and one of another.
func framedSite() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		port := r.Host[strings.LastIndexByte(r.Host, ':'):]
		switch r.URL.Path {
		case "/":
			_, _ = fmt.Fprintf(w, `<!doctype html><title>top</title><iframe name=near src="/near"></iframe><iframe name=far src="http://far.localhost%s/far"></iframe>`, port)
		default:
			_, _ = fmt.Fprintf(w, `<!doctype html><title>%s</title><p>correct-horse-battery`, r.URL.Path)
		}
	})
}

func call(method, params, frame string) *protocol.CDPArgs {
	return &protocol.CDPArgs{Method: method, Params: json.RawMessage(params), FrameID: protocol.FrameID(frame)}
}

func TestTheEscapeHatchIsOffUnlessAnOperatorOpensIt(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, shop())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	out := b.do(ctx, browser, protocol.KindCDP, call("Page.getLayoutMetrics", "", ""))
	if out.Err == nil || out.Err.Code != protocol.CodeCapabilityUnsupported || out.Err.Dispatched != protocol.DispatchedNo {
		t.Fatalf("got %v", out.Err)
	}
}

func TestTheEscapeHatchReachesEveryFrameAndTellsNoSecret(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, framedSite())
	hatch, err := NewEscapeHatch([]string{"Runtime.evaluate", "DOM.getDocument", "DOM.describeNode"})
	if err != nil {
		t.Fatal(err)
	}
	b.launcher.cfg.EscapeHatch = hatch
	b.allow("far.localhost")
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	ids := awaitFrames(ctx, t, browser, "near", "far")
	const title = `{"expression":"document.title","returnByValue":true}`
	for _, tc := range []struct{ method, params, frame, want string }{
		{"Page.getLayoutMetrics", "", "", `"cssLayoutViewport"`},
		{"Runtime.evaluate", title, "", `"value":"top"`},
		{"Runtime.evaluate", title, ids["near"], `"value":"/near"`},
		{"Runtime.evaluate", title, ids["far"], `"value":"/far"`},
		{"Accessibility.getFullAXTree", `{}`, ids["near"], `/near`},
		{"DOM.getDocument", `{"depth":-1}`, ids["far"], `[redacted]`},
		{"DOM.getDocument", `{"depth":-1,"pierce":true}`, "", `[redacted]`},
	} {
		out := b.ok(b.do(ctx, browser, protocol.KindCDP, call(tc.method, tc.params, tc.frame)))
		if !strings.Contains(string(out.Data), tc.want) || strings.Contains(string(out.Data), secret) {
			t.Errorf("%s in %q: %.300s lacks %s, or tells a secret", tc.method, tc.frame, out.Data, tc.want)
		}
	}
	for _, tc := range []struct {
		args *protocol.CDPArgs
		code protocol.Code
	}{
		{call("Network.getCookies", "", ""), protocol.CodePolicyDenied},
		{call("Page.navigate", `{"url":"file:///etc/passwd"}`, ""), protocol.CodePolicyDenied},
		{call("DOM.getDocument", "", ids["near"]), protocol.CodeInvalidArgument},
		{call("DOM.getDocument", "", "F00"), protocol.CodeNotFound},
	} {
		out := b.do(ctx, browser, protocol.KindCDP, tc.args)
		if out.Err == nil || out.Err.Code != tc.code || out.Err.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s in %q: %v", tc.args.Method, tc.args.FrameID, out.Err)
		}
	}
	wrong := b.do(ctx, browser, protocol.KindCDP, call("DOM.describeNode", `{"nodeId":"x"}`, ""))
	if wrong.Err == nil || wrong.Err.Code != protocol.CodeInvalidArgument {
		t.Errorf("parameters that Chromium refuses: %v", wrong.Err)
	}
	large := b.do(ctx, browser, protocol.KindCDP, call("Runtime.evaluate", `{"expression":"'x'.repeat(300000)","returnByValue":true}`, ""))
	if large.Err == nil || large.Err.Code != protocol.CodeResultTooLarge || large.Data != nil {
		t.Errorf("a large reply: %v", large.Err)
	}
}

// What a page wrote into a password field or hides in a form is not told by what
// is allowed from the start.
func TestTheEscapeHatchTellsNoFieldThatAnObservationHides(t *testing.T) {
	t.Parallel()
	ctx := context60(t)
	b := newBench(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><title>form</title><form><input type=hidden name=token value=hidden-by-the-form>
			<label>Word <input id=w type=password></label></form><script>w.value = 'typed-by-the-page'</script>`)
	}))
	hatch, err := NewEscapeHatch(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.launcher.cfg.EscapeHatch = hatch
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	for _, method := range hatch.Methods() {
		out := b.do(ctx, browser, protocol.KindCDP, call(method, "{}", ""))
		if told := string(out.Data); strings.Contains(told, "hidden-by-the-form") || strings.Contains(told, "typed-by-the-page") {
			t.Errorf("%s tells %s", method, told)
		}
	}
	for _, method := range []string{"DOM.getDocument", "DOM.getOuterHTML", "DOM.describeNode", "DOMSnapshot.captureSnapshot"} {
		out := b.do(ctx, browser, protocol.KindCDP, call(method, "{}", ""))
		if out.Err == nil || out.Err.Code != protocol.CodePolicyDenied {
			t.Errorf("%s: %v", method, out.Err)
		}
	}
}

func TestWhatNoOperatorCanAllow(t *testing.T) {
	t.Parallel()
	for _, m := range []string{"Target.createTarget", "Fetch.enable", "Page.navigate", "Browser.close", "Runtime", "Runtime.*", "Page.handleJavaScriptDialog"} {
		if _, err := NewEscapeHatch([]string{m}); err == nil {
			t.Errorf("%s is allowed", m)
		}
	}
	h, err := NewEscapeHatch([]string{"Runtime.evaluate"})
	if err != nil || h.check("Runtime.evaluate") != nil || h.check("Runtime.callFunctionOn") == nil {
		t.Errorf("%v %v", err, h.Methods())
	}
}

func TestTheDocumentedMethodsAreTheAllowedOnes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cdp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "<!-- methods -->")
	list, _, _ = strings.Cut(list, "<!-- end -->")
	h, err := NewEscapeHatch(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "\n"
	for _, m := range h.Methods() {
		want += "- `" + m + "`\n"
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("docs/cdp.md (-want +got):\n%s", diff)
	}
}
