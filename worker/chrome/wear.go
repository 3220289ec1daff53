package chrome

import (
	"context"
	"fmt"
	"time"
)

// Limits say when a browser is to be replaced by a new one, between actions: a
// Chromium that has shown many pages holds memory that no page uses any more,
// and an old one may be an unpatched one. Zero is no limit.
type Limits struct {
	Age time.Duration
	// Memory is of the whole process group, in bytes, without what processes
	// share.
	Memory  int64
	Actions int
}

// weighEvery is how often the memory is measured, which reads all of /proc.
const weighEvery = 30 * time.Second

// worn is what the limits are held against.
type worn struct {
	age     time.Duration
	memory  int64
	actions int
}

// exceeded is which limit is reached, or empty.
func (l Limits) exceeded(w worn) string {
	switch {
	case l.Age > 0 && w.age >= l.Age:
		return fmt.Sprintf("it is %s old", w.age.Round(time.Second))
	case l.Memory > 0 && w.memory >= l.Memory:
		return fmt.Sprintf("it holds %d MiB", w.memory>>20)
	case l.Actions > 0 && w.actions >= l.Actions:
		return fmt.Sprintf("it has done %d actions", w.actions)
	}
	return ""
}

// Tired is why the browser should be replaced when nothing runs in it; empty if
// it should not.
func (b *Browser) Tired() string {
	return b.cfg.Limits.exceeded(worn{age: time.Since(b.started), memory: b.memory.Load(), actions: b.acted})
}

// runWeigh measures the memory now and then.
func (b *Browser) runWeigh(ctx context.Context) {
	for ctx.Err() == nil {
		b.memory.Store(b.supervised.Process().Memory())
		pause(ctx, weighEvery)
	}
}
