package worker

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// streamsEvery is how often the streams of requests are looked at: one question a
// shard, whatever the number of owners. It is less than what a coordinator waits
// before it moves owners whose holder did not notice.
const streamsEvery = 2 * time.Second

// runStreams tells environments when the stream of their requests was made, so
// that they notice one that was deleted and made anew.
func (w *Worker) runStreams(ctx context.Context) {
	tick := time.NewTicker(streamsEvery)
	defer tick.Stop()
	for next(ctx, tick) {
		for shard, envs := range w.byShard() {
			created, err := w.cfg.Conn.StreamCreated(ctx, protocol.ActStream(shard))
			if err != nil {
				continue // an election, or no contact; the next look tells
			}
			for _, e := range envs {
				e.StreamMade(created)
			}
		}
	}
}

func (w *Worker) byShard() map[protocol.Shard][]*environment.Environment {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[protocol.Shard][]*environment.Environment{}
	for _, h := range w.held {
		all[h.shard] = append(all[h.shard], h.env)
	}
	return all
}
