package natsx

import (
	"context"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
)

// LeaderLast reads the newest message of a subject from the stream's leader: see
// "Which read" for what that is worth. No message is ErrNotFound.
func (c *Conn) LeaderLast(ctx context.Context, stream, subject string) (Message, error) {
	return c.leaderGet(ctx, stream, subject, map[string]any{"last_by_subj": subject})
}

// LeaderNext reads the first message of a subject at sequence from or later,
// from the stream's leader. No message is ErrNotFound.
func (c *Conn) LeaderNext(ctx context.Context, stream, subject string, from protocol.Seq) (Message, error) {
	return c.leaderGet(ctx, stream, subject, map[string]any{"seq": max(from, 1), "next_by_subj": subject})
}

// leaderGet asks MSG.GET, which answers in JSON: subject, sequence and time
// stand outside the headers, where no publisher can write.
func (c *Conn) leaderGet(ctx context.Context, stream, subject string, req map[string]any) (Message, error) {
	if err := checkRead(stream, subject); err != nil {
		return Message{}, err
	}
	var reply struct {
		Message struct {
			Subject string       `json:"subject"`
			Seq     protocol.Seq `json:"seq"`
			Time    time.Time    `json:"time"`
			Header  []byte       `json:"hdrs"`
			Data    []byte       `json:"data"`
		} `json:"message"`
	}
	if err := c.api(ctx, "$JS.API.STREAM.MSG.GET."+stream, req, &reply); err != nil {
		return Message{}, fmt.Errorf("read %s of %s: %w", subject, stream, err)
	}
	m := reply.Message
	if m.Subject != subject {
		return Message{}, fmt.Errorf("read %s of %s: the server answered with %.120q", subject, stream, m.Subject)
	}
	out := Message{Subject: m.Subject, Seq: m.Seq, Time: m.Time, Data: m.Data, Header: nats.Header{}}
	if len(m.Header) > 0 {
		// A publisher's headers may be garbage; the message is there all the same.
		if h, err := nats.DecodeHeadersMsg(m.Header); err == nil {
			out.Header = publisherHeaders(h)
		}
	}
	return out, nil
}

func checkRead(stream, subject string) error {
	if err := checkStream(stream); err != nil {
		return err
	}
	return checkSubject(subject)
}
