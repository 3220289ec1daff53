package environment

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// ErrFailed: the owner died too often; a coordinator answers for it until it is
// reset.
var ErrFailed = errors.New("the environment failed too often")

// settleFormer looks at what the former holder left: a START without a result,
// or an environment that was being restored, means that it died at this owner.
// Idle neighbours of a worker that dies leave neither.
// A START is counted once: the holders that follow may die, too, before they have
// written one of their own.
func (e *Environment) settleFormer(ctx context.Context, diedOpening bool) error {
	died, start := diedOpening, ""
	if in := e.orphan; in != nil {
		stored, err := e.holder.Answered(ctx, in.Request)
		switch {
		case errors.Is(err, ownerlog.ErrBehind): // nobody is struck by what cannot be told
		case err != nil:
			return err
		case stored != nil:
			e.noteFormerResult(stored.Data)
		case in.Nonce != e.holder.Record().Struck:
			died, start = true, in.Nonce
		}
	}
	if !died {
		return nil
	}
	return e.strike(ctx, elsewhere, start)
}

// noteFormerResult takes over what the former holder had not yet written into
// the record: that its last effect was not saved.
func (e *Environment) noteFormerResult(data []byte) {
	var res protocol.Result
	if json.Unmarshal(data, &res) == nil && warned(&res, protocol.CodeCheckpointNotSaved) {
		e.holder.Amend(func(r *protocol.OwnerRecord) { r.AddUnsaved(res.Seq, res.Request) })
	}
}

// where a death happened.
type where int

const (
	here      where = iota // our browser died
	elsewhere              // the former holder did
)

// pause is how long the next attempt to open waits. A browser that died is
// restarted after 1, 5, 30 s. A worker that died is another matter: the owner has
// moved away from it, and whoever waits for its next action waits for nothing
// else. So the first move opens at once, and the waits begin with the second.
func (w where) pause(deaths int) time.Duration {
	if w == elsewhere {
		deaths--
	}
	if deaths < 1 {
		return 0
	}
	return backoff[min(deaths, len(backoff))-1]
}

// strike counts a death without a completed action, of the START with that nonce
// if there was one. The third within ten minutes fails the owner; before that,
// the next attempt may have to wait.
func (e *Environment) strike(ctx context.Context, w where, start string) error {
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		e.failing, r.Opening = r.Strike(time.Now()), false
		if start != "" {
			r.Struck = start
		}
		return nil
	})
	if err != nil {
		return err
	}
	deaths := len(e.holder.Record().Failures)
	e.openAt = time.Now().Add(w.pause(deaths))
	e.log.Warn("it died without a completed action", "deaths", deaths, "failed", e.failing)
	return nil
}

// completed forgets the deaths: an action was completed.
func (e *Environment) completed() {
	e.failures = 0
	if len(e.holder.Record().Failures) > 0 {
		e.holder.Amend(func(r *protocol.OwnerRecord) { r.Failures = nil })
	}
}

// fail lets the owner go for good. A START without a result stays in the record:
// whoever answers knows that it may have had an effect.
func (e *Environment) fail(ctx context.Context) error {
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		r.Opening, r.Leases, r.Control = false, nil, nil
		return r.Move(protocol.RecordFail, time.Now())
	})
	if err != nil {
		return err
	}
	e.log.Error("failed: its requests are answered environment_failed until it is reset")
	e.step(Gone)
	return ErrFailed
}

// reopen fires when an environment that has to wait before it is opened again
// may be.
func (e *Environment) reopen() <-chan time.Time {
	if !e.wantOpen || e.saving != nil {
		return nil
	}
	return time.After(time.Until(e.openAt))
}

// warned reports whether the result carries the warning.
func warned(res *protocol.Result, code protocol.Code) bool {
	for _, w := range res.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}
