package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Pauses between attempts while a write of the same subject is in flight.
const (
	firstPause = time.Millisecond
	maxPause   = 50 * time.Millisecond
)

// CAS writes a subject's next message, if the newest one is still expect (0: if
// there is none). A refusal is ErrConflict. ErrUncertain means that the same
// write, with the same nonce in it, must be made again; if that is refused, a
// leader read tells by the nonce whose message stands there.
//
// A replicated stream answers 10164 "wrong last sequence" while another write
// of the subject is in flight, and its record of that outlives the
// acknowledgement by a moment: a holder's next write can be refused because of
// its own last one, which was stored and acknowledged (seen on 2.15.3 with
// three replicas). That decides nothing, so CAS asks again until the stream
// says either "stored" or 10071.
func (c *Conn) CAS(ctx context.Context, subject string, data []byte, h nats.Header, expect protocol.Seq) (protocol.Seq, error) {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	out := copyHeader(h)
	out[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(uint64(expect), 10)}
	for wait := firstPause; ; wait = min(2*wait, maxPause) {
		seq, err := c.put(ctx, subject, data, out)
		switch {
		case expect == 0 && subjectFull(err):
			return 0, fmt.Errorf("%w: %w", ErrConflict, err)
		case !hasCode(err, codeInFlight):
			return seq, err
		}
		if cause := pause(ctx, wait); cause != nil {
			return 0, fmt.Errorf("%w: %w (%w)", ErrUnavailable, err, cause)
		}
	}
}

// Create writes the first and only message of a subject. ErrConflict means that
// it has one.
func (c *Conn) Create(ctx context.Context, subject string, data []byte, h nats.Header) (protocol.Seq, error) {
	return c.CAS(ctx, subject, data, h, 0)
}

// Publish stores a message and waits until the stream says so. A full queue is
// a *protocol.Error queue_full, a message over the stream's limit
// request_too_large.
func (c *Conn) Publish(ctx context.Context, subject string, data []byte, h nats.Header) (protocol.Seq, error) {
	seq, err := c.put(ctx, subject, data, copyHeader(h))
	switch {
	case subjectFull(err):
		return 0, protocol.Errorf(protocol.CodeQueueFull, "")
	case hasCode(err, codeMessageTooLarge), errors.Is(err, nats.ErrMaxPayload):
		return 0, protocol.Errorf(protocol.CodeRequestTooLarge, "")
	}
	return seq, err
}

func (c *Conn) put(ctx context.Context, subject string, data []byte, h nats.Header) (protocol.Seq, error) {
	if err := checkSubject(subject); err != nil {
		return 0, err
	}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	reply, err := c.NC.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Data: data, Header: h})
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", subject, requestFailed(err, true))
	}
	seq, err := decodeAck(reply.Data)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", subject, err)
	}
	return seq, nil
}

// decodeAck reads a PubAck. What is not one leaves the write uncertain.
func decodeAck(data []byte) (protocol.Seq, error) {
	var ack struct {
		apiReply
		Stream string       `json:"stream"`
		Seq    protocol.Seq `json:"seq"`
	}
	if err := json.Unmarshal(data, &ack); err != nil {
		return 0, fmt.Errorf("%w: unreadable acknowledgement: %w", ErrUncertain, err)
	}
	if ack.Error != nil {
		return 0, replyError(ack.Error)
	}
	if ack.Stream == "" || ack.Seq == 0 {
		return 0, fmt.Errorf("%w: empty acknowledgement", ErrUncertain)
	}
	return ack.Seq, nil
}

func hasCode(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
}

func copyHeader(h nats.Header) nats.Header {
	if h == nil {
		return nats.Header{}
	}
	return maps.Clone(h)
}
