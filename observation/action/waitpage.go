package action

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// pollNamed is the pause between two looks for an element of a role and name.
const pollNamed = 100 * time.Millisecond

// maxNamed is where the page's script cuts a name (89-waiting.js).
const maxNamed = 500

type namedArgs struct {
	Role string `json:"role"`
}

// waitNamed looks in all frames, again and again, also across documents. A frame that
// does not answer shows nothing.
func (r *run) waitNamed(ctx context.Context, args *protocol.WaitArgs) error {
	want := args.Until == "element-visible"
	pause := time.NewTicker(pollNamed)
	defer pause.Stop()
	for {
		shown, err := r.isNamedShown(ctx, args.Role, args.Name)
		if err != nil || shown == want {
			return err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isNamedShown compares names as the agent may see them, secrets hidden: else a page that
// shows one would answer what is in it.
func (r *run) isNamedShown(ctx context.Context, role, name string) (bool, error) {
	wanted := strings.ToLower(name)
	args := namedArgs{role}
	var answer struct{ Names []string }
	has := func() bool {
		return slices.ContainsFunc(answer.Names, func(n string) bool {
			return strings.Contains(strings.ToLower(r.observer.Hidden(n, utf8.RuneCountInString(n) >= maxNamed)), wanted)
		})
	}
	if err := observation.Read(ctx, r.page, "namesOfRole", args, &answer); err != nil || has() {
		return err == nil, err
	}
	looking, cancel := limit(ctx, pollText)
	defer cancel()
	var calls []observation.Call
	for _, f := range r.page.State().Children {
		if within := observation.Within(r.page, f.ID); within.State().World.Unique != "" {
			calls = append(calls, observation.Begin(within, "namesOfRole", args))
		}
	}
	found := false
	for i := range calls {
		if found {
			calls[i].Forget()
			continue
		}
		answer.Names = nil
		found = calls[i].Once(looking, &answer) == nil && has()
	}
	return found, nil
}

// waitQuiet waits until neither DOM nor network had anything for half a second.
func (r *run) waitQuiet(ctx context.Context) error {
	for {
		if _, err := observation.Until(ctx, r.page, func(s observation.State) bool { return s.InFlight == 0 && !s.Navigating }); err != nil {
			return err
		}
		var w struct{ Mark int }
		if err := observation.Read(ctx, r.page, "watch", struct{}{}, &w); err != nil {
			return err
		}
		var l look
		err := r.looks(ctx, "rest", lookArgs{Mark: w.Mark, Quiet: idle.Milliseconds(), Limit: pollText.Milliseconds(), Fresh: true}, &l)
		s := r.page.State()
		switch {
		case errors.Is(err, observation.ErrContextGone):
		case err != nil:
			return err
		case l.Quiet && s.InFlight == 0 && !s.Navigating:
			r.unwatch()
			return nil
		}
	}
}
