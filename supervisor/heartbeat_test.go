package supervisor

import (
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSilenceCountsOnlyOnAHostThatIsNotSlow(t *testing.T) {
	t.Parallel()
	h := Heartbeat{Deadline: time.Second, Lag: 100 * time.Millisecond}
	slow := h
	slow.HostSlow = func() bool { return true }
	fast := h
	fast.HostSlow = func() bool { return false }
	for name, tc := range map[string]struct {
		h      Heartbeat
		waited time.Duration
		want   pulse
	}{
		"in time":                    {h, time.Second, silent},
		"in time, and the host idle": {fast, time.Second, silent},
		"our own timer was late":     {fast, 1101 * time.Millisecond, unsure},
		"no CPU to spare":            {slow, time.Second, unsure},
	} {
		if got := tc.h.judge(tc.waited); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	var misses []int
	n := 0
	for _, p := range []pulse{silent, unsure, silent, answered, silent, silent} {
		n = h.count(n, p)
		misses = append(misses, n)
	}
	if diff := cmp.Diff([]int{1, 0, 1, 0, 1, 2}, misses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The worst case is a browser that stops right after a beat: one interval, then
// as many deadlines as misses.
func TestTheDefaultsNoticeWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := Config{ProxyServer: "http://127.0.0.1:1"}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		h, begun := c.Heartbeat, time.Now()
		beat := time.NewTicker(h.Interval)
		defer beat.Stop()
		for misses := 0; misses < h.Misses; misses = h.count(misses, h.judge(h.Deadline)) {
			<-beat.C
			<-time.After(h.Deadline) // nobody answers
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("noticed after %v", took)
		}
	})
}

func TestAStoppedBrowserIsKilledOnlyWhenTheHostIsNotSlow(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	slow.Store(true)
	asked := make(chan struct{}, 1)
	r := startRig(t, pages{}, func(c *Config) {
		c.Heartbeat = Heartbeat{Interval: 20 * time.Millisecond, Deadline: 300 * time.Millisecond, Misses: 2, HostSlow: func() bool {
			select {
			case asked <- struct{}{}:
			default:
			}
			return slow.Load()
		}}
	})
	pid := r.Process().PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 5 { // more silent beats than it takes
		<-asked
	}
	select {
	case <-r.Done():
		t.Fatalf("killed on a slow host: %v", r.Err())
	default:
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := r.eval(t, "6*7"); got != "42" {
		t.Errorf("the browser that was spared says %q", got)
	}
	slow.Store(false)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	mustErr(t, r.Err(), ErrWedged)
	<-r.Process().Done() // its group was killed, stopped processes too
}
