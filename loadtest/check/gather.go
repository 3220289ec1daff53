package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Sources are where the evidence is.
type Sources struct {
	// Conn is an operator's connection to the fleet's account.
	Conn   *natsx.Conn
	Ledger *Ledger
	// DispatchLogs are files. Without them dispatches are not judged.
	DispatchLogs []string
	// Grace is how long requests without a result are waited for.
	Grace time.Duration
	// Skew is how far two machines' clocks may differ.
	Skew time.Duration
	// Orphans counts processes that outlived their owners. It is called last, so
	// it may end the fleet first. Without it nobody looks.
	Orphans func(context.Context) (int, error)
}

const (
	// lookEvery spaces the looks for results that are still missing.
	lookEvery = 250 * time.Millisecond
)

// Gather waits until every stored request has its result, or the grace is over,
// and reads what the fleet left behind.
func Gather(ctx context.Context, s Sources) (Evidence, error) {
	e := Evidence{Skew: s.Skew}
	if err := s.readQueues(ctx); err != nil {
		return e, fmt.Errorf("gather: %w", err)
	}
	if err := s.awaitResults(ctx); err != nil {
		return e, fmt.Errorf("gather: %w", err)
	}
	e.Now = time.Now()
	s.Ledger.into(&e)
	var err error
	if e.Results, err = s.readResults(ctx, e.Requests); err != nil {
		return e, fmt.Errorf("gather: %w", err)
	}
	if e.Records, err = s.readRecords(ctx); err != nil {
		return e, fmt.Errorf("gather: %w", err)
	}
	if err := s.readDispatches(&e); err != nil {
		return e, fmt.Errorf("gather: %w", err)
	}
	if s.Orphans == nil {
		e.Notes = append(e.Notes, "nobody looked for orphan processes")
		return e, nil
	}
	if e.Orphans, err = s.Orphans(ctx); err != nil {
		return e, fmt.Errorf("gather: orphan processes: %w", err)
	}
	return e, nil
}

// readQueues adds what BF_ACT still holds: a publisher that got no PubAck does
// not know that it stored something.
func (s *Sources) readQueues(ctx context.Context) error {
	for _, key := range s.Ledger.Owners() {
		shard := s.shard(key)
		for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
			if err := s.readQueue(ctx, shard, key, lane); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sources) readQueue(ctx context.Context, shard protocol.Shard, key protocol.OwnerKey, lane protocol.Lane) error {
	subject := protocol.ActSubject(shard, key, lane)
	for from := protocol.Seq(1); ; {
		m, err := s.Conn.LeaderNext(ctx, protocol.ActStream(shard), subject, from)
		if errors.Is(err, natsx.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		s.Ledger.stored(protocol.Stored{Key: key, Lane: lane, Seq: m.Seq, StoredAt: m.Time, Data: m.Data})
		from = m.Seq + 1
	}
}

func (s *Sources) shard(key protocol.OwnerKey) protocol.Shard {
	return s.Ledger.shards.Of(key)
}

// awaitResults looks until nothing is missing.
func (s *Sources) awaitResults(ctx context.Context) error {
	over := time.NewTimer(s.Grace)
	defer over.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		missing := s.Ledger.unanswered()
		found, err := s.read(ctx, missing)
		if err != nil {
			return err
		}
		if len(found) == len(missing) {
			return nil
		}
		select {
		case <-look.C:
		case <-over.C:
			return nil // what is missing now is lost
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Sources) readDispatches(e *Evidence) error {
	if len(s.DispatchLogs) == 0 {
		e.Notes = append(e.Notes, "without dispatch logs double_dispatched is not judged, and reordered by results only")
		return nil
	}
	all, torn, err := ReadDispatches(s.DispatchLogs)
	if err != nil {
		return err
	}
	if torn > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%d dispatch logs end in a torn line: their workers were killed while they wrote it", torn))
	}
	for _, d := range all {
		if s.Ledger.mine(d.Key) {
			e.Dispatches = append(e.Dispatches, d)
		}
	}
	return nil
}
