package fleetmodel

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// servers are the fleet's streams in memory, with the rules that the real ones
// have: what a subject may hold, compare-and-set, republishing. Every method is
// one atomic step; the caller holds the world's lock.
type servers struct {
	streams map[string]*stream
	// republish gets what a stream republishes.
	republish func(*nats.Msg)
}

type stream struct {
	name    string
	created time.Time
	last    protocol.Seq
	stored  []message
	// perSubject is how many a subject may hold; a further one is refused, or
	// pushes the oldest out.
	perSubject int
	dropOldest bool
	// An old server leads, and has applied the stream up to seen only; until then,
	// or until it stores something, it answers reads from that.
	seen  protocol.Seq
	until time.Time
	past  []message // what newer ones pushed out: such a leader still has it
}

// elect makes a server the leader that is behind by some messages: one that was
// cut off and has just come back (measured: for up to 0.9 s).
func (st *stream) elect(behind protocol.Seq, now time.Time) {
	st.seen, st.until = st.last-min(st.last, behind), now.Add(900*time.Millisecond)
}

// applied is up to where the leader answers reads. A leader that has stored a
// message has applied all that came before.
func (st *stream) applied(now time.Time) protocol.Seq {
	if now.Before(st.until) {
		return st.seen
	}
	return st.last
}

type message struct {
	natsx.Message
	prev protocol.Seq // of its subject, as it was stored
}

func newServers(now time.Time) *servers {
	s := &servers{streams: map[string]*stream{}, republish: func(*nats.Msg) {}}
	for _, st := range []*stream{
		{name: protocol.ActStream(0), perSubject: protocol.QueueDepth},
		{name: protocol.OwnStream(0), perSubject: 2, dropOldest: true},
		{name: protocol.ResStream(0), perSubject: 1},
	} {
		st.created = now
		s.streams[st.name] = st
	}
	return s
}

// streamOf is the stream that stores a subject.
func (s *servers) streamOf(subject string) *stream {
	switch {
	case strings.HasPrefix(subject, "bf.act."):
		return s.streams[protocol.ActStream(0)]
	case strings.HasPrefix(subject, "bf.own."):
		return s.streams[protocol.OwnStream(0)]
	default:
		return s.streams[protocol.ResStream(0)]
	}
}

// publish stores a message without a condition, as an agent's arrives.
func (s *servers) publish(subject string, data []byte, h nats.Header, now time.Time) (protocol.Seq, error) {
	st := s.streamOf(subject)
	st.until = time.Time{}
	held := st.of(subject)
	if len(held) >= st.perSubject {
		if !st.dropOldest {
			return 0, protocol.Errorf(protocol.CodeQueueFull, "")
		}
		st.past = append(st.past, held[0])
		st.remove(func(m message) bool { return m.Seq == held[0].Seq })
	}
	var prev protocol.Seq
	if len(held) > 0 {
		prev = held[len(held)-1].Seq
	}
	st.last++
	m := message{Message: natsx.Message{Subject: subject, Seq: st.last, Time: now, Data: data, Header: h}, prev: prev}
	st.stored = append(st.stored, m)
	s.push(st, m)
	return m.Seq, nil
}

// cas is publish under the condition that the subject's newest message is still
// expect.
func (s *servers) cas(subject string, data []byte, h nats.Header, expect protocol.Seq, now time.Time) (protocol.Seq, error) {
	st := s.streamOf(subject)
	// A leader that is behind may refuse what the stream would take, at once; what
	// it lets pass is decided where it is applied.
	if at := st.applied(now); at < st.last && st.newest(subject, at) != expect {
		return 0, natsx.ErrConflict
	}
	if st.newest(subject, st.last) != expect {
		st.until = time.Time{}
		return 0, natsx.ErrConflict
	}
	return s.publish(subject, data, h, now)
}

