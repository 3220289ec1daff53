package worker

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestContactIsAPongWithinTwoSecondsAndAStoredWriteWithinTwelve(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pong, quorum time.Duration // since the last answered one was sent
		fresh, ok    bool
	}{
		"both are new":                    {fresh: true, ok: true},
		"a pong almost a second old":      {pong: freshLimit - 1, fresh: true, ok: true},
		"a pong a second old":             {pong: freshLimit, ok: true},
		"a pong almost two seconds old":   {pong: pongLimit - 1, ok: true},
		"a pong two seconds old":          {pong: pongLimit},
		"an election":                     {quorum: 9 * time.Second, fresh: true, ok: true},
		"a write almost twelve old":       {quorum: quorumLimit - 1, fresh: true, ok: true},
		"a write twelve old, with pongs":  {quorum: quorumLimit},
		"neither for long":                {pong: time.Hour, quorum: time.Hour},
		"a write that outlives its pongs": {pong: pongLimit, quorum: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newContact(nil, "w", slog.New(slog.DiscardHandler))
				time.Sleep(2 * time.Hour)
				c.pong.Store(int64(time.Since(c.since) - tc.pong))
				c.quorum.Store(int64(time.Since(c.since) - tc.quorum))
				if c.Fresh() != tc.fresh || c.ok() != tc.ok {
					t.Errorf("fresh %v, ok %v", c.Fresh(), c.ok())
				}
			})
		})
	}
}

func TestTheWatchTellsEachChangeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newContact(nil, "w", slog.New(slog.DiscardHandler))
		var said []string
		ctx := t.Context()
		ended := make(chan struct{})
		watch := func() {
			defer close(ended)
			c.runWatch(ctx, func() { said = append(said, "lost") }, func() { said = append(said, "found") })
		}
		startWatch(watch)
		hear := func() { c.pong.Store(int64(time.Since(c.since))); c.quorum.Store(int64(time.Since(c.since))) }
		hear()
		time.Sleep(pongLimit + pingEvery)
		synctest.Wait()
		time.Sleep(5 * time.Second)
		hear()
		time.Sleep(pingEvery)
		synctest.Wait()
		time.Sleep(pingEvery)
		if strings.Join(said, " ") != "lost found" {
			t.Errorf("said %v", said)
		}
	})
}

// A process that was stopped hears a server before its watch has looked: what it
// had is lost all the same, until the watch has suspended and found it again.
func TestContactThatCameBackUnseenWasLost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		away time.Duration
		lost bool
	}{
		"for almost two seconds":               {pongLimit - 1, false},
		"for two seconds":                      {pongLimit, true},
		"for twelve seconds, and it is stored": {quorumLimit, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newContact(nil, "w", slog.New(slog.DiscardHandler))
				hear := func() {
					now := time.Since(c.since)
					c.heard(&c.quorum, now, quorumLimit)
					c.heard(&c.pong, now, pongLimit)
				}
				hear()
				time.Sleep(tc.away)
				hear()
				if c.ok() == tc.lost || c.Fresh() == tc.lost {
					t.Errorf("ok %v, fresh %v", c.ok(), c.Fresh())
				}
				var said []string
				startWatch(func() {
					c.runWatch(t.Context(), func() { said = append(said, "lost") }, func() { said = append(said, "found") })
				})
				time.Sleep(pingEvery)
				hear()
				time.Sleep(pingEvery)
				synctest.Wait()
				want := ""
				if tc.lost {
					want = "lost found"
				}
				if got := strings.Join(said, " "); got != want || !c.ok() {
					t.Errorf("said %q, want %q; ok %v", got, want, c.ok())
				}
			})
		})
	}
}

// startWatch runs it until the bubble's context ends.
func startWatch(f func()) { go f() }

func TestTheDispatchLogHasALineADispatchAndSaysWhenItCannot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	for _, id := range []protocol.RequestID{"r1", "r2"} { // also across restarts
		d, err := OpenDispatchLog(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Dispatch(protocol.DispatchEntry{Request: id}); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Dispatch(protocol.DispatchEntry{Request: "late"}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("what could not be logged was allowed: %v", err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"request":"r1"`) || !strings.Contains(lines[1], `"request":"r2"`) {
		t.Fatalf("%s", data)
	}
	none, err := OpenDispatchLog("")
	if err != nil || none.Dispatch(protocol.DispatchEntry{}) != nil || none.Close() != nil {
		t.Fatal("an empty path logs nothing, and fails nothing")
	}
	if _, err := OpenDispatchLog(t.TempDir()); err == nil {
		t.Fatal("a folder is not a log")
	}
}

func TestTheOwnersHashNeedsNoOrderAndSeesEpochs(t *testing.T) {
	t.Parallel()
	a, b := protocol.OwnerKey{Tenant: "a", Owner: "one"}, protocol.OwnerKey{Tenant: "a", Owner: "two"}
	if protocol.PairHash(a, 1)^protocol.PairHash(b, 2) != protocol.PairHash(b, 2)^protocol.PairHash(a, 1) {
		t.Error("order matters")
	}
	if protocol.PairHash(a, 1) == protocol.PairHash(a, 2) || protocol.PairHash(a, 1) == protocol.PairHash(b, 1) || protocol.PairHash(a, 1)^protocol.PairHash(b, 2) == protocol.PairHash(a, 2)^protocol.PairHash(b, 1) {
		t.Error("other pairs have the same hash")
	}
}

func TestARestartedWorkerIsAnotherWorker(t *testing.T) {
	t.Parallel()
	one, two := NewID("w"), NewID("w")
	if one == two || !strings.HasPrefix(string(one), "w-") || !protocol.ValidToken(string(one), protocol.MaxIDLen) {
		t.Fatalf("%s, %s", one, two)
	}
}
