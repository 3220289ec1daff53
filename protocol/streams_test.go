package protocol_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/browserfleet/browserfleet/protocol"
)

// TestStreamsKeepTheirPromises: each setting here is one on which a promise of
// the fleet rests.
func TestStreamsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	for _, shard := range []protocol.Shard{0, 17} {
		byName := map[string]protocol.Stream{}
		for _, s := range protocol.ShardStreams(shard) {
			byName[s.Name] = s
			if !s.DenyDelete {
				t.Errorf("%s: a publisher could remove one message", s.Name)
			}
			if s.MaxMsgsPerSubject <= 0 || s.MaxMsgSize <= 0 {
				t.Errorf("%s is unbounded: %+v", s.Name, s)
			}
		}
		act, own, res := byName[protocol.ActStream(shard)], byName[protocol.OwnStream(shard)], byName[protocol.ResStream(shard)]
		if !res.DiscardNew || res.MaxMsgsPerSubject != 1 || !res.DenyPurge {
			t.Errorf("a second result could replace the first: %+v", res)
		}
		if !act.DiscardNew || act.MaxMsgsPerSubject != protocol.QueueDepth {
			t.Errorf("a full queue would drop its oldest: %+v", act)
		}
		if act.DenyPurge || !own.DenyPurge {
			t.Errorf("the queue is purged by cursor, the record never: %+v %+v", act, own)
		}
		if act.MaxBytes <= 0 {
			t.Errorf("%s has no limit in bytes", act.Name)
		}
		if own.MaxAge != 0 || own.MaxMsgSize != recordLimit {
			t.Errorf("records would age out, or have another limit: %+v", own)
		}
		if res.MaxMsgSize <= act.MaxMsgSize {
			t.Errorf("a result has no room for what a request said")
		}
	}
}

func TestStreamsDoNotOverlap(t *testing.T) {
	t.Parallel()
	streams := append(protocol.ShardStreams(0), protocol.ShardStreams(1)...)
	streams = append(streams, protocol.FleetStreams()...)
	for i, a := range streams {
		for _, b := range streams[i+1:] {
			for _, x := range a.Subjects {
				for _, y := range b.Subjects {
					if a.Name == b.Name || server.SubjectsCollide(x, y) {
						t.Errorf("%s (%s) and %s (%s) overlap", a.Name, x, b.Name, y)
					}
				}
			}
		}
	}
}
