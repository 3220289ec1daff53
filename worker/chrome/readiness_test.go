package chrome

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

func TestReadinessIsEarnedAndLostByStarts(t *testing.T) {
	t.Parallel()
	broken := errors.New("no room")
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	ok := func(r *readiness) { r.succeeded() }
	bad := func(r *readiness) { r.fails(context.Background(), broken) }
	left := func(r *readiness) { r.fails(given, broken) }
	for name, tc := range map[string]struct {
		do   []func(*readiness)
		want error
	}{
		"nothing was tried":                  {nil, errNotTried},
		"a browser was opened":               {[]func(*readiness){ok}, nil},
		"the first one failed":               {[]func(*readiness){bad}, broken},
		"two failures are an accident":       {[]func(*readiness){ok, bad, bad}, nil},
		"three are not":                      {[]func(*readiness){ok, bad, bad, bad}, broken},
		"a success in between starts anew":   {[]func(*readiness){ok, bad, bad, ok, bad, bad}, nil},
		"a success afterwards":               {[]func(*readiness){ok, bad, bad, bad, ok}, nil},
		"what the caller gave up is no fact": {[]func(*readiness){ok, left, left, left}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLauncher(Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			for _, do := range tc.do {
				do(l.ready)
			}
			if got := l.Ready(); !errors.Is(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if asked := len(l.ready.doubt) > 0; tc.want != nil && len(tc.do) > 0 && !asked {
				t.Error("nobody is asked to try again")
			}
		})
	}
}

// A worker without warm browsers proves itself too, and its proof leaves nothing.
func TestOneBrowserIsOpenedToSeeThatItCanBe(t *testing.T) {
	t.Parallel()
	for name, warm := range map[string]int{"none is kept warm": 0, "one is kept warm": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, shop())
			b.launcher = NewLauncher(b.launcher.cfg)
			b.launcher.cfg.Warm = warm
			if b.launcher.Ready() == nil {
				t.Fatal("ready before a browser was opened")
			}
			pool, stop := context.WithCancel(t.Context())
			var done sync.WaitGroup
			done.Go(func() { b.launcher.RunPool(pool) })
			untilReady(t, b.launcher, true)
			stop()
			done.Wait()
		})
	}
}

func TestWithoutABrowserNobodyIsReady(t *testing.T) {
	t.Parallel()
	b := newBench(t, shop())
	cfg := b.launcher.cfg
	cfg.Chromium.Binary = chromium.Binary{Path: "/bin/false", Kind: cfg.Chromium.Binary.Kind}
	l := NewLauncher(cfg)
	pool, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { l.RunPool(pool) })
	ctx := context60(t)
	for ctx.Err() == nil && errors.Is(l.Ready(), errNotTried) {
		pause(t.Context(), 10*time.Millisecond)
	}
	if err := l.Ready(); err == nil {
		t.Error("ready with a browser that does not start")
	}
	stop()
	done.Wait()
}

func untilReady(t *testing.T, l *Launcher, want bool) {
	t.Helper()
	ctx := context60(t)
	for (l.Ready() == nil) != want {
		if ctx.Err() != nil {
			t.Fatalf("ready: %v", l.Ready())
		}
		pause(ctx, 10*time.Millisecond)
	}
}
