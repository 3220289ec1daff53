package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
)

// getTries: a body cut off on its way is asked for again as a whole.
const getTries = 3

// errSlow is the cause of a Get whose transfer ran out of time.
var errSlow = fmt.Errorf("transfer slower than %d bytes a second: %w", bytesPerSec, context.DeadlineExceeded)

// Get returns the whole object. The length is verified against the header;
// anything beyond that is the caller's to verify.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, &Error{Op: "get", Key: key, Kind: err}
	}
	var err error
	for try := range getTries {
		var body []byte
		if body, err = s.getOnce(ctx, key); err == nil {
			return body, nil
		}
		if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil || isStoreAnswer(err) {
			return nil, err
		}
		if !pause(ctx, 20*time.Millisecond<<try) {
			return nil, err
		}
	}
	return nil, err
}

// isStoreAnswer: the store answered with an error (a 5xx that minio-go has
// already asked again for), so the fault is not on the way.
func isStoreAnswer(err error) bool {
	var resp minio.ErrorResponse
	return errors.As(err, &resp)
}

func (s *Store) getOnce(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The size is known only with the header, so the deadline moves once.
	start := time.Now()
	deadline := time.AfterFunc(callBase, func() { cancel(errSlow) })
	defer deadline.Stop()

	rc, info, _, err := s.core.GetObject(ctx, s.cfg.Bucket, s.full(key), minio.GetObjectOptions{})
	if err != nil {
		return nil, classify(ctx, "get", key, false, err)
	}
	defer func() { _ = rc.Close() }()
	if info.Size > MaxObject {
		return nil, &Error{Op: "get", Key: key, Kind: ErrTooLarge}
	}
	if deadline.Stop() {
		deadline.Reset(budget(info.Size) - time.Since(start))
	}
	body, err := readExactly(rc, info.Size)
	if err != nil {
		return nil, classify(ctx, "get", key, false, err)
	}
	return body, nil
}

// readExactly reads size bytes and then the end. A size below zero (no length
// in the answer) is refused: a cut could not be seen.
func readExactly(r io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return nil, errors.New("answer without a length")
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("body cut short: %w", err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 {
		return nil, errors.New("body longer than its length")
	} else if err != nil && err != io.EOF {
		return nil, fmt.Errorf("end of body: %w", err)
	}
	return body, nil
}

// PresignGet makes a link that lets its bearer read one object for ttl. The
// answer is served as a download, so that a stored page never runs in the
// store's origin.
func (s *Store) PresignGet(ctx context.Context, key string, ttl time.Duration) (string, error) {
	if err := checkKey(key); err != nil {
		return "", &Error{Op: "presign", Key: key, Kind: err}
	}
	u, err := s.client.PresignedGetObject(ctx, s.cfg.Bucket, s.full(key), ttl, asDownload())
	if err != nil {
		return "", classify(ctx, "presign", key, false, err)
	}
	return u.String(), nil
}
