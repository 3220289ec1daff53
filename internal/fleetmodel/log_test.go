package fleetmodel

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/ownerlog/logtest"
	"github.com/browserfleet/browserfleet/protocol"
)

// The suite that the real streams pass, too.
func TestStreamsInMemoryAreALog(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) logtest.Fixture {
		w := newWorld(keyring(t))
		w.atOnce = true
		return logtest.Fixture{
			Log: &client{w.workers[0].process, &hold{p: w.workers[0].process, placing: true}}, Key: owner,
			Ask: func(lane protocol.Lane, body string, h nats.Header) protocol.Seq {
				w.mu.Lock()
				defer w.mu.Unlock()
				seq, err := w.servers.publish(protocol.ActSubject(0, owner, lane), []byte(body), h, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range w.pushes {
					p.to.ch <- p.m
				}
				w.pushes = nil
				return seq
			},
		}
	})
}