// push republishes: the server's headers come after the publisher's.
func (s *servers) push(st *stream, m message) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(m.Subject, "bf."), ".")
	subject := "bf.push." + rest
	if kind == "res" {
		_, rest, _ = strings.Cut(rest, ".")
		subject = "bf.done." + rest
	}
	if kind == "own" {
		return
	}
	h := nats.Header{}
	for key, values := range m.Header {
		h[key] = slices.Clone(values)
	}
	h["Nats-Stream"] = append(h["Nats-Stream"], st.name)
	h["Nats-Subject"] = append(h["Nats-Subject"], m.Subject)
	h["Nats-Sequence"] = append(h["Nats-Sequence"], strconv.FormatUint(uint64(m.Seq), 10))
	h["Nats-Last-Sequence"] = append(h["Nats-Last-Sequence"], strconv.FormatUint(uint64(m.prev), 10))
	h["Nats-Time-Stamp"] = append(h["Nats-Time-Stamp"], m.Time.UTC().Format(time.RFC3339Nano))
	s.republish(&nats.Msg{Subject: subject, Header: h, Data: m.Data})
}

// of are a subject's messages, oldest first.
func (st *stream) of(subject string) []message {
	var out []message
	for _, m := range st.stored {
		if m.Subject == subject {
			out = append(out, m)
		}
	}
	return out
}

// newest is a subject's last sequence up to some; 0 when there is none.
func (st *stream) newest(subject string, upto protocol.Seq) (seq protocol.Seq) {
	for _, m := range st.stored {
		if m.Subject == subject && m.Seq <= upto {
			seq = m.Seq
		}
	}
	for i := len(st.past) - 1; seq == 0 && upto < st.last && i >= 0; i-- {
		if m := st.past[i]; m.Subject == subject && m.Seq <= upto {
			seq = m.Seq
		}
	}
	return seq
}

func (st *stream) remove(which func(message) bool) { st.stored = slices.DeleteFunc(st.stored, which) }

// lastOf reads a subject's newest message, of those up to a sequence.
func (s *servers) lastOf(name, subject string, upto protocol.Seq) (natsx.Message, error) {
	st := s.streams[name]
	seq := st.newest(subject, upto)
	for _, m := range st.stored {
		if m.Seq == seq {
			return read(m), nil
		}
	}
	for _, m := range slices.Backward(st.past) {
		if upto < st.last && m.Subject == subject && m.Seq <= upto {
			return read(m), nil
		}
	}
	return natsx.Message{}, natsx.ErrNotFound
}

// next reads a subject's first message at from or later. upto is what the replica
// that answers has seen.
func (s *servers) next(name, subject string, from, upto protocol.Seq) (natsx.Message, error) {
	for _, m := range s.streams[name].stored {
		if m.Subject == subject && m.Seq >= from && m.Seq <= upto {
			return read(m), nil
		}
	}
	return natsx.Message{}, natsx.ErrNotFound
}

// read is what natsx gives of a stored message: without forged headers.
func read(m message) natsx.Message {
	out := m.Message
	out.Header = nats.Header{}
	for key, values := range m.Header {
		if !strings.HasPrefix(key, "Nats-") && key != "Status" {
			out.Header[key] = values
		}
	}
	return out
}

// purge removes a subject's messages up to a sequence, and returns them.
func (s *servers) purge(name, subject string, upto protocol.Seq) (gone []message) {
	s.streams[name].remove(func(m message) bool {
		if m.Subject != subject || m.Seq > upto {
			return false
		}
		gone = append(gone, m)
		return true
	})
	return gone
}

// recreate is what an operator may do to a stream: delete it and make it anew.
func (s *servers) recreate(name string, now time.Time) {
	st := s.streams[name]
	*st = stream{name: st.name, created: now, perSubject: st.perSubject, dropOldest: st.dropOldest}
}

// expire removes what is older than a stream's retention.
func (s *servers) expire(name string, retention time.Duration, now time.Time) (gone []message) {
	s.streams[name].remove(func(m message) bool {
		if now.Sub(m.Time) <= retention {
			return false
		}
		gone = append(gone, m)
		return true
	})
	return gone
}
