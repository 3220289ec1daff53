package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// The classes of failure. Callers test them with errors.Is; nobody reads texts.
var (
	// ErrNotFound: the key holds no object. A missing bucket is not this: it is
	// ErrUnavailable, because "no bucket" must never look like "no checkpoint".
	ErrNotFound = errors.New("object not found")
	// ErrExists: PutNew found an object under the key, perhaps the caller's own.
	ErrExists = errors.New("object exists already")
	// ErrUnavailable: the store could not be reached, was too slow, or failed.
	ErrUnavailable = errors.New("object store unavailable")
	// ErrDenied: the store refused our credentials or our rights.
	ErrDenied = errors.New("object store denied access")
	// ErrAmbiguous: a write's answer was lost, so it may have happened. Always
	// comes together with ErrUnavailable.
	ErrAmbiguous = errors.New("outcome of the write is unknown")
	// ErrUnsupported: the store lacks what browserfleet needs.
	ErrUnsupported = errors.New("object store is not supported")
	// ErrTooLarge: the object is over MaxObject.
	ErrTooLarge = errors.New("object too large")
	// ErrInvalidKey: the key is not one that every supported store can hold.
	ErrInvalidKey = errors.New("invalid object key")
)

// Error is a failed call: what was being done, to which key, and its class.
type Error struct {
	Op    string // "get", "put", "list", ...
	Key   string // without the store's prefix
	Kind  error  // one of the classes above
	Lost  bool   // a write's answer was lost: matches ErrAmbiguous too
	Cause error  // what minio-go or the transport said; may be nil
}

// Error never holds credentials: minio-go's errors name host, bucket and key.
func (e *Error) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%s %s: %v", e.Op, e.Key, e.Kind)
	}
	return fmt.Sprintf("%s %s: %v: %v", e.Op, e.Key, e.Kind, e.Cause)
}

// Unwrap makes errors.Is find the class, ErrAmbiguous, and the cause.
func (e *Error) Unwrap() []error {
	errs := []error{e.Kind}
	if e.Lost {
		errs = append(errs, ErrAmbiguous)
	}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	return errs
}

// classify turns an error of minio-go into ours. write says that the call may
// have changed the store, so that a lost answer is ambiguous.
func classify(ctx context.Context, op, key string, write bool, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return &Error{Op: op, Key: key, Kind: ErrUnavailable, Lost: write, Cause: cause}
	}
	kind := kindOf(err)
	return &Error{Op: op, Key: key, Kind: kind, Lost: write && kind == ErrUnavailable, Cause: err}
}

func kindOf(err error) error {
	var resp minio.ErrorResponse
	if !errors.As(err, &resp) {
		return ErrUnavailable // transport: refused, reset, timed out, cut short
	}
	switch {
	case resp.StatusCode == http.StatusPreconditionFailed:
		return ErrExists
	case resp.StatusCode == http.StatusNotFound && resp.Code == minio.NoSuchKey:
		return ErrNotFound
	case resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusUnauthorized:
		return ErrDenied
	case resp.StatusCode == http.StatusNotImplemented:
		return ErrUnsupported
	}
	return ErrUnavailable
}

// isConflict: AWS and others answer 409 when two conditional writes of one key
// overlap; neither is known to have won yet, and asking again settles it.
func isConflict(err error) bool {
	var resp minio.ErrorResponse
	return errors.As(err, &resp) && resp.StatusCode == http.StatusConflict
}
