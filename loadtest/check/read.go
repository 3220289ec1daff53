package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// batchSize is how many results one read asks for: as many as the server
	// answers at once.
	batchSize = 1024
	// readTimeout bounds one batch: up to 512 KiB each.
	readTimeout = 30 * time.Second
)

// read is the stored results of these requests, where they have one.
func (s *Sources) read(ctx context.Context, ids []ID) (map[ID]natsx.Message, error) {
	byShard := map[protocol.Shard][]string{}
	for _, id := range ids {
		shard := s.shard(id.Key)
		byShard[shard] = append(byShard[shard], protocol.ResSubject(shard, id.Key, id.Request))
	}
	found := make(map[ID]natsx.Message, len(ids))
	for shard, subjects := range byShard {
		for batch := range slices.Chunk(subjects, batchSize) {
			if err := s.readBatch(ctx, shard, batch, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (s *Sources) readBatch(ctx context.Context, shard protocol.Shard, subjects []string, into map[ID]natsx.Message) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	got, err := s.Conn.DirectLastMulti(ctx, protocol.ResStream(shard), subjects)
	if err != nil {
		return err
	}
	for subject, m := range got {
		id, err := resID(subject)
		if err != nil {
			return fmt.Errorf("%w: %.120q", err, subject)
		}
		into[id] = m
	}
	return nil
}

// readResults reads every result of the ledger's owners, also of requests that
// the ledger does not know. What a replica does not have, the leader is asked.
func (s *Sources) readResults(ctx context.Context, requests []Request) ([]Result, error) {
	counts, err := s.countResults(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		if _, ok := counts[r.ID]; !ok {
			counts[r.ID] = 0
		}
	}
	ids := make([]ID, 0, len(counts))
	for id := range counts {
		ids = append(ids, id)
	}
	found, err := s.read(ctx, ids)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, id := range ids {
		m, ok := found[id]
		if !ok {
			m, err = s.ask(ctx, id)
			if errors.Is(err, natsx.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		r, err := resultOf(id, m)
		if err != nil {
			return nil, err
		}
		r.Stored = int(counts[id])
		results = append(results, r)
	}
	return results, nil
}

// ask reads one result from the stream's leader.
func (s *Sources) ask(ctx context.Context, id ID) (natsx.Message, error) {
	shard := s.shard(id.Key)
	return s.Conn.LeaderLast(ctx, protocol.ResStream(shard), protocol.ResSubject(shard, id.Key, id.Request))
}

// countResults counts the stored results of each request of the owners.
func (s *Sources) countResults(ctx context.Context) (map[ID]uint64, error) {
	counts := map[ID]uint64{}
	for _, key := range s.Ledger.Owners() {
		shard := s.shard(key)
		got, err := s.Conn.SubjectCounts(ctx, protocol.ResStream(shard), protocol.ResSubject(shard, key, "*"))
		if err != nil {
			return nil, err
		}
		for subject, n := range got {
			if id, err := resID(subject); err == nil {
				counts[id] = n
			}
		}
	}
	return counts, nil
}

// resultOf keeps what the rules need. A result that cannot be read is an error:
// nobody but the fleet writes them.
func resultOf(id ID, m natsx.Message) (Result, error) {
	var res protocol.Result
	if err := json.Unmarshal(m.Data, &res); err != nil {
		return Result{}, fmt.Errorf("result of %s %s: %w", id.Key, id.Request, err)
	}
	r := Result{
		ID: id, Lane: res.Lane, Seq: res.Seq, Kind: res.Kind, Status: res.Status, Dispatched: res.Dispatched,
		FinishedAt: res.FinishedAt.Time, StoredSeq: m.Seq, StoredAt: m.Time, Digest: DigestOf(m.Data), Nonce: res.Nonce,
	}
	if res.Error != nil {
		r.Code = res.Error.Code
	}
	return r, nil
}

func (s *Sources) readRecords(ctx context.Context) (map[protocol.OwnerKey]protocol.OwnerRecord, error) {
	records := map[protocol.OwnerKey]protocol.OwnerRecord{}
	for _, key := range s.Ledger.Owners() {
		shard := s.shard(key)
		m, err := s.Conn.LeaderLast(ctx, protocol.OwnStream(shard), protocol.OwnSubject(shard, key))
		if errors.Is(err, natsx.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rec, err := protocol.DecodeOwnerRecord(m.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		records[key] = *rec
	}
	return records, nil
}
