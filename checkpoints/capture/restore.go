package capture

import (
	"context"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// The reasons of losses.
const (
	lostExpired     = "expired since the checkpoint"
	lostRefused     = "refused by the browser"
	lostMissing     = "not there after the restore"
	lostOpaque      = "belongs to an opaque partition"
	lostPartitioned = "third-party storage cannot be restored"
	lostScheme      = "not a web origin"
)

// Restore puts a kept state into a fresh environment, before any page is
// opened, and reports what came back. An error means that the session failed:
// the environment must not be used. Losses are in the report.
func Restore(
	ctx context.Context, s Session, l *checkpoints.Loaded, generation protocol.Generation,
) (*checkpoints.FidelityReport, error) {
	started := time.Now()
	r := &restorer{session: s, report: checkpoints.NewFidelityReport(l, generation, started), now: started}
	if err := r.cookies(ctx, l.State.Cookies); err != nil {
		return nil, fmt.Errorf("restore cookies: %w", err)
	}
	for _, area := range l.State.LocalStorage {
		if err := r.area(ctx, area); err != nil {
			return nil, fmt.Errorf("restore storage: %w", err)
		}
	}
	r.report.TookMS = time.Since(started).Milliseconds()
	return r.report, nil
}

type restorer struct {
	session Session
	report  *checkpoints.FidelityReport
	now     time.Time
}

// cookies sets them and counts those that the browser lists afterwards.
func (r *restorer) cookies(ctx context.Context, cookies []checkpoints.Cookie) error {
	wanted := r.settable(cookies)
	if len(wanted) == 0 {
		return nil
	}
	refused, err := r.set(ctx, wanted)
	if err != nil {
		return err
	}
	listCtx, cancel := context.WithTimeout(ctx, cookieTime)
	defer cancel()
	listed, err := r.session.Cookies(listCtx)
	if err != nil {
		return err
	}
	have := make(map[checkpoints.CookieID]checkpoints.Text, len(listed))
	for _, c := range listed {
		have[c.ID()] = c.Value
	}
	for _, c := range wanted {
		value, there := have[c.ID()]
		switch {
		case there && value == c.Value:
			r.report.Keep(checkpoints.KindCookies, 1)
		case refused[c.ID()]:
			r.report.Lose(checkpoints.KindCookies, c.Label(), lostRefused)
		default:
			r.report.Lose(checkpoints.KindCookies, c.Label(), lostMissing)
		}
	}
	return nil
}

// settable leaves out what no browser would take.
func (r *restorer) settable(cookies []checkpoints.Cookie) (wanted []checkpoints.Cookie) {
	for _, c := range cookies {
		switch {
		case c.PartitionOpaque:
			r.report.Lose(checkpoints.KindCookies, c.Label(), lostOpaque)
		case c.Expired(r.now):
			r.report.Lose(checkpoints.KindCookies, c.Label(), lostExpired)
		default:
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// set sets cookies, all at once or, when that is refused, in halves, so that a
// bad one costs itself alone: one call for a good set, about 2·log2(n) more for
// each bad cookie.
func (r *restorer) set(ctx context.Context, cookies []checkpoints.Cookie) (refused map[checkpoints.CookieID]bool, err error) {
	refused = map[checkpoints.CookieID]bool{}
	queue := [][]checkpoints.Cookie{cookies}
	for len(queue) > 0 {
		batch := queue[0]
		queue = queue[1:]
		callCtx, cancel := context.WithTimeout(ctx, cookieTime)
		err := r.session.SetCookies(callCtx, batch)
		late := callCtx.Err() != nil
		cancel()
		switch {
		case err == nil:
		case late: // the browser does not answer: halving would only wait longer
			return nil, err
		case len(batch) == 1:
			refused[batch[0].ID()] = true
		default:
			half := len(batch) / 2
			queue = append(queue, batch[:half], batch[half:])
		}
	}
	return refused, nil
}

// area restores one storage area in a page of its origin.
func (r *restorer) area(ctx context.Context, area checkpoints.StorageArea) error {
	switch {
	case area.StorageKey.Partitioned():
		r.report.Lose(checkpoints.KindStorageOrigins, string(area.StorageKey), lostPartitioned)
		return nil
	case !webOrigin(area.Origin):
		r.report.Lose(checkpoints.KindStorageOrigins, string(area.StorageKey), lostScheme)
		return nil
	}
	var written int
	var reason string
	originCtx, cancel := context.WithTimeout(ctx, originTime)
	defer cancel()
	err := r.session.WithOrigin(originCtx, area.Origin, func(ctx context.Context, eval Eval) (err error) {
		written, reason, err = load(ctx, eval, area.Origin, area.Items)
		return err
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && reason == "" {
		reason = clip(err.Error())
	}
	r.report.Keep(checkpoints.KindStorageItems, written)
	if lost := len(area.Items) - written; lost > 0 {
		r.report.Lose(checkpoints.KindStorageItems, string(area.StorageKey), fmt.Sprintf("%d of %d entries: %s", lost, len(area.Items), reason))
	}
	if written > 0 || len(area.Items) == 0 {
		r.report.Keep(checkpoints.KindStorageOrigins, 1)
	}
	return nil
}
