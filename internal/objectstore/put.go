package objectstore

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"github.com/minio/minio-go/v7"
)

// conflictTries: how often a 409 is asked again before the outcome is called
// unknown. One repetition settles it on a store with a free lane.
const conflictTries = 5

const binaryType = "application/octet-stream"

// PutNew stores body under key if the key is free. See the package comment for
// what each error says about the key afterwards.
func (s *Store) PutNew(ctx context.Context, key string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, budget(int64(len(body))))
	defer cancel()
	opts := putOptions(binaryType)
	opts.SetMatchETagExcept("*") // If-None-Match: *

	for try := range conflictTries {
		err := s.put(ctx, "put new", key, body, opts)
		if err == nil || !isConflict(err) {
			return err
		}
		if !pause(ctx, 20*time.Millisecond<<try) {
			return classify(ctx, "put new", key, true, err)
		}
	}
	return &Error{Op: "put new", Key: key, Kind: ErrUnavailable, Lost: true}
}

// Put stores body under key, replacing what is there. For artifacts; manifests
// are written by PutNew alone.
func (s *Store) Put(ctx context.Context, key string, body []byte, contentType string) error {
	ctx, cancel := context.WithTimeout(ctx, budget(int64(len(body))))
	defer cancel()
	return s.put(ctx, "put", key, body, putOptions(contentType))
}

func (s *Store) put(ctx context.Context, op, key string, body []byte, opts minio.PutObjectOptions) error {
	if err := checkKey(key); err != nil {
		return &Error{Op: op, Key: key, Kind: err}
	}
	if len(body) > MaxObject {
		return &Error{Op: op, Key: key, Kind: ErrTooLarge}
	}
	// minio-go frames an empty body over http wrongly: the server takes the
	// framing for the next request's head (measured on versitygw 1.8). Unsigned,
	// it is not framed; the signed Content-MD5 still covers it.
	opts.DisableContentSha256 = len(body) == 0
	_, err := s.client.PutObject(ctx, s.cfg.Bucket, s.full(key), bytes.NewReader(body), int64(len(body)), opts)
	return classify(ctx, op, key, true, err)
}

// putOptions: one part (multipart drops the condition), and a Content-MD5 that
// every supported server verifies on arrival.
func putOptions(contentType string) minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: contentType, DisableMultipart: true, SendContentMd5: true}
}

// pause waits about d (half to all of it, so that rivals spread out) and says
// false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
