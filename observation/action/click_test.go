package action_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestClickLands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, html string }{
		{"in nested scrollers", `<div style="height:200px;overflow:auto"><div style="height:900px"></div><div style="height:100px;overflow:auto"><div style="height:700px"></div><button onclick="n++">Go</button></div></div>`},
		{"through open shadow roots", `<div id=h></div><script>h.attachShadow({mode:"open"}).innerHTML='<button onclick="n++">Go</button>'</script>`},
		{"on a half covered button", `<button style="width:300px;height:80px" onclick="n++">Go</button><div style="position:absolute;left:0;top:0;width:200px;height:200px;background:red"></div>`},
		{"on a scaled and turned button", `<div style="margin:150px;transform:rotate(33deg) scale(.6)"><button style="width:200px" onclick="n++">Go</button></div>`},
		{"when what covers it goes away in time", `<button onclick="n++">Go</button><div id=c style="position:fixed;inset:0"></div><script>setTimeout(()=>c.remove(),250)</script>`},
		{"when it is enabled in time", `<button id=b disabled onclick="n++">Go</button><script>setTimeout(()=>b.disabled=false,250)</script>`},
		{"on a link around a block", `<a href="#x" style="display:contents" onclick="n++"><div>Go</div></a>`},
		{"under a fixed footer", `<div style="height:1500px"></div><button onclick="n++">Go</button><div style="height:900px"></div><div style="position:fixed;bottom:0;height:300px;width:100%;background:blue"></div>`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, `<script>n=0</script>`+tc.html)
			did := a.ok(protocol.KindClick, object{"element_ref": a.ref("Go")})
			if a.begun != 1 || did.Dispatched != protocol.DispatchedYes {
				t.Errorf("dispatched %d times, says %s", a.begun, did.Dispatched)
			}
			a.probe("n", 1.0)
		})
	}
}

func TestClickIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, html, between string
		code                protocol.Code
		says                string
	}{
		{"names what covers it", `<button>Go</button><div role=alertdialog aria-label=Cookies style="position:fixed;inset:0;background:red"></div>`, "", protocol.CodeCovered, `alertdialog "Cookies"`},
		{"disabled", `<button disabled>Go</button>`, "", protocol.CodeElementDisabled, ""},
		{"disabled by its fieldset", `<fieldset disabled><button>Go</button></fieldset>`, "", protocol.CodeElementDisabled, ""},
		{"removed", `<button>Go</button>`, "document.querySelector('button').remove()", protocol.CodeStaleRef, ""},
		{"replaced by its twin", `<button>Go</button>`, "b=document.querySelector('button');b.replaceWith(b.cloneNode(true))", protocol.CodeStaleRef, ""},
		{"hidden", `<button>Go</button>`, "document.querySelector('button').hidden=true", protocol.CodeNotVisible, ""},
		{"renamed unseen", `<button>Go</button>`, "document.querySelector('button').textContent='Delete'", protocol.CodeRefChanged, `"Delete"`},
		{"a link that leads elsewhere now", `<a href=/a>Go</a>`, "document.querySelector('a').href='/b'", protocol.CodeRefChanged, ""},
		{"a row that holds another record now", `<ul><li><h3>A</h3><button>Go</button><li>B<li>C</ul>`, "document.querySelector('h3').textContent='Z'", protocol.CodeRefChanged, ""},
		{"a file field", `<input type=file aria-label=Go>`, "", protocol.CodeFileChooser, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, `<script>n=0;addEventListener("click",()=>n++,true)</script>`+tc.html)
			ref := a.ref("Go")
			if tc.between != "" {
				a.page.Eval(a.ctx, t, tc.between+";0")
			}
			failed := a.fails(protocol.KindClick, object{"element_ref": ref}, tc.code, protocol.DispatchedNo)
			if !strings.Contains(failed.Message, tc.says) || !strings.HasPrefix(failed.Message, string(ref)) {
				t.Errorf("message %q does not say %s", failed.Message, tc.says)
			}
			a.probe("n", 0.0)
		})
	}
}

func TestNothingIsSentWhenTheCallerRefuses(t *testing.T) {
	t.Parallel()
	a := on(t, `<input aria-label=Field onfocus="n=1" oninput="n=2"><input type=checkbox aria-label=Box onclick="n=3"><script>n=0</script>`)
	a.refuse = errors.New("fenced")
	for kind, args := range map[protocol.Kind]object{
		protocol.KindClick:  {"element_ref": a.ref("Field")},
		protocol.KindFill:   {"element_ref": a.ref("Field"), "value": "x"},
		protocol.KindCheck:  {"element_ref": a.ref("Box"), "checked": true},
		protocol.KindPress:  {"element_ref": a.ref("Field"), "key": "Enter"},
		protocol.KindScroll: {"to": "down"},
		protocol.KindOpen:   {"url": "about:blank#x"},
		protocol.KindReload: {},
	} {
		a.fails(kind, args, protocol.CodeInternal, protocol.DispatchedNo)
	}
	a.probe("n", 0.0)
	a.refuse = protocol.Errorf(protocol.CodeInterrupted, "stop")
	a.fails(protocol.KindClick, object{"element_ref": a.ref("Field")}, protocol.CodeInterrupted, protocol.DispatchedNo)
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<button>Nothing</button><button onclick="p.textContent+='x'">Change</button><a href=/slow>Away</a><a href=#f>Fragment</a>
			<button onclick="history.pushState(0,'','/pushed')">Push</button><a href=/slow target=_blank>Window</a><a href=/file>File</a><a href=/none>Empty</a>
			<button onclick="fetch('/slow').then(()=>p.textContent+='y')">Late</button><button onclick="alert(1)">Alert</button><p id=p>`)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, q *http.Request) {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-q.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<h1>Slow")
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=a.bin")
		_, _ = fmt.Fprint(w, "data")
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, tc := range []struct {
		name    string
		verdict protocol.Verdict
		text    string
	}{
		{"Nothing", protocol.VerdictNoneYet, ""},
		{"Change", protocol.VerdictDOMChanged, "x"},
		{"Away", protocol.VerdictNavigated, "Slow"},
		{"Fragment", protocol.VerdictNavigated, ""},
		{"Push", protocol.VerdictNavigated, ""},
		{"Window", protocol.VerdictPopup, ""},
		{"File", protocol.VerdictDownload, ""},
		{"Empty", protocol.VerdictNoneYet, ""},
		{"Late", protocol.VerdictDOMChanged, "y"},
		{"Alert", protocol.VerdictDialogOpened, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := on(t, "")
			a.page.Navigate(a.ctx, t, server.URL+"/")
			did := a.ok(protocol.KindClick, object{"element_ref": a.ref(tc.name)})
			if did.Verdict != tc.verdict {
				t.Errorf("verdict %s, want %s", did.Verdict, tc.verdict)
			}
			if text := a.observe().Text; !strings.Contains(text, tc.text) {
				t.Errorf("the page says %q, want %q in it", text, tc.text)
			}
		})
	}
}
