package natsx

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// streamInfo is the part of STREAM.INFO that is used here.
type streamInfo struct {
	Created time.Time `json:"created"`
	State   struct {
		LastSeq  protocol.Seq      `json:"last_seq"`
		Subjects map[string]uint64 `json:"subjects"`
	} `json:"state"`
	Total  int `json:"total"`
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

func (c *Conn) info(ctx context.Context, stream string, req any) (streamInfo, error) {
	if err := checkStream(stream); err != nil {
		return streamInfo{}, err
	}
	var info streamInfo
	if err := c.api(ctx, "$JS.API.STREAM.INFO."+stream, req, &info); err != nil {
		return streamInfo{}, fmt.Errorf("info of %s: %w", stream, err)
	}
	return info, nil
}

// StreamCreated is when the stream was made: cursors belong to that stream only.
func (c *Conn) StreamCreated(ctx context.Context, stream string) (time.Time, error) {
	info, err := c.info(ctx, stream, nil)
	return info.Created, err
}

// StreamLast is the stream's newest sequence, 0 when it never held a message.
func (c *Conn) StreamLast(ctx context.Context, stream string) (protocol.Seq, error) {
	info, err := c.info(ctx, stream, nil)
	return info.State.LastSeq, err
}

// SubjectCounts counts the messages of every subject that the filter matches;
// the filter may have whole-token wildcards. The subjects come as they are
// stored: parse them before anything is done with them.
func (c *Conn) SubjectCounts(ctx context.Context, stream, filter string) (map[string]uint64, error) {
	if err := checkFilter(filter); err != nil {
		return nil, err
	}
	counts := map[string]uint64{}
	for offset := 0; ; {
		info, err := c.info(ctx, stream, map[string]any{"subjects_filter": filter, "offset": offset})
		if err != nil {
			return nil, err
		}
		for s, n := range info.State.Subjects {
			counts[s] = n
		}
		offset += len(info.State.Subjects)
		if len(info.State.Subjects) == 0 || offset >= info.Total {
			return counts, nil
		}
	}
}

// CatchUp returns when the stream's leader has applied everything that was stored
// before: a purge that removes nothing is agreed on by the replicas after all of
// it, and answered when the leader has done it. The subject must be one that
// nobody stores to.
func (c *Conn) CatchUp(ctx context.Context, stream, subject string) error {
	return c.PurgeTo(ctx, stream, subject, 1)
}

// PurgeTo removes a subject's messages up to and including a sequence. The
// subject must be one exact subject: a wildcard in it, also one that was stored
// as a literal token, would empty its neighbours' queues.
func (c *Conn) PurgeTo(ctx context.Context, stream, subject string, upto protocol.Seq) error {
	if err := checkRead(stream, subject); err != nil {
		return err
	}
	// The server reads sequence 0 as "everything".
	if upto == 0 || upto == math.MaxUint64 {
		return fmt.Errorf("purge %s up to %d: not a sequence", subject, upto)
	}
	req := map[string]any{"filter": subject, "seq": upto + 1}
	if err := c.api(ctx, "$JS.API.STREAM.PURGE."+stream, req, nil); err != nil {
		return fmt.Errorf("purge %s up to %d: %w", subject, upto, err)
	}
	return nil
}
