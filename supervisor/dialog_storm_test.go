package supervisor

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
)

func TestAStormIsMoreThanTwentyOrThreeAlikeWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1_000_000, 0)
	ask := func(s *dialogStorm, after time.Duration, message string) bool {
		return s.count(begun.Add(after), &Dialog{Type: page.DialogTypeConfirm, FrameID: "F", Message: message})
	}
	for name, tc := range map[string]struct {
		gap     time.Duration
		message func(i int) string
		first   int // the first that is dismissed, of 30; 0 for none
	}{
		"different, fast": {time.Millisecond, func(i int) string { return fmt.Sprint(i) }, 21},
		"different, slow": {time.Minute, func(i int) string { return fmt.Sprint(i) }, 21},
		"alike, fast":     {time.Second, func(int) string { return "same" }, 3},
		"alike, slow":     {1001 * time.Millisecond, func(int) string { return "same" }, 21},
		"alternating":     {time.Millisecond, func(i int) string { return fmt.Sprint(i % 2) }, 21},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s dialogStorm
			for i := range 30 {
				if got, want := ask(&s, time.Duration(i)*tc.gap, tc.message(i)), i+1 >= tc.first; got != want {
					t.Fatalf("dialog %d: dismissed %v", i+1, got)
				}
			}
			if int(s.opened) != 30 || int(s.dismissed) != 31-tc.first {
				t.Errorf("%d opened, %d dismissed", s.opened, s.dismissed)
			}
			s.begin()
			if ask(&s, 30*tc.gap, tc.message(30)) {
				t.Error("the next action pays for this one")
			}
		})
	}
}
