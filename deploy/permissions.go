package deploy

import (
	"maps"
	"slices"

	"github.com/browserfleet/browserfleet/protocol"
)

// rights are a user's permissions.
type rights struct {
	Publish, Subscribe []string
	// Respond allows one answer to each request that came in on a subscription.
	Respond bool
}

// perShard writes one line a shard: a wildcard matches whole tokens only, so
// "$JS.API.STREAM.INFO.BF_ACT_*" would not cover BF_ACT_0.
func perShard(shards protocol.ShardMap, lines func(s protocol.Shard) []string) []string {
	var out []string
	for s := range shards.Total {
		out = append(out, lines(protocol.Shard(s))...)
	}
	return out
}

// reads are the rights to look at streams: settings, leader reads, direct
// reads. The buckets are read by key, BF streams by request body.
func reads(shards protocol.ShardMap) []string {
	out := perShard(shards, func(s protocol.Shard) []string {
		var lines []string
		for _, stream := range []string{protocol.ActStream(s), protocol.OwnStream(s), protocol.ResStream(s), protocol.EvStream(s)} {
			lines = append(lines, "$JS.API.STREAM.INFO."+stream)
		}
		for _, stream := range []string{protocol.ActStream(s), protocol.OwnStream(s), protocol.ResStream(s)} {
			lines = append(lines, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.DIRECT.GET."+stream)
		}
		return lines
	})
	for _, stream := range []string{protocol.WorkerStream, bucket(protocol.LeaderBucket), bucket(protocol.PolicyBucket)} {
		out = append(out, "$JS.API.STREAM.INFO."+stream)
	}
	return append(out, bucketReads(protocol.PolicyBucket)...)
}

func bucket(name string) string { return "KV_" + name }

// bucketReads are the rights to get and watch a bucket's keys.
func bucketReads(name string) []string {
	return append([]string{
		"$JS.API.STREAM.MSG.GET." + bucket(name),
		"$JS.API.DIRECT.GET." + bucket(name),
		"$JS.API.DIRECT.GET." + bucket(name) + ".>",
	}, consumes(bucket(name))...)
}

// consumes are the rights to keep an ordered consumer on a stream, pushed or
// pulled. Its client makes a new one after each gap and deletes the old one;
// $JS.FC is its answer to flow control.
func consumes(stream string) []string {
	return []string{
		"$JS.API.CONSUMER.CREATE." + stream + ".>",
		"$JS.API.CONSUMER.INFO." + stream + ".*",
		"$JS.API.CONSUMER.DELETE." + stream + ".*",
		"$JS.API.CONSUMER.MSG.NEXT." + stream + ".*",
		"$JS.FC." + stream + ".>",
	}
}

// probes are the rights to ask where requests would be stored. The server looks
// at the subject that its mappings made; the other one is for a configuration
// that maps nothing, which must be heard as such. An owner that is called like
// ProbeTenant is nobody's.
func probes(shards protocol.ShardMap) []string {
	keys := []protocol.OwnerKey{{Tenant: protocol.ProbeTenant, Owner: "*"}}
	for _, t := range slices.Sorted(maps.Keys(shards.Dedicated)) {
		keys = append(keys, protocol.OwnerKey{Tenant: t, Owner: protocol.Owner(protocol.ProbeTenant)})
	}
	var lines []string
	for _, k := range keys {
		lines = append(lines, protocol.ProbeSubject(k), "bf.act.*."+string(k.Tenant)+"."+string(k.Owner)+"."+string(protocol.LaneQueue))
	}
	return lines
}

// coordinatorRights: it assigns owners, answers for those without a holder,
// trims queues, keeps a view of the owner records, serves agents and operators.
func coordinatorRights(shards protocol.ShardMap) rights {
	publish := []string{
		"bf.own.>", "bf.res.>", "bf.ev.>", "bf.ctl.>", "bf.crd.*",
		"bf.done.>", // a stored result, pushed again
		"$KV." + protocol.LeaderBucket + ".>",
		"$JS.API.STREAM.MSG.GET." + protocol.WorkerStream,
		"$JS.API.DIRECT.GET." + protocol.WorkerStream,
	}
	publish = append(publish, probes(shards)...)
	publish = append(publish, reads(shards)...)
	publish = append(publish, bucketReads(protocol.LeaderBucket)...)
	publish = append(publish, perShard(shards, func(s protocol.Shard) []string {
		return append(consumes(protocol.OwnStream(s)), "$JS.API.STREAM.PURGE."+protocol.ActStream(s),
			"$JS.API.STREAM.MSG.GET."+protocol.EvStream(s), "$JS.API.DIRECT.GET."+protocol.EvStream(s))
	})...)
	return rights{
		Publish: publish,
		Subscribe: []string{
			Inbox(UserCoordinator) + ".>", "bf.push.>", "bf.hb.*", "bf.crd.*", "bf.trim.>", "bf.svc.>", "bf.ops.>",
		},
		Respond: true,
	}
}

// workerRights: it runs owners. It cannot publish requests, purge, or delete.
func workerRights(shards protocol.ShardMap) rights {
	return rights{
		Publish: append([]string{
			"bf.own.>", "bf.res.>", "bf.ev.>", "bf.wrk.*", "bf.hb.*", "bf.trim.>",
			"bf.done.>", // a stored result, pushed again
		}, reads(shards)...),
		Subscribe: []string{Inbox(UserWorker) + ".>", "bf.push.>", "bf.ctl.>"},
		Respond:   true,
	}
}

// tenantRights: every owner of the tenant.
func tenantRights(t protocol.Tenant) rights {
	return rights{
		Publish:   []string{"act.*.q", "act.*.c", "fleet.*", "fleet.*.*"},
		Subscribe: []string{Inbox(TenantUser(t)) + ".>", "done.>", "events.>"},
	}
}

// agentRights: one owner.
func agentRights(t protocol.Tenant, o protocol.Owner) rights {
	return rights{
		Publish: []string{
			protocol.AgentActSubject(o, protocol.LaneQueue),
			protocol.AgentActSubject(o, protocol.LaneControl),
			protocol.AgentServiceSubject("*", o),
			protocol.AgentServiceSubject(protocol.ServiceList, ""),
		},
		Subscribe: []string{
			Inbox(AgentUser(t, o)) + ".>",
			protocol.AgentDoneSubject(o, ">"),
			protocol.AgentEventSubject(o),
		},
	}
}
