package pagejs_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/observation/pagejs"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestMain(m *testing.M) { pagetest.Main(m) }

func TestSourceHoldsEveryPart(t *testing.T) {
	t.Parallel()
	parts, err := fs.Glob(os.DirFS("src"), "*.js")
	if err != nil || len(parts) == 0 {
		t.Fatalf("no parts: %v", err)
	}
	for _, name := range parts {
		part, err := os.ReadFile(filepath.Join("src", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(pagejs.Source(), string(part)) {
			t.Errorf("%s is not in the source", name)
		}
	}
	if !strings.HasSuffix(pagejs.Source(), "//# sourceURL="+pagejs.SourceURL+"\n") {
		t.Error("the source has no name")
	}
}

// TestHostilePages shows pages that get in the script's way.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, html, between string }{
		{"an element with the script's name", `<form id=browserfleet name=browserfleet><input name=observe></form><button>Go</button>`, ""},
		{"a document opened again", `<button>Old</button>`, `document.open();document.write("<button>Go</button>");document.close()`},
		{"patched prototypes", `<button>Go</button><script>Element.prototype.getAttribute=()=>"x";Array.prototype.push=()=>{throw 1};JSON.stringify=()=>"{}";
			Object.defineProperty(Node.prototype,"parentNode",{get(){throw 1}});window.browserfleet={observe(){return "{}"}}</script>`, ""},
		{"no body", `<button>Go</button>`, `document.body.remove();b=document.createElement("button");b.textContent="Go";document.documentElement.append(b)`},
		{"a deep tree of slots", `<div id=h></div><script>let h=window.h;for(let i=0;i<300;i++){const r=h.attachShadow({mode:"open"});r.innerHTML="<div><slot></slot></div>";h=r.firstChild}
			const b=document.createElement("button");b.textContent="Go";h.append(b)</script>`, ""},
		{"names without an end", `<button aria-labelledby="a b" id=a>Go<span id=b aria-labelledby="a"></span></button>`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			page, observer := pagetest.Open(t), observation.New(1)
			page.Load(ctx, t, tc.html)
			if tc.between != "" {
				page.Eval(ctx, t, tc.between+";0")
			}
			obs, err := observer.Observe(ctx, page, protocol.ObserveBudget{Elements: 10, MaxTier: 5, TextChars: 100})
			if err != nil {
				t.Fatal(err)
			}
			last := protocol.Element{}
			if len(obs.Elements) > 0 {
				last = obs.Elements[len(obs.Elements)-1]
			}
			if last.Role != "button" || !strings.HasPrefix(last.Name, "Go") {
				t.Errorf("elements: %+v", obs.Elements)
			}
		})
	}
}

func TestThePageSeesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	page := pagetest.Open(t)
	page.Load(ctx, t, `<button>Go</button><script>n=0;new MutationObserver(()=>n++).observe(document,{subtree:true,attributes:true,childList:true});
		for(const k of["focus","blur","scroll","input"])addEventListener(k,()=>n++,true)</script>`)
	if _, err := observation.New(1).Observe(ctx, page, protocol.ObserveBudget{Elements: 10, MaxTier: 5, TextChars: 100}); err != nil {
		t.Fatal(err)
	}
	if got := page.Eval(ctx, t, `typeof browserfleet+n+Object.getOwnPropertyNames(window).filter(k=>/fleet/i.test(k)).length`); got != "undefined00" {
		t.Errorf("the page saw %v", got)
	}
}
