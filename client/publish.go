package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// ackTimeout is how long an acknowledgement is waited for; it takes well
	// under a millisecond on one machine, and an election of the stream's leader
	// up to nine seconds.
	ackTimeout = 2 * time.Second
	// againFirst and againMost space the attempts to publish.
	againFirst = 100 * time.Millisecond
	againMost  = 2 * time.Second
	// patience: a restarted server needs a second or two until its streams are
	// back, and an election of their leaders up to nine.
	patience = 20 * time.Second
)

// JetStream's error codes that mean something here (nats-server's errors.json).
const (
	codeStoreFailed     = 10077
	codeMessageTooLarge = 10054
	// textSubjectFull tells a full queue from the store's other failures, which
	// share its code.
	textSubjectFull = "maximum messages per subject exceeded"
)

// acknowledgement is what an attempt to publish came to.
type acknowledgement int

const (
	// stored: the stream has it.
	stored acknowledgement = iota
	// refused: the stream does not take it.
	refused
	// notSent: nobody was there to take it, so it is not stored.
	notSent
	// uncertain: no answer; it may be stored.
	uncertain
)

// errand is one request on its way.
type errand struct {
	owner   *Owner
	id      protocol.RequestID
	lane    protocol.Lane
	body    []byte // nil when the request was sent by somebody else
	header  nats.Header
	waiter  *waiter
	doubted bool // an attempt got no answer: it may be stored
}

// publish hands the request over. A nil error means that it is stored, or may
// be: the result will tell.
func (e *errand) publish(ctx context.Context) error {
	begun := time.Now()
	for again := againFirst; ; again = min(2*again, againMost) {
		ack, err := e.once(ctx)
		switch {
		case ack == stored:
			return nil
		case ack == uncertain:
			e.doubted = true
		case e.doubted && ack == refused:
			// The first copy may be stored, so this refusal of the second one
			// proves nothing.
			return nil
		case ack == refused, ack == notSent && time.Since(begun) > e.owner.client.patience && !e.doubted:
			return err
		case ack == notSent && time.Since(begun) > e.owner.client.patience:
			return nil
		}
		if len(e.waiter.result) > 0 {
			return nil // it was stored, and it is answered
		}
		if pause(ctx, again) != nil {
			d := protocol.DispatchedNo
			if e.doubted {
				d = protocol.DispatchedUnknown
			}
			return ended(ctx, e.id, d)
		}
	}
}

// once publishes and waits for the acknowledgement.
func (e *errand) once(ctx context.Context) (acknowledgement, error) {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	subject := protocol.AgentActSubject(e.owner.id, e.lane)
	nc := e.owner.client.nc
	if int64(len(e.body)) > nc.MaxPayload()-headerRoom {
		return refused, e.fail(protocol.CodeRequestTooLarge, nil, "the request has %d bytes; at most %d", len(e.body), protocol.MaxRequestBytes)
	}
	reply, err := nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Header: e.header, Data: e.body})
	switch {
	case err == nil:
		return e.acknowledged(reply.Data)
	case errors.Is(err, nats.ErrNoResponders):
		return notSent, e.fail(protocol.CodeUnavailable, err, "nothing takes requests on %s: the fleet's streams are not there; the request is not stored", subject)
	case notConnected(err):
		return notSent, e.fail(protocol.CodeUnavailable, err, "there is no connection to NATS; the request is not stored")
	case errors.Is(err, nats.ErrConnectionClosed):
		return refused, e.fail(protocol.CodeUnavailable, err, "the client is closed; the request is not stored")
	}
	if text := e.owner.client.denied.Load(); text != nil && strings.Contains(*text, `"`+subject+`"`) {
		return refused, e.fail(protocol.CodeUnavailable, err, "this user may not send requests of owner %s; the request is not stored", e.owner.id)
	}
	return uncertain, nil
}

// headerRoom is what headers may take of the server's largest message, in bytes.
const headerRoom = 4 << 10

func notConnected(err error) bool {
	return errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, nats.ErrInvalidConnection)
}

// acknowledged reads a PubAck.
func (e *errand) acknowledged(data []byte) (acknowledgement, error) {
	var ack struct {
		Stream string `json:"stream"`
		Seq    uint64 `json:"seq"`
		Error  *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &ack) != nil {
		return uncertain, nil
	}
	switch {
	case ack.Error == nil && ack.Stream != "" && ack.Seq > 0:
		return stored, nil
	case ack.Error == nil:
		return uncertain, nil
	case ack.Error.Code == codeStoreFailed && ack.Error.Description == textSubjectFull:
		return refused, e.fail(protocol.CodeQueueFull, nil, "")
	case ack.Error.Code == codeMessageTooLarge:
		return refused, e.fail(protocol.CodeRequestTooLarge, nil, "")
	}
	// The store failed, or has no leader now: it did not take this copy.
	return notSent, e.fail(protocol.CodeUnavailable, nil, "the stream refused the request: %s", ack.Error.Description)
}

// fail says why the request is not stored.
func (e *errand) fail(code protocol.Code, cause error, format string, args ...any) error {
	why := protocol.Errorf(code, format, args...).WithDispatched(protocol.DispatchedNo)
	if code == protocol.CodeUnavailable {
		why.RecommendedAction = "try again when the fleet is up"
	}
	return &NoResult{Request: e.id, Err: why, Cause: cause}
}
