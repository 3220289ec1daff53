package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What callers branch on.
var (
	// ErrNotFound: the stream holds no such message.
	ErrNotFound = errors.New("no such message")
	// ErrConflict: a compare-and-set found another sequence, or the subject of
	// a create-only write is taken. Nothing was stored.
	ErrConflict = errors.New("conflict with a stored message")
	// ErrUncertain: a write got no answer; it may have happened.
	ErrUncertain = errors.New("no answer: the write may have happened")
	// ErrUnavailable: nobody was there to answer, or a read got no answer.
	// Nothing was stored.
	ErrUnavailable = errors.New("messaging is unavailable")
	// ErrToken: a subject has a token outside [A-Za-z0-9_-].
	ErrToken = errors.New("illegal subject token")
)

// JetStream's error codes that mean something here (nats-server errors.json).
const (
	codeMessageTooLarge = 10054 // message size exceeds maximum allowed
	codeMessageNotFound = 10037 // no message found
	codeWrongLast       = 10071 // wrong last sequence: N
	codeStoreFailed     = 10077 // any refusal of the store, see subjectFull
	codeStreamMismatch  = 10060 // expected stream does not match
	codeInFlight        = 10164 // a write of this subject is in flight, see CAS
	codeNotAvailable    = 10008 // no meta leader
)

// requestFailed explains why a request to the server got no reply. A write that
// was sent and got no answer is uncertain; a read never is.
func requestFailed(err error, write bool) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders),
		errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, nats.ErrConnectionDraining),
		errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrReconnectBufExceeded),
		errors.Is(err, nats.ErrInvalidConnection):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject),
		errors.Is(err, nats.ErrHeadersNotSupported):
		return err // the client refused to send it
	}
	kind := ErrUnavailable
	if write {
		kind = ErrUncertain
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// replyError turns the error that a JetStream reply carries into ours.
func replyError(e *jetstream.APIError) error {
	switch e.ErrorCode {
	case codeMessageNotFound:
		return fmt.Errorf("%w: %w", ErrNotFound, e)
	case codeWrongLast:
		return fmt.Errorf("%w: %w", ErrConflict, e)
	case codeNotAvailable:
		return fmt.Errorf("%w: %w", ErrUnavailable, e)
	}
	if e.Code == http.StatusServiceUnavailable && !subjectFull(e) {
		return fmt.Errorf("%w: %w", ErrUnavailable, e)
	}
	return e
}

// subjectFull reports whether an error is (or wraps) the refusal of one more
// message on a full subject. The server gives 10077 to every failure of its
// store, a full disk or stream included, and only the text tells which
// (ErrMaxMsgsPerSubject in nats-server's store.go). Taking a full disk for a
// message that is already there would lose a result, so the text is compared.
func subjectFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed &&
		api.Description == "maximum messages per subject exceeded"
}

// apiReply is what all of JetStream's JSON replies share.
type apiReply struct {
	Error *jetstream.APIError `json:"error,omitempty"`
}

// api sends one request to JetStream's API and reads its JSON reply into out.
func (c *Conn) api(ctx context.Context, subject string, req, out any) error {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	var body []byte
	if req != nil {
		b, err := json.Marshal(req)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = b
	}
	reply, err := c.NC.RequestWithContext(ctx, subject, body)
	if err != nil {
		return requestFailed(err, false)
	}
	return decodeReply(reply.Data, out)
}

func decodeReply(data []byte, out any) error {
	var head apiReply
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("decode reply: %w", err)
	}
	if head.Error != nil {
		return replyError(head.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decode reply: %w", err)
	}
	return nil
}
