package natsx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
)

// Message is a stored message.
type Message struct {
	Subject string       // where it is stored
	Seq     protocol.Seq // in its stream
	// LastSeq is the sequence of the message before it on the same subject, 0
	// when there is none (also after a purge). Only a push knows it.
	LastSeq protocol.Seq
	Time    time.Time // when the server stored it
	Data    []byte
	// Header is what the publisher sent, without the server's own headers and
	// without forgeries of them.
	Header nats.Header
}

// The server's headers of republished and directly read messages.
const (
	headerStream       = "Nats-Stream"
	headerSubject      = "Nats-Subject"
	headerSequence     = "Nats-Sequence"
	headerLastSequence = "Nats-Last-Sequence"
	headerTime         = "Nats-Time-Stamp"
	headerPending      = "Nats-Num-Pending"
	headerStatus       = "Status"
	headerDescription  = "Description"
)

// errUnreadable: the message's headers were made so that the server's own
// cannot be told from forgeries. The leader can still read it.
var errUnreadable = errors.New("headers cannot be trusted")

// last is the key's last value: the server appends its headers after the
// publisher's, so the first value is the forgery (measured on 2.15).
func last(h nats.Header, key string) string {
	v := h[key]
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

// stored reads a message that the server sent with its headers appended.
func stored(m *nats.Msg) (Message, error) {
	if !plainHeaders(m) {
		return Message{}, errUnreadable
	}
	seq, err := strconv.ParseUint(last(m.Header, headerSequence), 10, 64)
	if err != nil || seq == 0 {
		return Message{}, fmt.Errorf("%w: no sequence", errUnreadable)
	}
	at, err := time.Parse(time.RFC3339Nano, last(m.Header, headerTime))
	if err != nil {
		return Message{}, fmt.Errorf("%w: no store time", errUnreadable)
	}
	subject := last(m.Header, headerSubject)
	if subject == "" {
		return Message{}, fmt.Errorf("%w: no subject", errUnreadable)
	}
	return Message{
		Subject: subject, Seq: protocol.Seq(seq), Time: at,
		Data: m.Data, Header: publisherHeaders(m.Header),
	}, nil
}

// maxHeaderLines bounds the header lines of a message that is read with the
// server's headers appended; see plainHeaders.
const maxHeaderLines = 48

// plainHeaders reports whether the parsed headers are the whole header block.
//
// The server does not check a publisher's header block. One with an empty line
// in its middle hides everything after it from the parser, the server's own
// headers too, so that the last value is the publisher's after all. A block
// that parses completely has exactly the length of its canonical encoding. A
// forger can make its visible lines shorter than canonical, by two bytes a line
// at most ("k:v\n" for "k: v\r\n"), but would have to make up for the server's
// block, which is over 110 bytes; the bound on lines makes that impossible.
func plainHeaders(m *nats.Msg) bool {
	if len(m.Header) == 0 {
		return false
	}
	size, lines := len("NATS/1.0\r\n")+len("\r\n"), 0
	for key, values := range m.Header {
		for _, v := range values {
			lines++
			size += len(key) + len(": ") + len(v) + len("\r\n")
		}
	}
	wire := m.Size() - len(m.Subject) - len(m.Reply) - len(m.Data)
	return lines <= maxHeaderLines && size == wire
}

// publisherHeaders drops what only the server may say, forged or not.
func publisherHeaders(h nats.Header) nats.Header {
	out := make(nats.Header, len(h))
	for key, values := range h {
		if strings.HasPrefix(key, "Nats-") || key == headerStatus || key == headerDescription {
			continue
		}
		out[key] = values
	}
	return out
}

// ReadPush reads a message that a stream republished: a request (bf.push), a
// result (bf.done, or done in a tenant's account) or an event (bf.events,
// events). It fails unless the server's headers can be trusted, name the stream
// that republishes there, and agree with the subject on which the message came.
// A message that it refuses may be real: read it from the stream.
func ReadPush(m *nats.Msg) (Message, error) {
	out, err := stored(m)
	if err != nil {
		return Message{}, fmt.Errorf("push on %.120q: %w", m.Subject, err)
	}
	if err := checkSubject(out.Subject); err != nil {
		return Message{}, fmt.Errorf("push on %.120q: %w", m.Subject, err)
	}
	stream, ok := pushedFrom(m.Subject, out.Subject)
	if !ok || last(m.Header, headerStream) != stream {
		return Message{}, fmt.Errorf("push on %.120q does not come from %.120q of %.80q: %w",
			m.Subject, out.Subject, last(m.Header, headerStream), errUnreadable)
	}
	prev, err := strconv.ParseUint(last(m.Header, headerLastSequence), 10, 64)
	if err != nil {
		return Message{}, fmt.Errorf("push on %.120q: no last sequence: %w", m.Subject, errUnreadable)
	}
	out.LastSeq = protocol.Seq(prev)
	return out, nil
}

// pushedFrom checks that a stream's subject is republished to push, and names
// the stream.
func pushedFrom(push, subject string) (stream string, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) < 5 || t[0] != "bf" {
		return "", false
	}
	shard, rest := t[2], t[3:]
	join := func(prefix string, tokens []string) string { return prefix + strings.Join(tokens, ".") }
	switch t[1] {
	case "act":
		return "BF_ACT_" + shard, push == join("bf.push."+shard+".", rest)
	case "res":
		return "BF_RES_" + shard, push == join("bf.done.", rest) || push == join("done.", rest[1:])
	case "ev":
		return "BF_EV_" + shard, push == join("bf.events.", rest) || push == join("events.", rest[1:])
	}
	return "", false
}
