package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestDoReturnsTheResultAndCarriesTheTrace(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, answerOK)
	c := connect(t, s, "tenant.a")

	ctx, trace := WithTrace(testContext(t))
	res, err := c.Owner("one").Click(ctx, "e12", WithBudget(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if Err(res) != nil || res.Kind != protocol.KindClick {
		t.Errorf("got %+v", res)
	}
	m := <-f.stored
	if got := m.Header["traceparent"]; len(got) != 1 || !strings.Contains(got[0], trace) || !strings.HasSuffix(got[0], "-01") {
		t.Errorf("traceparent %q: want the trace %s, sampled", got, trace)
	}
	a, perr := protocol.ParseAction(m.Data, protocol.LaneQueue)
	if perr != nil {
		t.Fatal(perr)
	}
	if a.Budget() != 5*time.Second || a.Args.(*protocol.ClickArgs).ElementRef != "e12" {
		t.Errorf("stored %+v", a)
	}
}

func TestCancelGoesOnLaneC(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, answerOK)
	c := connect(t, s, "agent.a.one")
	target := protocol.NewRequestID(time.Now())
	if _, err := c.Cancel(testContext(t), "one", target); err != nil {
		t.Fatal(err)
	}
	if m := <-f.stored; !strings.HasSuffix(m.Subject, ".c") || !strings.Contains(string(m.Data), string(target)) {
		t.Errorf("stored %s on %s", m.Data, m.Subject)
	}
}

func TestAResultOfAnotherStatusIsAResult(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	newFleet(t, s, func(f *fleet, owner protocol.Owner, req protocol.Request) {
		res := okResult(owner, req)
		res.Fail(protocol.Errorf(protocol.CodeStaleRef, ""))
		f.store(res)
	})
	c := connect(t, s, "tenant.a")
	res, err := c.Do(testContext(t), "one", protocol.KindClick, &protocol.ClickArgs{Target: at("e1")})
	if err != nil {
		t.Fatal(err)
	}
	if Code(Err(res)) != protocol.CodeStaleRef {
		t.Errorf("got %v", Err(res))
	}
}

// What is pushed by others than the results' stream is at most a hint.
func TestNoiseOnDoneIsNotTaken(t *testing.T) {
	t.Parallel()
	forged := func(owner protocol.Owner, req protocol.Request) *protocol.Result {
		res := okResult(owner, req)
		res.Nonce = "forged"
		return res
	}
	s := testkit.NATS(t)
	newFleet(t, s, func(f *fleet, owner protocol.Owner, req protocol.Request) {
		f.push(owner, req.ID, nil, forged(owner, req))
		f.push(owner, req.ID, nats.Header{headerStream: {"BF_RES_0", "BF_EV_0"}}, forged(owner, req))
		other := forged(owner, req)
		other.Request = protocol.NewRequestID(time.Now())
		f.push(owner, req.ID, nats.Header{headerStream: {"BF_RES_0"}}, other)
		neighbour := forged("two", req)
		f.push(owner, req.ID, nats.Header{headerStream: {"BF_RES_0"}}, neighbour)
		f.push(owner, req.ID, nats.Header{headerStream: {"BF_RES_0"}}, "no result at all")
		f.store(okResult(owner, req))
	})
	c := connect(t, s, "tenant.a")
	res, err := c.Owner("one").Observe(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if res.Nonce != "n" {
		t.Errorf("took %+v", res)
	}
}

// A stored result that is pushed again comes without the stream's header.
func TestARepeatedResultIsAskedFor(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	newFleet(t, s, func(f *fleet, owner protocol.Owner, req protocol.Request) {
		res := okResult(owner, req)
		f.says(func(protocol.ResultQuery) protocol.ResultReply {
			return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateAnswered, Result: res}
		})
		f.push(owner, req.ID, nats.Header{protocol.HeaderRepeat: {"1"}}, res)
	})
	c := connect(t, s, "tenant.a")
	if res, err := c.Owner("one").Observe(testContext(t)); err != nil || Err(res) != nil {
		t.Fatal(res, err)
	}
}

func TestALostPushIsAskedFor(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	c := connect(t, s, "tenant.a")
	newFleet(t, s, func(f *fleet, owner protocol.Owner, req protocol.Request) {
		f.says(func(q protocol.ResultQuery) protocol.ResultReply {
			if q.Request != req.ID {
				return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateNotStored}
			}
			return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateAnswered, Result: okResult(owner, req)}
		})
	})
	if res, err := c.Owner("one").Observe(testContext(t)); err != nil || Err(res) != nil {
		t.Fatal(res, err)
	}
}

