package chrome

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/observation/pagejs"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// warm is a started browser with its proxy, which belongs to nobody yet. Its
// proxy denies everything.
type warm struct {
	proxy      *egressproxy.Proxy
	supervised *supervisor.Supervisor
	started    time.Time
}

// warmPause is between attempts when a browser cannot be started.
const warmPause = 5 * time.Second

// RunPool keeps browsers started ahead of the environments that will need them,
// until ctx ends; then it closes those that nobody took. A start takes about
// half a second; taking a warm one takes none. Each is a proof that browsers can
// be opened here; with none to keep warm, or in doubt, one is opened for that
// alone.
func (l *Launcher) RunPool(ctx context.Context) {
	defer l.emptyPool()
	for ctx.Err() == nil {
		l.warming.Store(l.cfg.Warm > 0)
		w, err := l.start(ctx, protocol.Setting{})
		l.warming.Store(false)
		if err != nil {
			if ctx.Err() == nil {
				l.cfg.Logger.Error("cannot start a browser ahead of need", "error", err)
				pause(ctx, warmPause)
			}
			continue
		}
		l.hold(ctx, w)
	}
}

// hold offers a browser until it is taken, the next proof is asked for, or ctx
// ends.
func (l *Launcher) hold(ctx context.Context, w *warm) {
	offer := l.pool
	if l.cfg.Warm <= 0 {
		l.discard(w)
		offer, w = nil, nil
	}
	select {
	case offer <- w:
		return
	case <-l.ready.doubt:
	case <-ctx.Done():
	}
	if w != nil {
		l.discard(w)
	}
}

func (l *Launcher) emptyPool() {
	for {
		select {
		case w := <-l.pool:
			l.discard(w)
		default:
			return
		}
	}
}

// take is a warm browser that still lives, or a new one. One caller waits for a
// start that is under way: a second start would only slow down both.
func (l *Launcher) take(ctx context.Context, setting protocol.Setting) (*warm, error) {
	if !setting.IsZero() {
		return l.start(ctx, setting) // the warm ones show themselves otherwise
	}
	patience := time.Duration(0)
	if l.warming.Load() && l.waits.CompareAndSwap(false, true) {
		defer l.waits.Store(false)
		patience = warmPause
	}
	for {
		w := l.poolWithin(ctx, patience)
		if w == nil {
			return l.start(ctx, setting)
		}
		select {
		case <-w.supervised.Done():
			l.discard(w)
		default:
			return w, nil
		}
	}
}

// poolWithin is the next browser of the pool, nil if none comes in time.
func (l *Launcher) poolWithin(ctx context.Context, patience time.Duration) *warm {
	select {
	case w := <-l.pool:
		return w
	default:
	}
	if patience == 0 {
		return nil
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case w := <-l.pool:
		return w
	case <-late.C:
	case <-ctx.Done():
	}
	return nil
}

// start starts a browser, and takes note of whether that could be done.
func (l *Launcher) start(ctx context.Context, setting protocol.Setting) (*warm, error) {
	w, err := l.launch(ctx, setting)
	if err != nil {
		l.ready.fails(ctx, err)
		return nil, err
	}
	l.ready.succeeded()
	return w, nil
}

// launch starts a proxy that denies everything and a browser behind it, whose
// page computes.
func (l *Launcher) launch(ctx context.Context, setting protocol.Setting) (*warm, error) {
	proxy, err := egressproxy.Listen(ctx, egressproxy.Options{Listeners: &l.listeners, Logger: l.cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("open the environment's proxy: %w", err)
	}
	user, password := proxy.Credentials()
	s, err := supervisor.Start(ctx, supervisor.Config{
		Chromium: l.cfg.Chromium, ProxyServer: "http://" + proxy.Addr(),
		ProxyAuth: &supervisor.ProxyAuth{User: user, Password: password}, PrimeURL: egressproxy.PrimeURL,
		Viewport: l.viewport(setting), Locale: cmp.Or(setting.Locale, l.cfg.Locale), Timezone: cmp.Or(setting.Timezone, l.cfg.Timezone),
		WorldName: pagejs.WorldName, WorldScript: pagejs.Source(),
		Heartbeat: l.cfg.Heartbeat,
	})
	if err != nil {
		return nil, errors.Join(startError(err), proxy.Close())
	}
	w := &warm{proxy: proxy, supervised: s, started: time.Now()}
	if err := probe(ctx, s.Page()); err != nil {
		l.discard(w)
		return nil, startError(err)
	}
	return w, nil
}

func (l *Launcher) viewport(setting protocol.Setting) supervisor.Viewport {
	if v := setting.Viewport; v != nil {
		return supervisor.Viewport{Width: v.Width, Height: v.Height, Scale: v.Scale}
	}
	return l.cfg.Viewport
}

func (l *Launcher) discard(w *warm) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := errors.Join(w.supervised.Close(ctx), w.proxy.Close()); err != nil {
		l.cfg.Logger.Error("close a browser that nobody took", "error", err)
	}
}

const closeTimeout = 10 * time.Second

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
