package chrome

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/worker/policies"
)

// allow adds hosts at the site's port to the policy.
func (b *bench) allow(hosts ...string) {
	b.t.Helper()
	site := strings.TrimPrefix(b.site.URL, "http://")
	all := []string{site}
	for _, h := range hosts {
		all = append(all, h+site[strings.LastIndexByte(site, ':'):])
	}
	policy, err := egressproxy.Compile(egressproxy.Policy{Mode: egressproxy.ModeAllowlist, AllowHosts: all}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.launcher.cfg.Policies = policies.Fixed(policy)
}

// awaitFrames waits until the named frames have documents, and returns their ids.
func awaitFrames(ctx context.Context, t *testing.T, browser *Browser, names ...string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	_, err := browser.page.Await(ctx, func(s *supervisor.Snapshot) bool {
		for _, f := range s.Frames {
			for _, name := range names {
				if f.Session != "" && strings.HasSuffix(f.URL, "/"+name) {
					ids[name] = string(f.ID)
				}
			}
		}
		return len(ids) == len(names)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids { // and their worlds
		for ctx.Err() == nil {
			if _, ok := worldOf(browser.page, id); ok {
				break
			}
			pause(ctx, 10*time.Millisecond)
		}
	}
	return ids
}

// looks is what a page can see of its device.
const looks = `JSON.stringify([innerWidth,devicePixelRatio,navigator.language,new Intl.DateTimeFormat().resolvedOptions().locale,
	new Intl.DateTimeFormat().resolvedOptions().timeZone,navigator.userAgent.slice(0,9),matchMedia("(prefers-color-scheme: dark)").matches,navigator.onLine])`

func (b *bench) looks(ctx context.Context, browser *Browser, frame string) []any {
	b.t.Helper()
	params, _ := json.Marshal(map[string]any{"expression": looks, "returnByValue": true})
	out := b.ok(b.do(ctx, browser, protocol.KindCDP, call("Runtime.evaluate", string(params), frame)))
	var reply struct {
		Result struct {
			Result struct {
				Value string `json:"value"`
			} `json:"result"`
		} `json:"result"`
	}
	var values []any
	if err := json.Unmarshal(out.Data, &reply); err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(reply.Result.Result.Value), &values); err != nil {
		b.t.Fatalf("%s: %v", out.Data, err)
	}
	return values
}

func TestAnEmulatedDeviceSurvivesNavigation(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, framedSite())
	b.launcher.cfg.EscapeHatch, _ = NewEscapeHatch([]string{"Runtime.evaluate"})
	b.launcher.cfg.Timezone = "UTC"
	b.allow("far.localhost")
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	open := func(url string) { b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: url})) }
	open(b.site.URL + "/x")
	started := b.looks(ctx, browser, "")
	b.ok(b.do(ctx, browser, protocol.KindEmulate, &protocol.EmulateArgs{
		Viewport: &protocol.EmulatedViewport{Width: 390, Height: 844, Scale: 3}, Locale: "de-DE", Timezone: "Asia/Tokyo",
		UserAgent: "Emulated/1", ColorScheme: "dark",
	}))
	want := []any{390.0, 3.0, "de-DE", "de-DE", "Asia/Tokyo", "Emulated/", true, true}
	if diff := cmp.Diff(want, b.looks(ctx, browser, "")); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}
	open(b.site.URL + "/")
	if diff := cmp.Diff(want, b.looks(ctx, browser, "")); diff != "" {
		t.Errorf("after a navigation (-want +got):\n%s", diff)
	}
	ids := awaitFrames(ctx, t, browser, "far")
	if diff := cmp.Diff(want[2:], b.looks(ctx, browser, ids["far"])[2:]); diff != "" {
		t.Errorf("in a frame of another site (-want +got):\n%s", diff)
	}
	open(strings.Replace(b.site.URL, "127.0.0.1", "far.localhost", 1) + "/y")
	if diff := cmp.Diff(want, b.looks(ctx, browser, "")); diff != "" {
		t.Errorf("after a navigation to another process (-want +got):\n%s", diff)
	}
	bad := b.do(ctx, browser, protocol.KindEmulate, &protocol.EmulateArgs{Timezone: "Mars/Olympus", ColorScheme: "light"})
	if bad.Err == nil || bad.Err.Code != protocol.CodeInvalidArgument {
		t.Errorf("a time zone that does not exist: %v", bad.Err)
	}
	if diff := cmp.Diff(want, b.looks(ctx, browser, "")); diff != "" {
		t.Errorf("after a refusal (-want +got):\n%s", diff)
	}
	b.ok(b.do(ctx, browser, protocol.KindEmulate, &protocol.EmulateArgs{Reset: true}))
	if diff := cmp.Diff(started, b.looks(ctx, browser, "")); diff != "" {
		t.Errorf("after a reset (-want +got):\n%s", diff)
	}
}

func TestAnEnvironmentThatIsOffline(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, shop())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	b.ok(b.do(ctx, browser, protocol.KindEmulate, &protocol.EmulateArgs{Network: &protocol.EmulatedNetwork{Offline: true}}))
	out := b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/account"})
	if out.Err == nil || out.Err.Code != protocol.CodeNavigationFailed || !strings.Contains(out.Err.Message, "INTERNET_DISCONNECTED") {
		t.Fatalf("offline: %v", out.Err)
	}
	b.ok(b.do(ctx, browser, protocol.KindEmulate, &protocol.EmulateArgs{Network: &protocol.EmulatedNetwork{}}))
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/account"}))
}

// Chromium says nothing of a zone that it does not know, so it is not asked.
func TestAnUnknownTimeZoneIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	ctx := context60(t)
	b := newBench(t, looper())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	for _, zone := range []string{"Mars/Olympus", "Local"} {
		bad := b.do(ctx, browser, protocol.KindEmulate, &protocol.EmulateArgs{Timezone: zone})
		if bad.Err == nil || bad.Err.Code != protocol.CodeInvalidArgument || bad.Err.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s: %v", zone, bad.Err)
		}
	}
}
