package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
)

// multiLastMax is the most subjects that one multi_last request may match
// (nats-server: maxAllowedResponses).
const multiLastMax = 1024

// multiLastBytes is how much of an answer is asked for at a time. Left to
// itself the server sends up to 64 MB at once, which is also where it takes a
// client that reads slowly for dead and cuts it off in the middle.
const multiLastBytes = 8 << 20

// DirectNext reads the first message of a subject at sequence from or later
// from any replica. It is cheap and may be stale: no message (ErrNotFound)
// means "not here yet". What must be true is asked of the leader.
func (c *Conn) DirectNext(ctx context.Context, stream, subject string, from protocol.Seq) (Message, error) {
	if err := checkRead(stream, subject); err != nil {
		return Message{}, err
	}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	body, err := json.Marshal(map[string]any{"seq": max(from, 1), "next_by_subj": subject})
	if err != nil {
		return Message{}, fmt.Errorf("encode request: %w", err)
	}
	reply, err := c.NC.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+stream, body)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		// Also what the client makes of a stored message with an empty body and
		// a forged "Status: 503".
		return c.LeaderNext(ctx, stream, subject, from)
	case err != nil:
		return Message{}, fmt.Errorf("read %s of %s: %w", subject, stream, requestFailed(err, false))
	}
	m, err := directReply(reply, stream)
	if errors.Is(err, errUnreadable) || (err == nil && m.Subject != subject) {
		return c.LeaderNext(ctx, stream, subject, from)
	}
	if err != nil {
		return Message{}, fmt.Errorf("read %s of %s: %w", subject, stream, err)
	}
	return m, nil
}

// directReply reads one reply of Direct Get.
func directReply(m *nats.Msg, stream string) (Message, error) {
	if code, ok := status(m); ok {
		if code == http.StatusNotFound {
			return Message{}, ErrNotFound
		}
		return Message{}, fmt.Errorf("direct get: status %d %.80q", code, m.Header.Get(headerDescription))
	}
	if last(m.Header, headerStream) != stream {
		return Message{}, errUnreadable
	}
	return stored(m)
}

// status tells a status of the server from a stored message whose publisher
// wrote a Status header. The server's has no Nats-Stream header, no body, and
// nothing hidden behind an empty line (see plainHeaders).
func status(m *nats.Msg) (code int, ok bool) {
	if len(m.Data) > 0 || last(m.Header, headerStream) != "" || len(m.Header[headerStatus]) != 1 {
		return 0, false
	}
	size := len("NATS/1.0\r\n") + len("\r\n")
	for key, values := range m.Header {
		switch key {
		case headerStatus, headerDescription: // " 404 Message Not Found"
			size += len(" ") + len(values[0])
		case headerPending, headerLastSequence, "Nats-UpTo-Sequence":
			size += len(key) + len(": ") + len(values[0]) + len("\r\n")
		default:
			return 0, false
		}
		if len(values) != 1 {
			return 0, false
		}
	}
	if size != m.Size()-len(m.Subject)-len(m.Reply) {
		return 0, false
	}
	code, err := strconv.Atoi(m.Header[headerStatus][0])
	return code, err == nil
}

// DirectLastMulti reads the newest message of each subject from any replica, in
// batches. Subjects without a message are not in the map. It may be stale.
func (c *Conn) DirectLastMulti(ctx context.Context, stream string, subjects []string) (map[string]Message, error) {
	return c.lastMulti(ctx, stream, subjects, 0)
}

// LastMulti is DirectLastMulti of replicas that have everything up to least, which
// StreamLast told: so the answer is not older than that moment. A replica that is
// behind is asked again for a few milliseconds; then the leader is, one subject
// after another.
func (c *Conn) LastMulti(ctx context.Context, stream string, subjects []string, least protocol.Seq) (map[string]Message, error) {
	return c.lastMulti(ctx, stream, subjects, least)
}

func (c *Conn) lastMulti(ctx context.Context, stream string, subjects []string, least protocol.Seq) (map[string]Message, error) {
	for _, s := range subjects {
		if err := checkRead(stream, s); err != nil {
			return nil, err
		}
	}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	out := make(map[string]Message, len(subjects))
	for batch := range slices.Chunk(subjects, multiLastMax) {
		if err := c.lastBatch(ctx, stream, batch, least, out); err != nil {
			return nil, fmt.Errorf("read %d subjects of %s: %w", len(batch), stream, err)
		}
		if least == 0 {
			continue
		}
		// The rest of a long answer may have come of another replica.
		if err := c.lastMissing(ctx, stream, batch, out); err != nil {
			return nil, fmt.Errorf("read %d subjects of %s: %w", len(batch), stream, err)
		}
	}
	return out, nil
}

// firstSilence is how long nothing comes of an answer until it is asked for once
// more; each time twice as long, for the servers may only be slow.
const firstSilence = time.Second

var errSilent = errors.New("the rest of an answer does not come")

