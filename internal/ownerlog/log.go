package ownerlog

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Log is what the rules of this package need of the streams. *natsx.Conn is
// one; the model of the protocol has another, in memory, whose every operation
// can be delayed, lost or repeated. Both pass the suite in ownerlog/logtest.
type Log interface {
	Writer
	Reader
	Catalog
	Sender
}

// Writer stores. Its errors are natsx's: ErrConflict means that nothing was
// stored, ErrUncertain that it may have been.
type Writer interface {
	// CAS writes a subject's next message, if the newest one is still expect (0:
	// if there is none).
	CAS(ctx context.Context, subject string, data []byte, h nats.Header, expect protocol.Seq) (protocol.Seq, error)
	// Create writes the first and only message of a subject.
	Create(ctx context.Context, subject string, data []byte, h nats.Header) (protocol.Seq, error)
}

// Reader reads single messages; none is natsx.ErrNotFound.
type Reader interface {
	// LeaderLast is a subject's newest message. A leader that was cut off and leads
	// again may be behind for a second or two: see ErrBehind.
	LeaderLast(ctx context.Context, stream, subject string) (natsx.Message, error)
	// LeaderNext is a subject's first message at from or later, from the leader.
	LeaderNext(ctx context.Context, stream, subject string, from protocol.Seq) (natsx.Message, error)
	// DirectNext is LeaderNext from any replica: it may be behind at any time.
	DirectNext(ctx context.Context, stream, subject string, from protocol.Seq) (natsx.Message, error)
}

// Catalog tells one stream from another of the same name.
type Catalog interface {
	StreamCreated(ctx context.Context, stream string) (time.Time, error)
	StreamLast(ctx context.Context, stream string) (protocol.Seq, error)
}

// Sender is core NATS: at most once, without an answer.
type Sender interface {
	Send(subject string, data []byte) error
	SendMsg(m *nats.Msg) error
}

var _ Log = (*natsx.Conn)(nil)
