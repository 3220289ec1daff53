package objectstore

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// listMax bounds one listing; an environment keeps a handful of manifests.
const listMax = 100_000

// Entry is one object of a listing.
type Entry struct {
	Key      string    // without the store's prefix
	Size     int64     // bytes
	Modified time.Time // by the store's clock
}

// List returns the objects under prefix in ascending order of their keys,
// beginning after startAfter (a whole key; empty: from the start).
func (s *Store) List(ctx context.Context, prefix, startAfter string) ([]Entry, error) {
	if err := checkPrefix(prefix); err != nil {
		return nil, &Error{Op: "list", Key: prefix, Kind: err}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*callBase)
	defer cancel() // also ends minio-go's paging when we leave early

	owner := false
	opts := minio.ListObjectsOptions{Prefix: s.full(prefix), Recursive: true, FetchOwner: &owner}
	if startAfter != "" {
		opts.StartAfter = s.full(startAfter)
	}
	var entries []Entry
	for o := range s.client.ListObjectsIter(ctx, s.cfg.Bucket, opts) {
		if o.Err != nil {
			return nil, classify(ctx, "list", prefix, false, o.Err)
		}
		if len(entries) == listMax {
			return nil, &Error{Op: "list", Key: prefix, Kind: ErrTooLarge}
		}
		entries = append(entries, s.entry(o))
	}
	// The iterator ends without an error when the context does: a short list
	// must not pass for a whole one.
	if err := ctx.Err(); err != nil {
		return nil, classify(ctx, "list", prefix, false, err)
	}
	return entries, nil
}

func (s *Store) entry(o minio.ObjectInfo) Entry {
	key := o.Key
	if s.cfg.Prefix != "" {
		key = strings.TrimPrefix(key, s.cfg.Prefix+"/")
	}
	return Entry{Key: key, Size: o.Size, Modified: o.LastModified}
}

// Delete removes an object. A missing one is success.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return &Error{Op: "delete", Key: key, Kind: err}
	}
	ctx, cancel := context.WithTimeout(ctx, callBase)
	defer cancel()
	err := s.client.RemoveObject(ctx, s.cfg.Bucket, s.full(key), minio.RemoveObjectOptions{})
	if err != nil && kindOf(err) == ErrNotFound {
		return nil
	}
	return classify(ctx, "delete", key, true, err)
}

// asDownload makes the store answer a signed link as an attachment of no
// renderable type.
func asDownload() url.Values {
	return url.Values{
		"response-content-disposition": {"attachment"},
		"response-content-type":        {binaryType},
	}
}
