package observation_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/action"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// everything is the widest look that an agent can have.
var everything = protocol.ObserveBudget{Mode: protocol.ModeInteractive, Elements: 100, MaxTier: 5, TextChars: 12_000}

// agent observes a page and acts on it.
type agent struct {
	t        *testing.T
	ctx      context.Context
	page     *pagetest.Page
	observer *observation.Observer
	failed   map[int]string // by step: what it failed with
}

func newAgent(t *testing.T, page *pagetest.Page) *agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return &agent{t: t, ctx: ctx, page: page, observer: observation.New(1), failed: make(map[int]string)}
}

func (a *agent) observe() *protocol.Observation {
	a.t.Helper()
	obs, err := a.observer.Observe(a.ctx, a.page, everything)
	if err != nil {
		a.t.Fatalf("observe: %v", err)
	}
	return obs
}

func (a *agent) perform(i int, kind protocol.Kind, args map[string]any) {
	a.t.Helper()
	raw, err := json.Marshal(map[string]any{"v": 1, "kind": kind, "args": args})
	if err != nil {
		a.t.Fatal(err)
	}
	act, refused := protocol.ParseAction(raw, protocol.LaneQueue)
	if refused != nil {
		a.t.Fatalf("step %d: %v", i, refused)
	}
	_, failed := action.Perform(a.ctx, a.page, a.observer, act, func() error { return nil })
	if failed != nil {
		a.failed[i] = string(failed.Code)
	}
}
