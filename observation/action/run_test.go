package action_test

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

func TestMain(m *testing.M) { pagetest.Main(m) }

type object = map[string]any

var everything = protocol.ObserveBudget{Mode: protocol.ModeInteractive, Elements: 100, MaxTier: 5, TextChars: 12_000}

// agent acts on a page as an agent would: by names that it has observed.
type agent struct {
	t        *testing.T
	ctx      context.Context
	page     *pagetest.Page
	observer *observation.Observer
	secret   string
	// begun counts dispatches of the last action; refuse makes dispatch fail.
	begun  int
	refuse error
}

func newAgent(t *testing.T, page *pagetest.Page) *agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return &agent{t: t, ctx: ctx, page: page, observer: observation.New(1)}
}

func on(t *testing.T, html string) *agent {
	t.Helper()
	a := newAgent(t, pagetest.Open(t))
	a.page.Load(a.ctx, t, html)
	return a
}

func (a *agent) observe() *protocol.Observation {
	a.t.Helper()
	obs, err := a.observer.Observe(a.ctx, a.page, everything)
	if err != nil {
		a.t.Fatalf("observe: %v", err)
	}
	return obs
}

// ref is that of the element with a name, in a new observation.
func (a *agent) ref(name string) protocol.Ref {
	a.t.Helper()
	obs := a.observe()
	for _, e := range obs.Elements {
		if e.Name == name {
			return e.Ref
		}
	}
	a.t.Fatalf("%q is not listed: %+v", name, obs.Elements)
	return ""
}

// element is the listed one with a name.
func (a *agent) element(name string) protocol.Element {
	a.t.Helper()
	for _, e := range a.observe().Elements {
		if e.Name == name {
			return e
		}
	}
	a.t.Fatalf("%q is not listed", name)
	return protocol.Element{}
}

// do performs one action.
func (a *agent) do(kind protocol.Kind, args object) (action.Performed, *protocol.Error) {
	a.t.Helper()
	raw, err := json.Marshal(object{"v": 1, "kind": kind, "args": args})
	if err != nil {
		a.t.Fatal(err)
	}
	act, refused := protocol.ParseAction(raw, protocol.LaneQueue)
	if refused != nil {
		a.t.Fatalf("parse: %v", refused)
	}
	a.begun = 0
	did, failed := action.PerformCredential(a.ctx, a.page, a.observer, act, a.secret, func() error { a.begun++; return a.refuse })
	if a.begun > 1 {
		a.t.Errorf("dispatched %d times", a.begun)
	}
	return did, failed
}

// ok performs an action that must succeed.
func (a *agent) ok(kind protocol.Kind, args object) action.Performed {
	a.t.Helper()
	did, failed := a.do(kind, args)
	if failed != nil {
		a.t.Fatalf("%s: %v", kind, failed)
	}
	return did
}

// fails performs an action that must fail so.
func (a *agent) fails(kind protocol.Kind, args object, code protocol.Code, dispatched protocol.Dispatched) *protocol.Error {
	a.t.Helper()
	_, failed := a.do(kind, args)
	if failed == nil {
		a.t.Fatalf("%s succeeded, want %s", kind, code)
	}
	if failed.Code != code || failed.Dispatched != dispatched {
		a.t.Errorf("%s failed with %v, dispatched=%s; want %s, dispatched=%s", kind, failed, failed.Dispatched, code, dispatched)
	}
	if dispatched == protocol.DispatchedNo && a.begun != 0 && a.refuse == nil {
		a.t.Errorf("%s: dispatch was called", kind)
	}
	return failed
}

func (a *agent) probe(expression string, want any) {
	a.t.Helper()
	if got := a.page.Eval(a.ctx, a.t, expression); got != want {
		a.t.Errorf("%s = %v, want %v", expression, got, want)
	}
}
