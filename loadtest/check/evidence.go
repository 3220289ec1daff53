package check

import (
	"crypto/sha256"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// ID names a request among all owners.
type ID struct {
	Key     protocol.OwnerKey
	Request protocol.RequestID
}

// Digest tells two bodies apart.
type Digest [sha256.Size]byte

// DigestOf is a body's digest.
func DigestOf(body []byte) Digest { return sha256.Sum256(body) }

// Request is a request that the server stored.
type Request struct {
	ID
	Lane protocol.Lane
	// Seq is of its first stored copy; Copies counts them: an agent may send the
	// same id again.
	Seq    protocol.Seq
	Copies int
	Kind   protocol.Kind // empty where the body could not be read
	// At is when its publisher knew that it was stored.
	At time.Time
}

// Result is a stored result, without what the page had on it.
type Result struct {
	ID
	Lane       protocol.Lane
	Seq        protocol.Seq // of the request
	Kind       protocol.Kind
	Status     protocol.Status
	Code       protocol.Code // empty when it worked
	Dispatched protocol.Dispatched
	FinishedAt time.Time
	// StoredSeq and StoredAt are of the result itself, by the server.
	StoredSeq protocol.Seq
	StoredAt  time.Time
	Digest    Digest
	Nonce     string // new in every result that anybody writes
	// Stored counts the stored messages of its subject; more than one is a
	// stream that is not as it must be.
	Stored int
}

// Told is what an agent took for its result.
type Told struct {
	Nonce  string
	Status protocol.Status
}

// Pushes are what was pushed to the agent for one request.
type Pushes struct {
	// First counts pushes without the header Bf-Repeat; there must be one.
	First int
	// Bodies are the digests of all pushes, repeats included.
	Bodies map[Digest]int
	// At is when the first of them came.
	At time.Time
}

// Dispatch is a line of a dispatch log, and where it stands.
type Dispatch struct {
	protocol.DispatchEntry
	File string
	Line int
}

// Evidence is what a fleet left behind.
type Evidence struct {
	Requests   []Request
	Results    []Result
	Pushes     map[ID]Pushes
	Told       map[ID][]Told
	Dispatches []Dispatch
	// Records are the owners' records at the end.
	Records map[protocol.OwnerKey]protocol.OwnerRecord
	Orphans int
	// Skew is how far two machines' clocks may differ.
	Skew time.Duration
	// Now is when the evidence was gathered: results older than their retention
	// are gone, and then a push stands for them.
	Now time.Time
	// Notes are gaps in the evidence that the gatherers know of.
	Notes []string
}

// Promises counts, for each promise, by how many requests it was broken.
type Promises struct {
	Lost             int `json:"lost"`
	SecondResults    int `json:"second_results"`
	Reordered        int `json:"reordered"`
	DoubleDispatched int `json:"double_dispatched"`
	OrphanProcesses  int `json:"orphan_processes"`
}

// Broken reports whether any promise was.
func (p Promises) Broken() bool { return p != Promises{} }

// Promise names one in findings.
type Promise string

// The promises, named as in the JSON of Promises.
const (
	Lost             Promise = "lost"
	SecondResults    Promise = "second_results"
	Reordered        Promise = "reordered"
	DoubleDispatched Promise = "double_dispatched"
	OrphanProcesses  Promise = "orphan_processes"
)

// Finding is one broken promise, with what shows it.
type Finding struct {
	Promise Promise            `json:"promise"`
	Owner   string             `json:"owner,omitempty"` // tenant/owner
	Request protocol.RequestID `json:"request,omitempty"`
	Text    string             `json:"text"`
}

// Verdict is what Judge found.
type Verdict struct {
	Promises Promises
	Findings []Finding
	Notes    []string
}
