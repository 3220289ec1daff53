package checkpoints

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// object is a manifest object, opened: the manifest and the parts' stored bytes.
type object struct {
	manifest Manifest
	parts    []storedPart // in the body's order
}

// sealObject encodes a manifest object. It fills in what only it knows: the
// parts' places, the totals, the key, the lengths.
func sealObject(h Header, b Body, parts []storedPart, keys *Keyring) ([]byte, Manifest, error) {
	inline := layOut(&b, parts)
	record := bodyRecord{Body: b, Parts: make([]partRecord, len(parts))}
	for i := range parts {
		record.Parts[i] = parts[i].partRecord
	}
	raw, err := record.encode()
	if err != nil {
		return nil, Manifest{}, fmt.Errorf("manifest body: %w", err)
	}
	packed := compress(raw)
	h.Format, h.Schema, h.Alg, h.Comp = formatName, Schema, algAES256GCM, compZstd
	h.BodyLen, h.InlineLen = len(packed)+boxOverhead, inline
	if len(raw) > maxBodyRaw || h.BodyLen > maxBody {
		return nil, Manifest{}, fmt.Errorf("manifest body of %d bytes: %w", h.BodyLen, ErrTooLarge)
	}
	key := newKey()
	h.KeyID, h.WrappedKey = keys.wrap(key, keyAAD(h.Env, h.Seq, h.Epoch))
	line, err := h.encode()
	if err != nil {
		return nil, Manifest{}, err
	}
	var out bytes.Buffer
	out.Grow(len(line) + 1 + h.BodyLen + inline)
	out.Write(line)
	out.WriteByte('\n')
	out.Write(sealBox(key, packed, line))
	for i := range parts {
		out.Write(parts[i].stored)
	}
	if out.Len() > objectstore.MaxObject {
		return nil, Manifest{}, fmt.Errorf("checkpoint of %d bytes: %w", out.Len(), ErrTooLarge)
	}
	return out.Bytes(), Manifest{Header: h, Body: b}, nil
}

// layOut gives each part its place behind the body and sums them up.
func layOut(b *Body, parts []storedPart) (inline int) {
	b.Parts, b.Totals = make([]Part, len(parts)), Totals{}
	b.MinReaderSchema = 1
	for i := range parts {
		p := &parts[i]
		p.Where = Where{Inline: &Inline{Off: inline, Len: len(p.stored)}}
		inline += len(p.stored)
		b.Parts[i] = p.Part
		b.Totals.Raw += p.RawSize
		b.Totals.Stored += p.StoredSize
	}
	return inline
}

// openObject verifies and opens a manifest object that was read from the slot
// (env, seq). Parts are checked against their stored digests; openParts opens
// them.
func openObject(env EnvID, seq uint64, data []byte, keys *Keyring) (*object, error) {
	line, h, rest, err := splitHeader(data)
	if err != nil {
		return nil, err
	}
	if h.Env != env || h.Seq != seq {
		return nil, corrupt(StageName, "object was written for another slot")
	}
	key, err := keys.unwrap(h.KeyID, h.WrappedKey, keyAAD(h.Env, h.Seq, h.Epoch))
	if err != nil {
		return nil, err
	}
	// From here on the epoch is authentic.
	record, err := openBody(key, line, rest[:h.BodyLen])
	if err != nil {
		return nil, withEpoch(err, h.Epoch)
	}
	o := &object{manifest: Manifest{Header: h, Body: record.Body}}
	if o.parts, err = cutParts(record.Parts, rest[h.BodyLen:]); err != nil {
		return nil, withEpoch(err, h.Epoch)
	}
	o.manifest.Parts = make([]Part, len(o.parts))
	for i, p := range o.parts {
		o.manifest.Parts[i] = p.Part
	}
	return o, nil
}

func openBody(key [keySize]byte, line, box []byte) (record bodyRecord, err error) {
	packed, err := openBox(key, box, line)
	if err != nil {
		return record, corrupt(StageBody, "does not open")
	}
	raw, err := decompressBody(packed)
	if err != nil {
		return record, corrupt(StageBody, "%v", err)
	}
	// The reader's minimum first: a newer body may not even parse as ours.
	var min struct {
		Schema int `json:"min_reader_schema"`
	}
	if err := json.Unmarshal(raw, &min); err == nil && min.Schema > Schema {
		return record, fmt.Errorf("%w: needs a reader of schema %d", ErrSchemaTooNew, min.Schema)
	}
	if err := json.Unmarshal(raw, &record); err != nil {
		return record, corrupt(StageBody, "does not parse")
	}
	return record, nil
}

// cutParts takes the parts' bytes out of what follows the body.
func cutParts(records []partRecord, inline []byte) ([]storedPart, error) {
	parts := make([]storedPart, len(records))
	for i, r := range records {
		if r.Where.Blob != "" {
			return nil, fmt.Errorf("%w: a part is an object of its own", ErrSchemaTooNew)
		}
		at := r.Where.Inline
		if at == nil || at.Off < 0 || at.Len < 0 || at.Off > len(inline) || at.Len > len(inline)-at.Off {
			return nil, corrupt(StagePart, "part %d lies outside the object", i)
		}
		stored := inline[at.Off : at.Off+at.Len : at.Off+at.Len]
		if len(stored) != r.StoredSize || Digest(sha256.Sum256(stored)) != r.StoredSHA256 {
			return nil, corrupt(StagePart, "part %d differs from its digest", i)
		}
		parts[i] = storedPart{partRecord: r, stored: stored}
	}
	return parts, nil
}

// withEpoch notes the epoch that the manifest's key vouches for.
func withEpoch(err error, epoch uint64) error {
	var damaged *CorruptError
	if errors.As(err, &damaged) {
		damaged.epoch = epoch
	}
	return err
}
