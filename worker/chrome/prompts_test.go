package chrome

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

// promptingSite is a site that would ask a person.
func promptingSite() http.Handler {
	mux := http.NewServeMux()
	answer := func(contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, body)
		}
	}
	mux.HandleFunc("/vault", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="The vault"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	mux.HandleFunc("/", answer("text/html", `<!doctype html><title>Asks</title><a href="mailto:kim@example.test">Write</a>
		<label>Attach <input type=file></label><button onclick="document.querySelector('input').click()">Choose</button>
		<a href="/vault">Vault</a><button onclick="rights()">Rights</button><output></output><script>
		async function rights(){const say=[];for(const name of ["geolocation","notifications","camera","microphone","midi","clipboard-read"])
			say.push((await navigator.permissions.query({name})).state);
			say.push(await Notification.requestPermission());document.querySelector("output").textContent=say.join()}</script>`))
	mux.HandleFunc("/data", answer("application/json", `{"a":1}`))
	mux.HandleFunc("/picture", answer("image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`))
	mux.HandleFunc("/paper", answer("application/pdf", "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>"))
	return mux
}

// everyBrowser runs a test in both programs.
func everyBrowser(t *testing.T, run func(t *testing.T, b *bench)) {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, promptingSite())
			if name == "chromium" {
				path := os.Getenv("BROWSERFLEET_CHROMIUM_FULL")
				if path == "" {
					path = "/usr/lib/chromium/chromium"
				}
				binary, err := chromium.Find(path)
				if err != nil {
					t.Fatal(err)
				}
				b.launcher.cfg.Chromium.Binary = binary
			}
			run(t, b)
		})
	}
}

func TestWhatWouldAskAPersonIsRefusedAndTold(t *testing.T) {
	t.Parallel()
	everyBrowser(t, func(t *testing.T, b *bench) {
		ctx := context60(t)
		browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
		out := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
		click := func(role, name string) []protocol.Prompt {
			t.Helper()
			done := b.ok(b.do(ctx, browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, out.Observation, role, name)}))
			if done.Observation.URL != out.Observation.URL && name != "Vault" {
				t.Errorf("%s led to %s", name, done.Observation.URL)
			}
			return done.Transition.Prompts
		}
		if got := click("link", "Write"); len(got) != 1 || got[0].Type != "external_protocol" || got[0].URL != "mailto:kim@example.test" {
			t.Errorf("mailto: %+v", got)
		}
		if got := click("button", "Choose"); len(got) != 1 || got[0].Type != "file_chooser" {
			t.Errorf("a file chooser: %+v", got)
		}
		direct := b.do(ctx, browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, out.Observation, "button", "Attach")})
		if direct.Err == nil || direct.Err.Code != protocol.CodeFileChooser || direct.Err.Dispatched != protocol.DispatchedNo {
			t.Errorf("a click on a file field: %v", direct.Err)
		}
		click("button", "Rights")
		b.ok(b.do(ctx, browser, protocol.KindWait, &protocol.WaitArgs{Until: "text", Text: "denied,denied,denied,denied,denied,denied,denied", TimeoutMS: 30_000}))
		if got := click("link", "Vault"); len(got) != 1 || got[0].Type != "http_auth" || got[0].Detail != "Basic The vault" {
			t.Errorf("a link to what wants a password: %+v", got)
		}
		opened := b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/vault"})
		if opened.Err == nil || opened.Err.Code != protocol.CodeAuthRequired || !strings.Contains(opened.Err.Message, "The vault") {
			t.Errorf("opened what wants a password: %v", opened.Err)
		}
	})
}

func TestADocumentThatIsNoPageIsNamed(t *testing.T) {
	t.Parallel()
	everyBrowser(t, func(t *testing.T, b *bench) {
		ctx := context60(t)
		browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
		got := map[string]string{}
		for _, path := range []string{"/data", "/picture", "/", "/paper"} {
			out := b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + path})
			switch {
			case out.Err != nil:
				got[path] = string(out.Err.Code)
			default:
				got[path] = out.Observation.ContentType
			}
		}
		want := map[string]string{"/data": "application/json", "/picture": "image/svg+xml", "/": "", "/paper": "application/pdf"}
		if b.launcher.cfg.Chromium.Binary.Kind == chromium.Shell {
			want["/paper"] = string(protocol.CodeDownloadRefused) // it has no viewer
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
