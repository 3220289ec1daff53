package chrome

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

const (
	// lookLimit bounds the look at the page after an action that failed, and the part
	// of an action's time that is kept for it.
	lookLimit = 2 * time.Second
	// askingLimit bounds the look at a page whose dialog was answered: one that goes on
	// asking never comes to rest.
	askingLimit = 4 * time.Second
	// lookPart is that part of a short action's time.
	lookPart = 4
	// silencePatience is how long a page that was silent before an action began may
	// take to speak again.
	silencePatience = time.Second
	// silenceLimit is how long a page may be silent until the action that finds it so
	// ends its process.
	silenceLimit = 15 * time.Second
)

var (
	// errActing ends the part of an action's time in which it acts.
	errActing = errors.New("its run budget is over")
	// errSilent ends a read of a page that is unresponsive.
	errSilent = fmt.Errorf("the page does not answer: %w", context.DeadlineExceeded)
)

// acting is the time in which an action acts. The rest of it is for a look at what
// became of the page: no result comes after its deadline because of that.
func acting(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	rest := min(lookLimit, time.Until(deadline)/lookPart)
	return context.WithDeadlineCause(ctx, deadline.Add(-rest), errActing)
}

// looking is the time for the look. After an action that failed, and on a page that
// goes on asking, it is short.
func (r *run) looking(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case r.out.Err != nil:
		return within(ctx, lookLimit)
	case r.action.Kind == protocol.KindDialog:
		return within(ctx, askingLimit)
	}
	return context.WithCancel(ctx)
}

// within goes on so long when ctx is stopped, but not beyond its deadline.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	until := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), until)
}

// startAnswering begins a context that ends as soon as the page is unresponsive: a
// read waits for nothing then.
func (b *Browser) startAnswering(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { b.runAwaitSilence(ctx, cancel) })
	return ctx, func() { cancel(nil); watch.Wait() }
}

func (b *Browser) runAwaitSilence(ctx context.Context, cancel context.CancelCauseFunc) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if _, err := b.page.Await(ctx, func(s *supervisor.Snapshot) bool { return s.Unresponsive }); err == nil {
		cancel(errSilent)
	}
}

// silent refuses an action on a page that is known not to answer: each would wait
// for its whole time. A navigation leaves the page, and ends its process; the others
// do so only when it is silent for long.
func (r *run) silent(ctx context.Context) *protocol.Error {
	switch r.action.Kind {
	case protocol.KindOpen, protocol.KindReload, protocol.KindTabs, protocol.KindDialog, protocol.KindCDP:
		return nil
	}
	page := r.b.page
	if !page.Snapshot().Unresponsive {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, silencePatience)
	defer cancel()
	_, _ = page.Await(ctx, func(s *supervisor.Snapshot) bool { return !s.Unresponsive })
	snap := page.Snapshot()
	switch {
	case !snap.Unresponsive:
		return nil
	case time.Since(snap.SilentSince) < silenceLimit:
		return protocol.Errorf(protocol.CodeRendererUnresponsive, "").WithDispatched(protocol.DispatchedNo)
	}
	page.StartEndRenderer()
	return protocol.Errorf(protocol.CodeRendererUnresponsive, "the page does not answer; its process is ended").WithDispatched(protocol.DispatchedNo)
}

// leave is the gate of a navigation: behind it, way is made for it.
func (r *run) leave(ctx context.Context) func() error {
	return func() error {
		if err := r.dispatch(); err != nil {
			return err
		}
		r.b.page.MakeWay(ctx)
		return nil
	}
}
