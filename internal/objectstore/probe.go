package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// ProbePrefix is where Probe writes; its objects live for a moment.
const ProbePrefix = "v1/_probe/"

// Probe checks that the store can be reached, that we may write, read, list
// and delete, and that it honours If-None-Match. A service calls it before it
// takes any work. ErrUnsupported: the store would let two workers own one
// environment, so the service must not start.
func (s *Store) Probe(ctx context.Context) error {
	return probe(ctx, s)
}

// prober is what probe exercises; Memory is the other implementation.
type prober interface {
	PutNew(ctx context.Context, key string, body []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	List(ctx context.Context, prefix, startAfter string) ([]Entry, error)
	Delete(ctx context.Context, key string) error
}

func probe(ctx context.Context, p prober) error {
	key := ProbePrefix + strings.ToLower(rand.Text())
	first, second := []byte("first"), []byte("second")
	// ErrExists on a fresh key: our own write whose answer was lost.
	if err := p.PutNew(ctx, key, first); err != nil && !errors.Is(err, ErrExists) {
		return fmt.Errorf("probe the object store: %w", err)
	}
	err := p.PutNew(ctx, key, second)
	verdict := judge(ctx, p, key, first, err)
	if err := p.Delete(ctx, key); err != nil && verdict == nil {
		return fmt.Errorf("probe the object store: %w", err)
	}
	return verdict
}

// judge looks at the second write's answer and at what the key holds after it.
func judge(ctx context.Context, p prober, key string, want []byte, second error) error {
	if second == nil {
		return fmt.Errorf("%w: it ignores If-None-Match (a second conditional write succeeded)", ErrUnsupported)
	}
	if !errors.Is(second, ErrExists) {
		return fmt.Errorf("probe the object store: %w", second)
	}
	got, err := p.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("probe the object store: %w", err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: a refused conditional write changed the object", ErrUnsupported)
	}
	list, err := p.List(ctx, ProbePrefix, "")
	if err != nil {
		return fmt.Errorf("probe the object store: %w", err)
	}
	for _, e := range list {
		if e.Key == key {
			return nil
		}
	}
	return fmt.Errorf("%w: a new object is missing from the listing", ErrUnsupported)
}
