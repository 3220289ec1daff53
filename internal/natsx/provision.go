package natsx

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// shardsKey is the stream metadata that says which shards there are: the text
	// of a protocol.ShardMap.
	shardsKey = "browserfleet-shards"
	// leaderMarkerTTL is how long the marker of an expired lease stays. Any
	// value of a second or more turns per-key TTLs on.
	leaderMarkerTTL = 5 * time.Second
	// policyHistory is how many versions of a policy are kept.
	policyHistory = 5
)

// Provision creates the fleet's streams and buckets, or brings their settings
// up to date. Doing it twice changes nothing. It needs the operator's rights.
//
// It refuses to change the number of shards: an owner's shard is a hash modulo
// that number, so owners would look for their records, queues and results in
// other streams than those that hold them.
//
// What it does allow is one more shard for a tenant that has no owner yet: that
// one moves nobody.
func (c *Conn) Provision(ctx context.Context, shards protocol.ShardMap, replicas int) error {
	if err := shards.Check(); err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	if err := c.sameShards(ctx, shards); err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	for _, s := range fleetStreams(shards) {
		if _, err := c.JS.CreateOrUpdateStream(ctx, streamConfig(s, shards, replicas)); err != nil {
			return fmt.Errorf("provision %s: %w", s.Name, err)
		}
	}
	for _, b := range buckets(replicas) {
		if _, err := c.JS.CreateOrUpdateKeyValue(ctx, b); err != nil {
			return fmt.Errorf("provision bucket %s: %w", b.Bucket, err)
		}
	}
	return nil
}

// errFixed explains every refusal.
var errFixed = errors.New("the number is fixed at birth, because it decides which stream holds an owner; docs/operations.md says how to move a fleet to another number")

// sameShards refuses another number of shards than the streams were made for.
// The stream that all shards share is made first and says it.
func (c *Conn) sameShards(ctx context.Context, shards protocol.ShardMap) error {
	have, err := c.Shards(ctx)
	switch {
	case errors.Is(err, errNoStreams): // new, or it broke off at the very start
	case err != nil:
		return err
	case have.String() != shards.String():
		if err := c.mayGrow(ctx, have, shards); err != nil {
			return fmt.Errorf("the streams were made for shards %q, not %q: %w; %w", have, shards, err, errFixed)
		}
	}
	names := c.JS.StreamNames(ctx)
	for name := range names.Name() {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "BF_ACT_"))
		if err == nil && n >= shards.Total {
			return fmt.Errorf("stream %s exists, so there are more than %d shards; %w", name, shards.Total, errFixed)
		}
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("list streams: %w", err)
	}
	return nil
}

// mayGrow allows shards for tenants of which nothing is stored.
func (c *Conn) mayGrow(ctx context.Context, have, want protocol.ShardMap) error {
	grown, err := want.Grown(have)
	if err != nil {
		return err
	}
	for _, t := range grown {
		for s := range have.Shared() {
			shard := protocol.Shard(s)
			for stream, filter := range map[string]string{
				protocol.OwnStream(shard): "bf.own." + shard.String() + "." + string(t) + ".*",
				protocol.ActStream(shard): "bf.act." + shard.String() + "." + string(t) + ".>",
			} {
				counts, err := c.SubjectCounts(ctx, stream, filter)
				if err != nil {
					return fmt.Errorf("look for tenant %s: %w", t, err)
				}
				if len(counts) > 0 {
					return fmt.Errorf("tenant %s has owners in the shared shards (%s)", t, stream)
				}
			}
		}
	}
	return nil
}

// errNoStreams: nothing was provisioned.
var errNoStreams = errors.New("there are no streams of the fleet")

// Shards is what the streams were made for.
func (c *Conn) Shards(ctx context.Context) (protocol.ShardMap, error) {
	cfg, err := c.config(ctx, protocol.WorkerStream)
	if hasCode(err, jetstream.JSErrCodeStreamNotFound) {
		return protocol.ShardMap{}, errNoStreams
	}
	if err != nil {
		return protocol.ShardMap{}, err
	}
	have := cfg.Metadata[shardsKey]
	if have == "" {
		return protocol.ShardMap{}, fmt.Errorf("%w: %s is not of this fleet", errNoStreams, protocol.WorkerStream)
	}
	return protocol.ParseShards(have)
}

// fleetStreams are all streams, the shared one first.
func fleetStreams(shards protocol.ShardMap) []protocol.Stream {
	all := protocol.FleetStreams()
	for s := range shards.Total {
		all = append(all, protocol.ShardStreams(protocol.Shard(s))...)
	}
	return all
}

func streamConfig(s protocol.Stream, shards protocol.ShardMap, replicas int) jetstream.StreamConfig {
	cfg := jetstream.StreamConfig{
		Name:              s.Name,
		Subjects:          s.Subjects,
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Replicas:          max(replicas, 1),
		MaxMsgsPerSubject: s.MaxMsgsPerSubject,
		MaxMsgs:           -1,
		MaxMsgSize:        s.MaxMsgSize,
		MaxBytes:          s.MaxBytes,
		MaxAge:            s.MaxAge,
		Duplicates:        s.Duplicates,
		DenyDelete:        s.DenyDelete,
		DenyPurge:         s.DenyPurge,
		AllowDirect:       true,
		Metadata:          map[string]string{shardsKey: shards.String()},
	}
	if s.DiscardNew {
		cfg.Discard, cfg.DiscardNewPerSubject = jetstream.DiscardNew, true
	}
	if s.RepublishFrom != "" {
		cfg.RePublish = &jetstream.RePublish{Source: s.RepublishFrom, Destination: s.RepublishTo}
	}
	return cfg
}

func buckets(replicas int) []jetstream.KeyValueConfig {
	return []jetstream.KeyValueConfig{
		{Bucket: protocol.LeaderBucket, History: 1, LimitMarkerTTL: leaderMarkerTTL, Replicas: max(replicas, 1)},
		{Bucket: protocol.PolicyBucket, History: policyHistory, Replicas: max(replicas, 1)},
	}
}
