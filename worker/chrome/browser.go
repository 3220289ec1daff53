package chrome

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/checkpoints/capture"
	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/tab"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// Browser is an environment's Chromium. One goroutine uses it, but for Suspend,
// Resume, Lost and Close.
type Browser struct {
	cfg        *Config
	key        protocol.OwnerKey
	generation protocol.Generation

	supervised *supervisor.Supervisor
	proxy      *egressproxy.Proxy
	// policy is the egress policy that holds now; released ends its updates.
	policy   atomic.Pointer[egressproxy.Compiled]
	released func()
	// page and tab are the current one's; tabs are all that were looked at.
	page     *supervisor.Page
	tab      *tab.Tab
	tabs     map[protocol.PageID]*tab.Tab
	observer *observation.Observer
	// state is what was captured last: origins that are not open now are carried
	// on from it.
	state  checkpoints.State
	masker *masker
	acted  int
	// started is when the process was, and memory what it held when it was
	// measured last, in bytes.
	started time.Time
	memory  atomic.Int64

	// lost is closed when the browser has died, doomed when it has to be replaced
	// while it still answers.
	lost, doomed chan struct{}
	watch        sync.WaitGroup
	stop         context.CancelFunc

	closeOnce sync.Once
	closeErr  error
}

// startWatch closes lost when the browser has died or its page is gone, and doomed
// when it must be replaced: a dialog of a removed frame stops the whole process as
// soon as anybody answers it (Snapshot.Orphaned).
func (b *Browser) startWatch(tell func(protocol.Event)) {
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.watch.Go(func() {
		for ctx.Err() == nil && b.runAwaitLoss(ctx) {
			continue
		}
	})
	if b.cfg.Limits.Memory > 0 {
		b.watch.Go(func() { b.runWeigh(ctx) })
	}
	if tell != nil {
		watch := b.supervised.Watch()
		b.watch.Go(func() { b.runTell(ctx, watch, tell) })
	}
}

// runAwaitLoss waits a while for the loss; true when there was none.
func (b *Browser) runAwaitLoss(ctx context.Context) (again bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	orphaned := false
	err := b.supervised.AwaitTabs(ctx, func(tabs []*supervisor.Snapshot) bool {
		orphaned = slices.ContainsFunc(tabs, func(s *supervisor.Snapshot) bool { return s.Orphaned })
		return orphaned && !b.isDoomed() || len(tabs) == 0
	})
	select {
	case <-b.supervised.Done():
	default:
		if err != nil {
			return ctx.Err() != nil
		}
		if orphaned {
			b.cfg.Logger.Warn("a dialog can never be answered", "owner", b.key.String(), "generation", b.generation)
			close(b.doomed)
			return true
		}
	}
	if why := b.supervised.Err(); !errors.Is(why, supervisor.ErrClosed) {
		b.cfg.Logger.Warn("the browser is lost", "owner", b.key.String(), "generation", b.generation, "error", why)
	}
	close(b.lost)
	return false
}

// Doomed is closed when the browser has to be replaced although it still answers.
func (b *Browser) Doomed() <-chan struct{} { return b.doomed }

// Doom is why, for the agent.
func (b *Browser) Doom() string {
	return "a dialog is open that nobody can answer any more, as of a frame that was removed while it asked: answering it stops the browser"
}

func (b *Browser) isDoomed() bool {
	select {
	case <-b.doomed:
		return true
	default:
		return false
	}
}

// Lost is closed when the browser has to be replaced.
func (b *Browser) Lost() <-chan struct{} { return b.lost }

// Suspend stops the environment's egress.
func (b *Browser) Suspend() { b.proxy.Suspend() }

// Resume lets it go on.
func (b *Browser) Resume() { b.proxy.Resume() }

// Asks reports whether a dialog is open, in any tab.
func (b *Browser) Asks() bool {
	return slices.ContainsFunc(b.supervised.Tabs(), func(p *supervisor.Page) bool { return len(p.Snapshot().Dialogs) > 0 })
}

// Capture reads cookies and the open page's storage; other origins are carried
// on, and with a dialog open the page's own as well.
func (b *Browser) Capture(ctx context.Context) (checkpoints.State, error) {
	taken, err := capture.Capture(ctx, session{page: b.page, blocked: b.startBlocked}, b.state)
	if err != nil {
		return checkpoints.State{}, err
	}
	b.state = taken.State
	return taken.State, nil
}

// Close ends the browser, its proxy and its watch. Later calls return the same
// error.
func (b *Browser) Close(ctx context.Context) error {
	b.closeOnce.Do(func() {
		if b.stop != nil {
			b.stop()
		}
		if b.released != nil {
			b.released()
		}
		for _, t := range b.tabs {
			t.Close()
		}
		err := b.supervised.Close(ctx)
		b.watch.Wait()
		if b.closeErr = errors.Join(err, b.proxy.Close()); b.closeErr != nil {
			b.closeErr = fmt.Errorf("close the browser of %s: %w", b.key, b.closeErr)
		}
	})
	return b.closeErr
}
