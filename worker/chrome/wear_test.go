package chrome

import (
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	limits := Limits{Age: time.Hour, Memory: 100 << 20, Actions: 10}
	for name, tc := range map[string]struct {
		limits Limits
		worn   worn
		want   string
	}{
		"fresh":        {limits, worn{time.Minute, 99 << 20, 9}, ""},
		"old":          {limits, worn{age: time.Hour}, "it is 1h0m0s old"},
		"heavy":        {limits, worn{memory: 100 << 20}, "it holds 100 MiB"},
		"much used":    {limits, worn{actions: 10}, "it has done 10 actions"},
		"without them": {Limits{}, worn{1000 * time.Hour, 1 << 40, 1 << 30}, ""},
	} {
		if got := tc.limits.exceeded(tc.worn); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestABrowserThatHasDoneEnoughIsTired(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, shop())
	b.launcher.cfg.Limits = Limits{Actions: 2, Memory: 1 << 40}
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	for _, want := range []bool{false, true} {
		b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
		if got := browser.Tired(); (got != "") != want {
			t.Errorf("tired: %q", got)
		}
	}
	for browser.memory.Load() == 0 {
		if pause(ctx, 10*time.Millisecond); ctx.Err() != nil {
			t.Fatal("its memory was not measured")
		}
	}
}
