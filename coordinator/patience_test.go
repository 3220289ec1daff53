package coordinator

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// The end of the wait falls into a read of the record: what the agent is told is
// why it waited, and its place, not that a read was cut short.
func TestAWaitThatEndsInAReadIsToldWhyItWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{ID: "c-1", Shards: protocol.Shards(1), Observer: uncounted{}, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		looks := 0
		got := c.live(ctx, owner("a", 1), func(ctx context.Context, _ *shard, _ protocol.OwnerKey) (protocol.AcquireReply, bool) {
			if looks++; looks == 1 {
				return refusal(protocol.Errorf(protocol.CodeNoCapacity, "no worker")), false
			}
			<-ctx.Done()
			return unreached(ctx.Err()), false
		})
		if got.OK || got.Error == nil || got.Error.Code != protocol.CodeNoCapacity || looks != 2 {
			t.Errorf("%+v after %d looks", got.Error, looks)
		}
	})
}
