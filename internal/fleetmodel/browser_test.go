package fleetmodel

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

var errBrowser = errors.New("the browser does not answer")

const storageKey = checkpoints.StorageKey("http://model.invalid/")

// launcher opens model browsers: a counter of effects, whose every move is a
// step.
type launcher struct {
	wk   *worker
	held *held
}

// Open implements environment.Launcher.
func (l *launcher) Open(ctx context.Context, spec environment.Spec) (environment.Browser, *checkpoints.FidelityReport, error) {
	if r := l.wk.do(ctx, "open the browser", errBrowser, func(protocol.Seq) reply { return reply{} }); r.err != nil {
		return nil, nil, r.err
	}
	b := &browser{p: l.wk.process, hold: l.held.hold, lost: make(chan struct{}), generation: spec.Generation}
	for _, area := range spec.Loaded.State.LocalStorage {
		b.effects, _ = strconv.Atoi(string(area.Items[0].Value))
	}
	l.wk.w.mu.Lock()
	l.held.browser = b
	b.hold.browser = b
	b.hold.effects, b.hold.finished, b.hold.done, b.hold.captured, b.hold.saved = b.effects, b.effects, b.effects, b.effects, b.effects
	l.wk.w.mu.Unlock()
	return b, checkpoints.NewFidelityReport(spec.Loaded, spec.Generation, time.Now()), nil
}

type browser struct {
	p          *process
	hold       *hold
	generation protocol.Generation
	lost       chan struct{}
	loseOnce   sync.Once
	effects    int
}

// Run implements environment.Browser. The world may stop between the steps:
// before the dispatch, and between it and the effect.
func (b *browser) Run(ctx context.Context, a *protocol.Action, dispatch func() error) *environment.Outcome {
	if out := b.step(ctx, "prepare", protocol.DispatchedNo, func() { b.hold.prepared = b.hold.writes }); out != nil {
		return out
	}
	if err := dispatch(); err != nil {
		return &environment.Outcome{
			Err: protocol.Errorf(protocol.CodeActionFailed, "not dispatched: %v", err).WithDispatched(protocol.DispatchedNo), Verdict: protocol.VerdictRefused,
		}
	}
	out := b.step(ctx, "effect", protocol.DispatchedUnknown, func() {
		if a.Info.Effect == protocol.EffectWrite {
			b.effects++
			if b.hold.browser == b {
				b.hold.effects = b.effects
			}
		}
	})
	if out != nil {
		return out
	}
	b.p.w.mu.Lock()
	if b.hold.browser == b {
		b.hold.finished = b.effects
	}
	b.p.w.mu.Unlock()
	return &environment.Outcome{Verdict: protocol.VerdictNoneYet}
}

// step is nil where the browser did it.
func (b *browser) step(ctx context.Context, name string, failed protocol.Dispatched, effect func()) *environment.Outcome {
	done := make(chan reply, 1)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	go func() {
		done <- b.p.do(ctx, name, errBrowser, func(protocol.Seq) reply {
			if effect != nil {
				effect()
			}
			return reply{}
		})
	}()
	select {
	case r := <-done:
		if r.err == nil {
			return nil
		}
		return &environment.Outcome{Err: protocol.Errorf(protocol.CodeActionTimeout, "%v", r.err).WithDispatched(failed)}
	case <-b.lost:
		return &environment.Outcome{Err: protocol.Errorf(protocol.CodeBrowserLost, "").WithDispatched(failed)}
	}
}

// Capture implements environment.Browser.
func (b *browser) Capture(context.Context) (checkpoints.State, error) {
	s := checkpoints.State{}
	b.p.w.mu.Lock()
	defer b.p.w.mu.Unlock()
	if b.hold.browser == b {
		b.hold.captured = b.effects
	}
	if b.effects > 0 {
		s = s.Merge(checkpoints.StorageArea{
			StorageKey: storageKey, Origin: "http://model.invalid",
			Items: []checkpoints.Item{{Key: "effects", Value: checkpoints.Text(strconv.Itoa(b.effects))}},
		})
	}
	return s, nil
}

func (b *browser) Suspend()              {}
func (b *browser) Resume()               {}
func (b *browser) Lost() <-chan struct{} { return b.lost }

// Close implements environment.Browser.
func (b *browser) Close(context.Context) error {
	b.lose()
	return nil
}

func (b *browser) lose() { b.loseOnce.Do(func() { close(b.lost) }) }

// forgets: the browser died with what was not saved, so nobody can save that any more;
// the record tells which effects they were.
func (h *hold) forgets() {
	h.finished, h.done, h.captured = h.saved, h.saved, h.saved
}
