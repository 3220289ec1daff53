package natsx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go/jetstream"
)

// Verify checks that the streams and buckets are what the services rely on, and
// reports every difference. It needs no more than STREAM.INFO.
func (c *Conn) Verify(ctx context.Context, shards protocol.ShardMap) error {
	// First, since a role has no right to ask for streams that its server's
	// configuration does not know: it would hear nothing, five seconds each.
	if have, err := c.Shards(ctx); err == nil && have.String() != shards.String() {
		return fmt.Errorf("the number of shards is %s, want %s: %w", have, shards, errFixed)
	}
	var wrong []error
	for _, s := range fleetStreams(shards) {
		cfg, err := c.config(ctx, s.Name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		wrong = append(wrong, differences(cfg, streamConfig(s, shards, cfg.Replicas))...)
	}
	for s := range shards.Total {
		if cfg, err := c.config(ctx, protocol.ResStream(protocol.Shard(s))); err == nil {
			wrong = append(wrong, checkRetention(cfg))
		}
	}
	for _, b := range buckets(1) {
		cfg, err := c.config(ctx, "KV_"+b.Bucket)
		if err != nil {
			wrong = append(wrong, err)
		} else if b.LimitMarkerTTL > 0 && (!cfg.AllowMsgTTL || cfg.SubjectDeleteMarkerTTL <= 0) {
			wrong = append(wrong, fmt.Errorf("KV_%s: keys have no TTL, so a dead leader's lease never ends", b.Bucket))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("the streams are not as they must be (see `browserfleet nats provision`):\n%w", err)
	}
	return nil
}

func (c *Conn) config(ctx context.Context, stream string) (jetstream.StreamConfig, error) {
	var info struct {
		Config jetstream.StreamConfig `json:"config"`
	}
	if err := c.api(ctx, "$JS.API.STREAM.INFO."+stream, nil, &info); err != nil {
		return jetstream.StreamConfig{}, fmt.Errorf("%s: %w", stream, err)
	}
	return info.Config, nil
}

// differences lists the settings that are not as wanted. Replicas are the
// operator's choice.
func differences(got, want jetstream.StreamConfig) []error {
	var wrong []error
	check := func(setting string, got, want any) {
		if got != want {
			wrong = append(wrong, fmt.Errorf("%s is %v, want %v", setting, got, want))
		}
	}
	check("subjects", fmt.Sprint(sorted(got.Subjects)), fmt.Sprint(sorted(want.Subjects)))
	check("number of shards", got.Metadata[shardsKey], want.Metadata[shardsKey])
	check("retention", got.Retention, want.Retention)
	check("storage", got.Storage, want.Storage)
	check("messages per subject", got.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	check("messages", got.MaxMsgs, want.MaxMsgs)
	check("discard", got.Discard, want.Discard)
	check("discard new per subject", got.DiscardNewPerSubject, want.DiscardNewPerSubject)
	check("message size", got.MaxMsgSize, want.MaxMsgSize)
	check("bytes", got.MaxBytes, want.MaxBytes)
	check("age", got.MaxAge, want.MaxAge)
	check("duplicate window", got.Duplicates, want.Duplicates)
	check("deny delete", got.DenyDelete, want.DenyDelete)
	check("deny purge", got.DenyPurge, want.DenyPurge)
	check("direct reads", got.AllowDirect, want.AllowDirect)
	// Each of these lets a publisher remove what another one stored.
	check("rollups", got.AllowRollup, false)
	check("per-message TTL", got.AllowMsgTTL, false)
	check("schedules", got.AllowMsgSchedules, false)
	check("delete markers", got.SubjectDeleteMarkerTTL, time.Duration(0))
	check("sealed", got.Sealed, false)
	check("republish", republish(got), republish(want))
	for i, err := range wrong {
		wrong[i] = fmt.Errorf("%s: %w", want.Name, err)
	}
	return wrong
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func republish(cfg jetstream.StreamConfig) string {
	if cfg.RePublish == nil {
		return "none"
	}
	return fmt.Sprintf("%s to %s, headers only %v", cfg.RePublish.Source, cfg.RePublish.Destination, cfg.RePublish.HeadersOnly)
}

// checkRetention holds promise "one answer": a request sent again as late as it
// is accepted must still find the result of its first copy.
func checkRetention(res jetstream.StreamConfig) error {
	need := protocol.ResendHorizon + protocol.MaxQueueDeadline + protocol.MaxRunBudget
	if res.MaxAge != 0 && res.MaxAge < need {
		return fmt.Errorf("%s: results are kept %v, which is less than resend horizon + longest queue deadline + longest run budget = %v", res.Name, res.MaxAge, need)
	}
	return nil
}
