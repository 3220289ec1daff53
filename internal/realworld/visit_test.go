//go:build realworld

package realworld

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker/chrome"
	"github.com/browserfleet/browserfleet/worker/credentials"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// visit is one environment that goes through one site.
type visit struct {
	docs    docs
	site    *httptest.Server
	browser environment.Browser
	scratch string
	eyes    *eyes
	figures *figures
}

func newVisit(ctx context.Context, t *testing.T, d docs) *visit {
	t.Helper()
	v := &visit{docs: d, site: d.serve(t), scratch: t.TempDir(), figures: newFigures()}
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egressproxy.Compile(egressproxy.Policy{
		Mode: egressproxy.ModeAllowlist, Public: new(bool), AllowHosts: []string{strings.TrimPrefix(v.site.URL, "http://")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := credentials.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	launcher := chrome.NewLauncher(chrome.Config{
		Chromium: chromium.Options{
			Binary: binary, Scratch: v.scratch, AllowNoSandbox: true,
			ExtraArgs: []string{"--remote-debugging-port=0"}, // for eyes
		},
		Viewport: d.viewport, Policy: policy, Credentials: secrets, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	key := protocol.OwnerKey{Tenant: "a", Owner: "reader"}
	v.browser, _, err = launcher.Open(ctx, environment.Spec{Key: key, Generation: 1, Loaded: &checkpoints.Loaded{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := v.browser.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	v.open(ctx, t, d.pages[0])
	v.eyes = openEyes(ctx, t, v.scratch, v.site.URL)
	return v
}

// run performs an action and wants it to succeed.
func (v *visit) run(ctx context.Context, t *testing.T, kind protocol.Kind, args protocol.Args, shape *protocol.ObserveOptions) *environment.Outcome {
	t.Helper()
	out := v.try(ctx, t, kind, args, shape)
	if out.Err != nil {
		t.Fatalf("%s %+v: %v (dispatched %s)", kind, args, out.Err, out.Err.Dispatched)
	}
	return out
}

// try performs an action as the worker does.
func (v *visit) try(ctx context.Context, t *testing.T, kind protocol.Kind, args protocol.Args, shape *protocol.ObserveOptions) *environment.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	info, ok := kind.Lookup()
	if !ok {
		t.Fatalf("kind %s", kind)
	}
	out := v.browser.Run(ctx, &protocol.Action{
		Request: protocol.Request{V: 1, Kind: kind, Observe: shape}, Info: info, Args: args,
	}, func() error { return nil })
	for _, w := range out.Warnings {
		t.Errorf("%s %+v: warning %+v", kind, args, w)
	}
	return out
}

func (v *visit) url(page string) string { return v.site.URL + "/" + page }

func (v *visit) open(ctx context.Context, t *testing.T, page string) *environment.Outcome {
	t.Helper()
	return v.run(ctx, t, protocol.KindOpen, &protocol.OpenArgs{URL: v.url(page)}, nil)
}

func (v *visit) observe(ctx context.Context, t *testing.T, shape *protocol.ObserveOptions) *protocol.Observation {
	t.Helper()
	return v.run(ctx, t, protocol.KindObserve, &protocol.ObserveArgs{}, shape).Observation
}
