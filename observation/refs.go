package observation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// maxRefs bounds the table of a generation. The oldest documents go first: their
// refs are stale anyway.
const maxRefs = 20_000

// node is an element's identity: a number in the table of one document. The
// document's token is random, so no other document has it; the frame (empty for
// the main one) keeps a frame that knows another's token out of that one's refs.
type node struct {
	Frame protocol.FrameID
	Doc   string
	ID    int64
}

// Target is the element that a ref means, as the agent was last shown it.
type Target struct {
	Ref  protocol.Ref
	Page protocol.PageID // the tab it is in
	// Frame that it is in, empty for the main one.
	Frame protocol.FrameID
	Role  string
	Name  string
	Type  string
	at    node
	// Print is the fingerprint that the page compares right before dispatch.
	Print string
	// since is the number of the first observation that showed it as it is known
	// now.
	since int
}

// Doc is the token of the document that the target is in.
func (t Target) Doc() string { return t.at.Doc }

// NodeID is the target's number in its document.
func (t Target) NodeID() int64 { return t.at.ID }

// refs hands out refs: e1, e2… never twice in a generation, the same one for the
// same node.
type refs struct {
	now     int             // the number of the observation that is being made
	docs    map[string]bool // that it shows
	last    int
	groups  int
	byNode  map[node]*Target
	byRef   map[protocol.Ref]*Target
	byGroup map[node]protocol.GroupRef
}

func newRefs() *refs {
	return &refs{
		byNode: make(map[node]*Target), byRef: make(map[protocol.Ref]*Target),
		byGroup: make(map[node]protocol.GroupRef), docs: make(map[string]bool),
	}
}

// show remembers what the agent is shown under a ref.
func (r *refs) show(e *passElement) protocol.Ref {
	key := e.at
	t := r.byNode[key]
	if t == nil {
		r.forget()
		r.last++
		t = &Target{Ref: protocol.Ref("e" + strconv.Itoa(r.last)), Frame: key.Frame, at: key}
		r.byNode[key], r.byRef[t.Ref] = t, t
	}
	if t.Print != e.Print {
		t.since = r.now
	}
	t.Role, t.Name, t.Type, t.Print = e.Role, e.Name, e.Type, e.Print
	return t.Ref
}

// group is the ref of a record, the same for the same record.
func (r *refs) group(key node) protocol.GroupRef {
	g, ok := r.byGroup[key]
	if !ok {
		r.groups++
		g = protocol.GroupRef("g" + strconv.Itoa(r.groups))
		r.byGroup[key] = g
	}
	return g
}

// record is what a group's ref means.
func (r *refs) record(g protocol.GroupRef) (node, bool) {
	for at, ref := range r.byGroup {
		if ref == g {
			return at, true
		}
	}
	return node{}, false
}

// forget makes room by dropping the refs of every document that is not shown now.
func (r *refs) forget() {
	if len(r.byNode) < maxRefs {
		return
	}
	for key, t := range r.byNode {
		if !r.docs[key.Doc] {
			delete(r.byNode, key)
			delete(r.byRef, t.Ref)
		}
	}
	for key := range r.byGroup {
		if !r.docs[key.Doc] {
			delete(r.byGroup, key)
		}
	}
}

// observationID is "o-GENERATION-N".
func observationID(g protocol.Generation, n int) protocol.ObservationID {
	return protocol.ObservationID(fmt.Sprintf("o-%d-%d", g, n))
}

// readObservationID is its inverse.
func readObservationID(id protocol.ObservationID) (g protocol.Generation, n int, ok bool) {
	parts := strings.Split(string(id), "-")
	if len(parts) != 3 || parts[0] != "o" {
		return 0, 0, false
	}
	generation, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	n, err = strconv.Atoi(parts[2])
	return protocol.Generation(generation), n, err == nil
}
