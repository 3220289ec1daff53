package supervisor

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/browser"
)

// pulse is what one question to the browser came to.
type pulse int

const (
	answered pulse = iota
	silent         // the browser had its time and said nothing
	unsure         // it said nothing, but had perhaps no CPU to say it with
)

// runHeartbeat asks the browser process for its version: a wedged or stopped one
// answers no session at all, and nothing but a kill ends that.
func (s *Supervisor) runHeartbeat() {
	defer s.workers.Done()
	beat := time.NewTicker(s.config.Heartbeat.Interval)
	defer beat.Stop()
	misses, last := 0, time.Now()
	for {
		select {
		case <-s.lost:
			return
		case <-s.conn.Done():
			return
		case now := <-beat.C:
			for _, p := range s.Tabs() {
				p.runWatchdog(now)
			}
			h := s.config.Heartbeat
			s.tabs.runProbes(now, now.Sub(last) <= h.Interval+h.Deadline+h.Lag)
			last = now
			s.process.Lower()
		}
		misses = s.config.Heartbeat.count(misses, s.ask())
		if misses >= s.config.Heartbeat.Misses {
			s.lose(ErrWedged)
			return
		}
	}
}

// ask asks once.
func (s *Supervisor) ask() pulse {
	h := s.config.Heartbeat
	ctx, cancel := context.WithTimeout(context.Background(), h.Deadline)
	defer cancel()
	begun := time.Now()
	if s.conn.Session("").Call(ctx, browser.CommandGetVersion, nil, nil) == nil {
		return answered
	}
	return h.judge(time.Since(begun))
}

// judge says what silence means. A process that was stopped or starved itself
// notices the deadline late: then the browser had no fair chance either, and its
// answer may lie unread in the pipe.
func (h Heartbeat) judge(waited time.Duration) pulse {
	if waited > h.Deadline+h.Lag || h.HostSlow != nil && h.HostSlow() {
		return unsure
	}
	return silent
}

// count adds a pulse to the misses in a row.
func (Heartbeat) count(misses int, p pulse) int {
	if p == silent {
		return misses + 1
	}
	return 0
}
