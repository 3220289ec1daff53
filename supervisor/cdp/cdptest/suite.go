package cdptest

import (
	"testing"
)

// Run is what every carrier has to pass, by itself and with a cdp.Conn over it.
func Run(t *testing.T, pair Pair) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, Pair)
	}{
		{"messages stay whole and in order", wholeMessages},
		{"a message belongs to its reader", ownedMessages},
		{"close ends a read and a write", closeEndsBoth},
		{"the end of the peer ends a read", peerEndsRead},

		{"replies reach their callers", repliesReachCallers},
		{"large messages both ways", largeMessages},
		{"the order of sends is kept", orderOfSends},
		{"an error reply is typed", errorReply},
		{"the end of the peer fails calls", peerFailsCalls},
		{"close fails calls", closeFailsCalls},
		{"a session fails alone", sessionFailsAlone},
		{"a caller that leaves leaves nothing", callerLeaves},
		{"a peer that does not read blocks no caller", peerDoesNotRead},
		{"garbage is counted", garbage},

		{"events come in order", eventsInOrder},
		{"an ordered result keeps its place", orderedResult},
		{"events before the end are delivered", eventsBeforeEnd},
		{"a handler that blocks delays no reply", handlerBlocks},
		{"a flood drops what may be dropped", floodDrops},
		{"a flood of the rest ends the connection", floodEnds},
		{"a subscriber gets its events alone", subscriptions},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, pair)
		})
	}
}
