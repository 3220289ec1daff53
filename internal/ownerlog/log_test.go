package ownerlog_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/ownerlog/logtest"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

// The suite that the model's streams in memory pass, too.
func TestRealStreamsAreALog(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) logtest.Fixture {
		s := testkit.NATS(t)
		b := &bench{Server: s, t: t, agent: s.Tenant(t, key.Tenant)}
		return logtest.Fixture{
			Log: s.Fleet(t), Key: key,
			Ask: func(lane protocol.Lane, body string, h nats.Header) protocol.Seq {
				return b.publish(lane, []byte(body), h)
			},
		}
	})
}
