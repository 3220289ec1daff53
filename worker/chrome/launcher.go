package chrome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/checkpoints/capture"
	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/tab"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker/credentials"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/policies"
)

// Config is what every environment of a worker shares.
type Config struct {
	Chromium chromium.Options
	// Policies are the tenants' named ones; nil for Policy alone.
	Policies *policies.Book
	// Policy is the worker's own, without Policies.
	Policy      *egressproxy.Compiled
	Credentials *credentials.Store
	Logger      *slog.Logger
	// Viewport, locale and time zone of every environment; zero values are the
	// supervisor's defaults.
	Viewport         supervisor.Viewport
	Locale, Timezone string
	// Popups says what becomes of windows that pages open.
	Popups supervisor.PopupPolicy
	// Dialogs says who answers the dialogs of an environment whose agent asked for
	// nothing else; empty is must_respond. DialogTimeout is when one that nobody
	// answers is dismissed; zero is 300 s.
	Dialogs       protocol.DialogPolicy
	DialogTimeout time.Duration
	// Warm is how many browsers RunPool keeps started ahead of need.
	Warm int
	// Limits are when a browser asks to be replaced.
	Limits Limits
	// EscapeHatch is what the cdp action may call; nil turns the action off.
	EscapeHatch *EscapeHatch
	// Heartbeat says when a silent browser is killed; zero values are the
	// supervisor's defaults.
	Heartbeat supervisor.Heartbeat
}

// Launcher opens an environment's browser: a proxy with a credential of its own,
// a Chromium process that knows no other way out, and the state in it.
type Launcher struct {
	cfg       Config
	listeners egressproxy.Listeners
	pool      chan *warm
	ready     *readiness
	warming   atomic.Bool // RunPool starts a browser
	waits     atomic.Bool // and somebody waits for it
}

// NewLauncher checks nothing: Open does, each time. The pool stays empty, and
// nobody knows whether browsers can be opened, unless RunPool runs.
func NewLauncher(cfg Config) *Launcher {
	if cfg.Policies == nil {
		cfg.Policies = policies.Fixed(cfg.Policy)
	}
	// RunPool holds one more in its hand.
	return &Launcher{cfg: cfg, pool: make(chan *warm, max(0, cfg.Warm-1)), ready: newReadiness(cfg.Logger)}
}

// Open starts a browser and restores the state. On an error nothing is left.
func (l *Launcher) Open(ctx context.Context, spec environment.Spec) (environment.Browser, *checkpoints.FidelityReport, error) {
	w, err := l.take(ctx, spec.Setting)
	if err != nil {
		return nil, nil, err
	}
	page := w.supervised.Page()
	page.SetGeneration(uint64(spec.Generation))
	b := &Browser{
		cfg: &l.cfg, key: spec.Key, generation: spec.Generation, supervised: w.supervised, proxy: w.proxy,
		tabs: make(map[protocol.PageID]*tab.Tab), observer: observation.New(spec.Generation), masker: newMasker(l.cfg.Credentials.Secrets(spec.Key)),
		lost: make(chan struct{}), doomed: make(chan struct{}), started: w.started,
	}
	b.observer.Hide(b.masker.whole)
	b.show(page)
	w.proxy.SetLive(spec.Live)
	if err := b.obey(ctx, spec); err != nil {
		return nil, nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	report, err := capture.Restore(ctx, session{page: page}, spec.Loaded, spec.Generation)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("restore the state: %w", err), b.Close(context.WithoutCancel(ctx)))
	}
	b.state = spec.Loaded.State
	b.startWatch(spec.Tell)
	l.cfg.Logger.Info("opened a browser", "owner", spec.Key.String(), "generation", spec.Generation,
		"pid", w.supervised.Process().PID(), "proxy", w.proxy.Addr())
	return b, report, nil
}

// startError names what an operator has to mend.
func startError(err error) error {
	var missing *chromium.MissingError
	if errors.As(err, &missing) || errors.Is(err, chromium.ErrNeedsNoSandbox) {
		return protocol.Errorf(protocol.CodeEnvironmentUnstarted, "%v", err)
	}
	return fmt.Errorf("start the browser: %w", err)
}
