package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// writes are all writes of owner records, in the order in which they were
// stored: the stream itself keeps two of each.
type writes struct {
	mu  sync.Mutex // guards what follows
	all map[string][]write
}

type write struct {
	seq   uint64
	epoch protocol.Epoch
	rec   protocol.OwnerRecord
}

func watchWrites(ctx context.Context, t *testing.T, conn *natsx.Conn) *writes {
	t.Helper()
	w := &writes{all: map[string][]write{}}
	c, err := conn.JS.OrderedConsumer(ctx, protocol.OwnStream(0), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	running, err := c.Consume(func(m jetstream.Msg) {
		meta, err := m.Metadata()
		if err != nil {
			t.Errorf("a write of a record: %v", err)
			return
		}
		w.add(m.Subject(), meta.Sequence.Stream, m.Data())
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Stop(); <-running.Closed() })
	return w
}

func (w *writes) add(subject string, seq uint64, data []byte) {
	one := write{seq: seq}
	if json.Unmarshal(data, &one.rec) != nil {
		return // the reader of a record refuses it, too
	}
	if one.epoch = one.rec.Epoch; one.epoch == 0 { // it makes the assignment
		one.epoch = protocol.Epoch(seq)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[subject] = append(w.all[subject], one)
}

// wrong are writes of holders that had lost the owner: under an epoch that had
// been followed by another, or under another's epoch.
func (w *writes) wrong() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for subject, all := range w.all {
		newest, holder := protocol.Epoch(0), protocol.WorkerID("")
		for _, one := range all {
			if one.rec.Worker == "" {
				continue // nobody holds it
			}
			switch {
			case one.epoch > newest:
				newest, holder = one.epoch, one.rec.Worker
			case one.epoch < newest, one.rec.Worker != holder:
				out = append(out, fmt.Sprintf("%s: write %d is of %s in epoch %d, after %s had epoch %d: %+v",
					subject, one.seq, one.rec.Worker, one.epoch, holder, newest, one.rec))
			}
		}
	}
	return out
}

// moves is how often an owner got a new holder.
func (w *writes) moves(key protocol.OwnerKey) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	epochs := map[protocol.Epoch]bool{}
	for _, one := range w.all[protocol.OwnSubject(0, key)] {
		if one.rec.State == protocol.RecordAssigned {
			epochs[one.epoch] = true
		}
	}
	return len(epochs) - 1
}
