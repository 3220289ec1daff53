package checkpoints

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// The format's constants.
const (
	formatName = "bfck"
	// Schema is the newest manifest schema that this version reads and writes.
	Schema = 1

	algAES256GCM = "A256GCM"
	compZstd     = "zstd"
)

// Limits. One that is exceeded is an error that names it; nothing is truncated.
const (
	maxHeader   = 4 << 10   // clear line, bytes
	maxBody     = 1 << 20   // encrypted body, bytes
	maxBodyRaw  = 8 << 20   // body as JSON
	maxPartRaw  = 64 << 20  // one part as JSON
	maxStateRaw = 256 << 20 // all parts as JSON
)

// WriterID names one handle of one worker: the worker's id and 64 random bits.
// No other process, and no later handle, ever writes under it.
type WriterID string

// Header is the first line of a manifest object, in clear. It is the additional
// data of the encrypted body, so a changed byte makes the body not open.
type Header struct {
	Format      string    `json:"fmt"`
	Schema      int       `json:"schema"`
	Env         EnvID     `json:"env"`
	Seq         uint64    `json:"seq"`
	Epoch       uint64    `json:"epoch"`
	WriterID    WriterID  `json:"writer_id"`
	CommitNonce string    `json:"commit_nonce"` // 128 bit, hex
	KeyID       KeyID     `json:"kek_id"`
	WrappedKey  []byte    `json:"wrapped_key"`
	Alg         string    `json:"alg"`
	Comp        string    `json:"comp"`
	BodyLen     int       `json:"body_len"`   // bytes of the encrypted body
	InlineLen   int       `json:"inline_len"` // bytes of parts after it
	CreatedAt   time.Time `json:"created_at"` // the writer's clock; for people only
}

// keyAAD binds a wrapped key to its place, so that the epoch of a manifest can
// be believed once its key opened, whatever became of the body.
func keyAAD(env EnvID, seq, epoch uint64) []byte {
	return lengthPrefixed("bfck key 1", string(env),
		strconv.FormatUint(seq, 10), strconv.FormatUint(epoch, 10))
}

// encode is the header's line without the line feed.
func (h Header) encode() ([]byte, error) {
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("manifest header: %w", err)
	}
	if len(line) >= maxHeader {
		return nil, fmt.Errorf("manifest header of %d bytes: %w", len(line), ErrTooLarge)
	}
	return line, nil
}

// splitHeader parts an object into its header's line, the header, and the rest.
// It checks everything that can be checked without a key.
func splitHeader(object []byte) (line []byte, h Header, rest []byte, err error) {
	end := bytes.IndexByte(object[:min(len(object), maxHeader)], '\n')
	if end < 0 {
		return nil, h, nil, corrupt(StageHeader, "no header line")
	}
	line, rest = object[:end], object[end+1:]
	if err := json.Unmarshal(line, &h); err != nil || h.Format != formatName {
		return nil, h, nil, corrupt(StageHeader, "not a manifest")
	}
	if h.Schema > Schema {
		return nil, h, nil, fmt.Errorf("%w: schema %d, this version reads %d", ErrSchemaTooNew, h.Schema, Schema)
	}
	if err := h.check(len(rest)); err != nil {
		return nil, h, nil, err
	}
	return line, h, rest, nil
}

func (h Header) check(rest int) error {
	switch {
	case h.Schema < 1, h.Alg != algAES256GCM, h.Comp != compZstd:
		return corrupt(StageHeader, "unknown schema, algorithm or compression")
	case h.BodyLen < boxOverhead, h.BodyLen > maxBody, h.InlineLen < 0, h.InlineLen > rest, h.BodyLen+h.InlineLen != rest:
		return corrupt(StageHeader, "lengths do not add up to the object's")
	case h.Seq == 0, h.Epoch == 0:
		return corrupt(StageHeader, "no sequence or epoch")
	}
	return nil
}
