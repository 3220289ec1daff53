package fleettest

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker/chrome"
	"github.com/browserfleet/browserfleet/worker/credentials"
)

// mirror is a page that shows how its browser presents itself, in the page and in
// the request for it.
func mirror(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		language, _, _ := strings.Cut(req.Header.Get("Accept-Language"), ",")
		_, _ = fmt.Fprintf(w, `<!doctype html><title>Mirror</title><p id=p></p><script>
const zone = Intl.DateTimeFormat().resolvedOptions();
document.getElementById("p").textContent = ["asked in %s", navigator.language, navigator.languages.join(), zone.locale,
  zone.timeZone, innerWidth + "x" + innerHeight + "@" + devicePixelRatio, (1234.5).toLocaleString(), "end"].join(" | ");
</script>`, language)
	}))
	t.Cleanup(s.Close)
	return s
}

func chromeLauncher(t *testing.T, allow *httptest.Server) *chrome.Launcher {
	t.Helper()
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egressproxy.Compile(egressproxy.Policy{
		Mode: egressproxy.ModeAllowlist, AllowHosts: []string{strings.TrimPrefix(allow.URL, "http://")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := credentials.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return chrome.NewLauncher(chrome.Config{
		Chromium: chromium.Options{Binary: binary, Scratch: t.TempDir(), AllowNoSandbox: true},
		Policy:   policy, Credentials: secrets, Logger: slog.New(slog.DiscardHandler),
		// A browser is not taken for wedged because the tests' machine is busy.
		Heartbeat: supervisor.Heartbeat{Deadline: 10 * time.Second},
	})
}

// What an agent asked for is what pages see, on every worker that the owner comes
// to, and what others who acquire it get, or are refused.
func TestViewportLocaleAndTimeZoneAreWhatPagesSeeAlsoAfterAMove(t *testing.T) {
	t.Parallel()
	page := mirror(t)
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory(), Launcher: chromeLauncher(t, page)})
	a := f.Agent(t, "a", "one")
	asked := protocol.Setting{
		Viewport: &protocol.Viewport{Width: 412, Height: 915, Scale: 2}, Locale: "de-DE", Timezone: "Asia/Tokyo",
	}
	got := a.Acquire(protocol.AcquireQuery{Setting: asked, Isolation: protocol.IsolationProcess, TimeoutMS: protocol.MaxLifeWait.Milliseconds()})
	if got.Error != nil || got.Locale != "de-DE" || got.Viewport == nil || *got.Viewport != *asked.Viewport {
		t.Fatalf("%+v %v", got, got.Error)
	}
	const want = "asked in de-DE | de-DE | de-DE | de-DE | Asia/Tokyo | 412x915@2 | 1.234,5 | end"
	see := func() {
		t.Helper()
		res := a.Do(protocol.KindOpen, &protocol.OpenArgs{URL: page.URL + "/"})
		if res.Observation == nil || !strings.Contains(res.Observation.Text, want) {
			t.Fatalf("%s %v: %+v", res.Status, res.Error, res.Observation)
		}
	}
	see()
	if other := a.Acquire(protocol.AcquireQuery{Setting: protocol.Setting{Locale: "fr-FR"}}); codeOf(other.Error) != protocol.CodeOwnerConflict {
		t.Errorf("another locale: %+v", other)
	}
	if same := a.Acquire(protocol.AcquireQuery{Setting: protocol.Setting{Timezone: "Asia/Tokyo"}}); same.Error != nil || same.Locale != "de-DE" {
		t.Errorf("the same time zone: %+v", same)
	}
	first := f.Holder(t, a.Key)
	first.Drain("the test's")
	f.Until(t, a.Key, "with the other worker", func(r *protocol.OwnerRecord) bool {
		return r.State == protocol.RecordAssigned && r.Worker != first.ID
	})
	see()
	if again := a.Acquire(protocol.AcquireQuery{}); again.Timezone != "Asia/Tokyo" {
		t.Errorf("%+v", again)
	}
}

// What no browser could have is refused before anything is written.
func TestASettingThatNoBrowserCouldHaveIsRefused(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	for _, q := range []protocol.AcquireQuery{
		{Setting: protocol.Setting{Timezone: "Europe/Atlantis"}},
		{Setting: protocol.Setting{Locale: "klingon"}},
		{Setting: protocol.Setting{Viewport: &protocol.Viewport{Width: 1, Height: 1}}},
	} {
		if got := a.Acquire(q); codeOf(got.Error) != protocol.CodeInvalidArgument {
			t.Errorf("%+v: %+v", q, got.Error)
		}
	}
	if got := a.Acquire(protocol.AcquireQuery{Isolation: protocol.IsolationShared}); codeOf(got.Error) != protocol.CodeCapabilityUnsupported {
		t.Errorf("%+v", got.Error)
	}
	if rec := f.Record(t, a.Key); rec.State != protocol.RecordNone {
		t.Errorf("there is a record: %+v", rec)
	}
}