// An answer of the service must be about this owner's request too.
func TestAFateOfAnotherRequestIsNotTaken(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	c := connect(t, s, "tenant.a")
	f.says(func(protocol.ResultQuery) protocol.ResultReply {
		return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateAnswered, Result: okResult("one", protocol.Request{ID: "other"})}
	})
	if _, err := c.Fate(testContext(t), "one", protocol.NewRequestID(time.Now())); Code(err) != protocol.CodeInternal {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNotStoredIsSentAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	first := true
	f := newFleet(t, s, func(f *fleet, owner protocol.Owner, req protocol.Request) {
		if first { // as if the stream had lost it
			first = false
			f.says(func(protocol.ResultQuery) protocol.ResultReply {
				return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateNotStored}
			})
			return
		}
		f.store(okResult(owner, req))
	})
	c := connect(t, s, "tenant.a")
	if _, err := c.Owner("one").Observe(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if ids := f.ids(); len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("stored %v: want the same id twice", ids)
	}
}

func TestTheEndOfAContextEndsThatWaitOnly(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	c := connect(t, s, "tenant.a")
	ctx, cancel := context.WithCancel(testContext(t))
	f.says(func(protocol.ResultQuery) protocol.ResultReply {
		cancel()
		return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateRunning}
	})
	_, err := c.Owner("one").Observe(ctx)
	var none *NoResult
	if !errors.As(err, &none) || !errors.Is(err, context.Canceled) || Code(err) != protocol.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
	if none.Err.Dispatched != protocol.DispatchedUnknown {
		t.Errorf("dispatched %s", none.Err.Dispatched)
	}
	// Another process, say, waits for the same request.
	f.says(func(q protocol.ResultQuery) protocol.ResultReply {
		go f.store(okResult("one", protocol.Request{ID: q.Request}))
		return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateRunning}
	})
	res, err := connect(t, s, "agent.a.one").Reattach(testContext(t), "one", none.Request)
	if err != nil || res.Request != none.Request {
		t.Fatal(res, err)
	}
}

func TestReattachToWhatIsNotStored(t *testing.T) {
	t.Parallel()
	for fate, want := range map[string]protocol.Code{
		protocol.FateNotStored: protocol.CodeNotFound,
		protocol.FateTooOld:    protocol.CodeRequestTooOld,
	} {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			s := testkit.NATS(t)
			f := newFleet(t, s, nil)
			f.says(func(protocol.ResultQuery) protocol.ResultReply {
				return protocol.ResultReply{V: protocol.Version, Fate: fate}
			})
			_, err := connect(t, s, "tenant.a").Reattach(testContext(t), "one", protocol.NewRequestID(time.Now()))
			if Code(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// The server is killed and started again while a request waits; the result is
// stored while the client is away, or is asked for afterwards.
func TestARestartOfTheServerLosesNothing(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	c := connect(t, s, "tenant.a")
	type answer struct {
		res *protocol.Result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		res, err := c.Owner("one").Open(testContext(t), "http://shop.example/")
		done <- answer{res, err}
	}()
	m := <-f.stored
	a, perr := protocol.ParseAction(m.Data, protocol.LaneQueue)
	if perr != nil {
		t.Fatal(perr)
	}
	s.Restart(t)
	f.says(func(protocol.ResultQuery) protocol.ResultReply {
		return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateAnswered, Result: okResult("one", a.Request)}
	})
	if got := <-done; got.err != nil || Err(got.res) != nil {
		t.Fatal(got.res, got.err)
	}
}

func TestSendingWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, answerOK)
	// The fleet may come back after the client, and miss the push.
	f.says(func(q protocol.ResultQuery) protocol.ResultReply {
		if slices.Contains(f.seen, q.Request) {
			return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateAnswered, Result: okResult("one", protocol.Request{ID: q.Request})}
		}
		return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateNotStored}
	})
	c := connect(t, s, "tenant.a")
	s.Stop(t)
	done := make(chan error, 1)
	go func() {
		_, err := c.Owner("one").Observe(testContext(t))
		done <- err
	}()
	s.Restart(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// After Forget the handle is as new.
func TestForget(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	newFleet(t, s, answerOK)
	c := connect(t, s, "tenant.a")
	for range 2 {
		o := c.Owner("one")
		if _, err := o.Observe(testContext(t)); err != nil {
			t.Fatal(err)
		}
		o.Forget()
		if c.nc.NumSubscriptions() > 1 { // the connection's own inbox stays
			t.Errorf("%d subscriptions stay", c.nc.NumSubscriptions())
		}
	}
}