// lastBatch reads one batch. The server ends an answer early when it grows past
// multiLastBytes and says how many it held back; the rest is asked for again
// from the next sequence on, as of the same moment. An answer whose end was lost
// with a connection, which has come back since, is asked for again as well.
func (c *Conn) lastBatch(ctx context.Context, stream string, batch []string, least protocol.Seq, out map[string]Message) error {
	req := multiLast{Subjects: batch, MaxBytes: multiLastBytes}
	silence := firstSilence
	for late := 0; ; {
		end, err := c.lastOnce(ctx, stream, req, out, silence)
		if errors.Is(err, errSilent) {
			silence *= 2
			continue
		}
		if err == nil && end.upTo < uint64(least) {
			if late++; late < lateTries && pause(ctx, latePause) == nil {
				continue
			}
			return c.lastEach(ctx, stream, batch, out)
		}
		if err != nil || end.pending == 0 || end.lastSeq < req.Seq {
			return err
		}
		req.Seq, req.UpTo = end.lastSeq+1, end.upTo
	}
}

// A replica that is behind was seen to be so by up to 3.4 ms.
const (
	lateTries = 3
	latePause = 5 * time.Millisecond
)

// lastEach reads a batch from the leader.
func (c *Conn) lastEach(ctx context.Context, stream string, batch []string, out map[string]Message) error {
	for _, s := range batch {
		one, err := c.LeaderLast(ctx, stream, s)
		switch {
		case err == nil:
			out[s] = one
		case !errors.Is(err, ErrNotFound):
			return err
		}
	}
	return nil
}

// lastMissing is lastEach for what did not come.
func (c *Conn) lastMissing(ctx context.Context, stream string, batch []string, out map[string]Message) error {
	missing := slices.DeleteFunc(slices.Clone(batch), func(s string) bool { _, have := out[s]; return have })
	return c.lastEach(ctx, stream, missing, out)
}

type multiLast struct {
	Subjects []string `json:"multi_last"`
	MaxBytes int      `json:"max_bytes"`
	Seq      uint64   `json:"seq,omitempty"`
	UpTo     uint64   `json:"up_to_seq,omitempty"`
}

// multiEnd is what the end of a batch says.
type multiEnd struct{ pending, lastSeq, upTo uint64 }

func (c *Conn) lastOnce(ctx context.Context, stream string, req multiLast, out map[string]Message, silence time.Duration) (multiEnd, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return multiEnd{}, fmt.Errorf("encode request: %w", err)
	}
	// A channel, because NextMsg turns a stored message with an empty body and a
	// forged "Status: 503" into an error. It has room for every answer.
	replies := make(chan *nats.Msg, multiLastMax+1)
	sub, err := c.NC.ChanSubscribe(c.NC.NewInbox(), replies)
	if err != nil {
		return multiEnd{}, requestFailed(err, false)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.NC.PublishRequest("$JS.API.DIRECT.GET."+stream, sub.Subject, body); err != nil {
		return multiEnd{}, requestFailed(err, false)
	}
	var prev protocol.Seq // of the message before, within this answer
	whole := true
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		var m *nats.Msg
		select {
		case m = <-replies:
			quiet.Reset(silence)
		case <-quiet.C:
			return multiEnd{}, errSilent
		case <-ctx.Done():
			return multiEnd{}, requestFailed(context.Cause(ctx), false)
		}
		follows := last(m.Header, headerLastSequence) == strconv.FormatUint(uint64(prev), 10)
		if code, ok := status(m); ok {
			return c.lastEnd(ctx, stream, req, code, m, whole && follows, out)
		}
		one, err := directReply(m, stream)
		if err != nil || !follows || !slices.Contains(req.Subjects, one.Subject) {
			whole = false
			continue
		}
		out[one.Subject], prev = one, one.Seq
	}
}

// lastEnd reads the end of an answer. If the answer is not whole, the subjects
// that are missing are read from the leader: a message that cannot be read may
// not be hidden by its publisher, and a reconnect in the middle, after which the
// end still comes, may not pass for empty subjects.
func (c *Conn) lastEnd(ctx context.Context, stream string, req multiLast, code int, m *nats.Msg, whole bool, out map[string]Message) (multiEnd, error) {
	switch code {
	case http.StatusNoContent: // the end of what was found
	case http.StatusNotFound:
		return multiEnd{}, nil
	case http.StatusServiceUnavailable:
		return multiEnd{}, requestFailed(nats.ErrNoResponders, false)
	default:
		return multiEnd{}, fmt.Errorf("multi_last: status %d %.80q", code, m.Header.Get(headerDescription))
	}
	if !whole {
		if err := c.lastMissing(ctx, stream, req.Subjects, out); err != nil {
			return multiEnd{}, err
		}
	}
	num := func(key string) uint64 { n, _ := strconv.ParseUint(last(m.Header, key), 10, 64); return n }
	return multiEnd{pending: num(headerPending), lastSeq: num(headerLastSequence), upTo: num("Nats-UpTo-Sequence")}, nil
}
