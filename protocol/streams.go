package protocol

import "time"

// Stream is what a JetStream stream of the fleet must be. Services verify it at
// start; `browserfleet nats provision` creates it.
type Stream struct {
	Name     string
	Subjects []string
	// MaxMsgsPerSubject with DiscardNew refuses the next message of that
	// subject (error 10077); without it the oldest goes.
	MaxMsgsPerSubject int64
	DiscardNew        bool
	MaxMsgSize        int32 // bytes
	MaxBytes          int64 // of the stream; -1 unlimited
	MaxAge            time.Duration
	Duplicates        time.Duration
	DenyDelete        bool
	DenyPurge         bool
	// RepublishFrom and RepublishTo are empty where nothing is republished.
	RepublishFrom, RepublishTo string
}

// Retention and sizes.
const (
	QueueDepth        = 64               // unanswered requests a lane
	MaxRequestBytes   = 256 << 10        // one stored request
	MaxResultBytes    = 512 << 10        // one stored result
	MaxRecordBytes    = 16 << 10         // an owner record; about 2 KB with a full ring
	MaxEventBytes     = 64 << 10         // one stored event
	ResultRetention   = 2 * time.Hour    // of results
	ActionRetention   = 24 * time.Hour   // an alarm, never a way to end a request
	DefaultQueueLimit = 5 * time.Minute  // queue deadline of a request that names none
	MaxQueueDeadline  = 15 * time.Minute // longest queue deadline
	DefaultRunBudget  = 60 * time.Second // run budget of a request that names none
	MaxRunBudget      = 10 * time.Minute // longest run budget
)

// Stream and bucket names that are not per shard.
const (
	WorkerStream = "BF_WRK"
	LeaderBucket = "bf_leader"
	PolicyBucket = "bf_policy"
)

// ActStream names the shard's stream of requests.
func ActStream(s Shard) string { return "BF_ACT_" + s.String() }

// OwnStream names the shard's stream of owner records.
func OwnStream(s Shard) string { return "BF_OWN_" + s.String() }

// ResStream names the shard's stream of results.
func ResStream(s Shard) string { return "BF_RES_" + s.String() }

// EvStream names the shard's stream of transitions and events.
func EvStream(s Shard) string { return "BF_EV_" + s.String() }

// ShardStreams are the streams of one shard.
//
// None of them allows per-message TTLs, rollups or deletes: each would let one
// publisher remove what another stored (a publisher's Nats-TTL deletes its own
// request unanswered; Nats-Rollup empties a stream).
func ShardStreams(s Shard) []Stream {
	n := s.String()
	return []Stream{
		{
			Name:              ActStream(s),
			Subjects:          []string{"bf.act." + n + ".*.*.q", "bf.act." + n + ".*.*.c"},
			MaxMsgsPerSubject: QueueDepth,
			DiscardNew:        true,
			MaxMsgSize:        MaxRequestBytes,
			MaxBytes:          4 << 30,
			MaxAge:            ActionRetention,
			// Dedupe is stream-wide: the same id of another tenant would be
			// dropped. The server wants a window; ours is too short to matter.
			Duplicates:    100 * time.Millisecond,
			DenyDelete:    true,
			RepublishFrom: "bf.act." + n + ".>",
			RepublishTo:   "bf.push." + n + ".>",
		},
		{
			Name:              OwnStream(s),
			Subjects:          []string{"bf.own." + n + ".*.*"},
			MaxMsgsPerSubject: 2,
			MaxMsgSize:        MaxRecordBytes,
			MaxBytes:          -1,
			Duplicates:        100 * time.Millisecond,
			DenyDelete:        true,
			DenyPurge:         true,
		},
		{
			Name:              ResStream(s),
			Subjects:          []string{"bf.res." + n + ".*.*.*"},
			MaxMsgsPerSubject: 1,
			DiscardNew:        true,
			MaxMsgSize:        MaxResultBytes,
			MaxBytes:          -1,
			MaxAge:            ResultRetention,
			Duplicates:        100 * time.Millisecond,
			DenyDelete:        true,
			DenyPurge:         true,
			RepublishFrom:     "bf.res." + n + ".*.*.*",
			RepublishTo:       "bf.done.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}",
		},
		{
			Name:              EvStream(s),
			Subjects:          []string{"bf.ev." + n + ".*.*"},
			MaxMsgsPerSubject: 500,
			MaxMsgSize:        MaxEventBytes,
			MaxBytes:          -1,
			MaxAge:            24 * time.Hour,
			Duplicates:        100 * time.Millisecond,
			DenyDelete:        true,
			RepublishFrom:     "bf.ev." + n + ".*.*",
			RepublishTo:       "bf.events.{{wildcard(1)}}.{{wildcard(2)}}",
		},
	}
}

// FleetStreams are the streams that the shards share.
func FleetStreams() []Stream {
	return []Stream{{
		Name:              WorkerStream,
		Subjects:          []string{"bf.wrk.*"},
		MaxMsgsPerSubject: 1,
		MaxMsgSize:        16 << 10,
		MaxBytes:          -1,
		MaxAge:            time.Hour,
		Duplicates:        100 * time.Millisecond,
	}}
}
