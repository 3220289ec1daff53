package supervisor

import (
	"time"

	protocol "github.com/chromedp/cdproto/cdp"
)

const (
	// stormBudget is how many dialogs an action may lead to before the rest is
	// dismissed unseen.
	stormBudget = 20
	// Three dialogs of one action that say the same within two seconds are a storm,
	// too: the third and those that follow as closely are dismissed.
	stormRepeats = 3
	stormWindow  = 2 * time.Second
)

// dialogStorm bounds what a page can make of dialogs. It is pure: no clock, no
// lock.
type dialogStorm struct {
	opens     int       // since the action began
	opened    uint64    // all there were
	dismissed uint64    // of them, as too many
	at        time.Time // of the newest, and whose it was
	frame     protocol.FrameID
	last      stormKey
	times     []time.Time // of the last dialogs that said the same
}

type stormKey struct{ kind, frame, message string }

// count counts a dialog and says whether it is one too many.
func (s *dialogStorm) count(now time.Time, d *Dialog) bool {
	s.opens++
	s.opened++
	s.at, s.frame = now, d.FrameID
	key := stormKey{string(d.Type), string(d.FrameID), d.Message}
	if key != s.last {
		s.last, s.times = key, s.times[:0]
	}
	s.times = append(s.times, now)
	for len(s.times) > stormRepeats || now.Sub(s.times[0]) > stormWindow {
		s.times = append(s.times[:0], s.times[1:]...)
	}
	if s.opens <= stormBudget && len(s.times) < stormRepeats {
		return false
	}
	s.dismissed++
	return true
}

// begin starts a new action's budget: three actions may well be asked the same.
func (s *dialogStorm) begin() { s.opens, s.times = 0, nil }
