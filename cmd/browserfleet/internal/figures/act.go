package figures

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// page of simulated browsers, and a link on it.
	page = "http://simulated.invalid/"
	link = protocol.Ref("e2")
	// actTimeout bounds one action.
	actTimeout = 60 * time.Second
)

// open opens a page.
func open(ctx context.Context, o *client.Owner, url string) error {
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	res, err := o.Open(ctx, url)
	return outcome(res, err)
}

// click is the action of added, rate and many: an effect, with everything that
// belongs to one, that leaves the state as it is, so that it makes no checkpoint.
func click(ctx context.Context, o *client.Owner) error {
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	res, err := o.Click(ctx, link)
	return outcome(res, err)
}

func outcome(res *protocol.Result, err error) error {
	if err != nil {
		return err
	}
	return client.Err(res)
}

// openAll opens a page for every owner, some at a time.
func openAll(ctx context.Context, owners []*client.Owner, url string) error {
	t := runEach(ctx, len(owners), 64, func(ctx context.Context, n int) error { return open(ctx, owners[n], url) })
	return t.check("open")
}

// runEach does something n times, some at a time, each once. The samples count
// from the beginning of all.
func runEach(ctx context.Context, n, atOnce int, do func(ctx context.Context, n int) error) *tally {
	t := &tally{}
	begun := time.Now()
	var running sync.WaitGroup
	for lane := range min(n, atOnce) {
		running.Go(func() {
			for i := lane; i < n && ctx.Err() == nil; i += atOnce {
				err := do(ctx, i)
				t.add(time.Since(begun), err)
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		t.add(0, context.Cause(ctx))
	}
	return t
}

// runPaced does something at a fixed rate, in an open loop. n counts from 0.
func runPaced(ctx context.Context, perSecond float64, length time.Duration, do func(ctx context.Context, n int) error) *tally {
	t := &tally{}
	var running sync.WaitGroup
	begun := time.Now()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for n := 0; ; n++ {
		due := begun.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))
		if due.Sub(begun) >= length || ctx.Err() != nil {
			break
		}
		wake.Reset(time.Until(due))
		<-wake.C
		running.Go(func() {
			err := do(ctx, n)
			t.add(time.Since(due), err)
		})
	}
	running.Wait()
	return t
}

// runFlat lets every lane do something again and again for so long, and returns
// how often a second it was done.
func runFlat(ctx context.Context, lanes int, length time.Duration, do func(ctx context.Context, lane int) error) (*tally, float64) {
	t := &tally{}
	var running sync.WaitGroup
	begun := time.Now()
	for lane := range lanes {
		running.Go(func() {
			for time.Since(begun) < length && ctx.Err() == nil {
				from := time.Now()
				err := do(ctx, lane)
				t.add(time.Since(from), err)
			}
		})
	}
	running.Wait()
	return t, float64(len(t.took)) / time.Since(begun).Seconds()
}

// check is an error if anything failed: a figure over some failures would be of
// something else than it says.
func (t *tally) check(what string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d of %d failed, the first with: %w", what, t.failed, t.failed+len(t.took), t.err)
}
