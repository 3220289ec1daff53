package fleetmodel

import (
	"crypto/rand"
	"encoding/base64"
	"flag"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// schedulesFlag is how many schedules TestPromises runs.
var schedulesFlag = flag.Int("schedules", checks, "how many schedules TestPromises runs")

// halves of the schedules run at the same time: one a core.
const halves = 2

// TestMain fixes the seed, so that it can be told: rapid keeps it to itself unless
// something fails. A check sets it in the environment.
func TestMain(m *testing.M) {
	flag.Parse()
	set := map[string]string{"rapid.checks": fmt.Sprint(max(1, *schedulesFlag/halves)), "rapid.seed": fmt.Sprint(mrand.Uint64N(1 << 62))}
	flag.Visit(func(f *flag.Flag) { delete(set, f.Name) })
	if os.Getenv("RAPID_SEED") != "" {
		delete(set, "rapid.seed")
	}
	for name, value := range set {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// TestPromises runs random schedules of everything that may go wrong. A failure
// prints the smallest schedule that still fails, its seed, and what happened.
func TestPromises(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	var all seen
	var broken atomic.Int32 // the half that failed, from 1: the other one ends
	t.Cleanup(func() {
		t.Logf("seed %s%s", flag.Lookup("rapid.seed").Value, &all)
		if !t.Failed() {
			all.require(t)
		}
	})
	for half := range int32(halves) {
		t.Run(fmt.Sprintf("half %d", half+1), func(t *testing.T) {
			t.Parallel()
			from := schedules(int(half))
			rapid.Check(t, func(rt *rapid.T) {
				schedule := from.Draw(rt, "schedule")
				if by := broken.Load(); by != 0 && by != half+1 {
					return
				}
				rapid.SyncTest(rt, func(rt *rapid.T) {
					w, err := play(keys, schedule)
					all.add(w)
					if err != nil {
						broken.CompareAndSwap(0, half+1)
						rt.Fatalf("%v\n%s", err, w.story())
					}
				})
			})
		})
	}
}

// play runs one schedule in a world of its own. It must be called in a bubble.
func play(keys *checkpoints.Keyring, schedule []event) (*world, error) {
	w := newWorld(keys)
	err := run(w, schedule)
	w.end()
	return w, err
}

// story is the trace in words.
func (w *world) story() string {
	var b strings.Builder
	for _, l := range w.trace {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

func keyring(t *testing.T) *checkpoints.Keyring {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	keys, err := checkpoints.ParseKeyring([]byte("k:" + base64.StdEncoding.EncodeToString(key)))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
