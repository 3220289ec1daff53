package checkpoints

import (
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// What callers tell apart, by errors.Is. Errors never hold origins, part ids or
// key material: sizes, counts, sequence numbers and stages only.
var (
	// ErrUnavailable: the store cannot be reached or is failing. Retryable; the
	// environment must wait, never start empty.
	ErrUnavailable = objectstore.ErrUnavailable
	// ErrDenied: the store refuses our credentials. Waiting does not help.
	ErrDenied = objectstore.ErrDenied
	// ErrTooLarge: the state is over a limit; nothing was written.
	ErrTooLarge = objectstore.ErrTooLarge
	// ErrFenced: another holder has the environment. The browser must stop and
	// publish nothing. Confirm returns it (wrapped) when its compare-and-set lost.
	ErrFenced = errors.New("fenced: another holder has the environment")
	// ErrCorrupt: a manifest, or every kept manifest, fails verification.
	ErrCorrupt = errors.New("checkpoint fails verification")
	// ErrSchemaTooNew: written by a newer version that this one cannot read. It
	// never makes a reader fall back: the state is good, the reader is old.
	ErrSchemaTooNew = errors.New("checkpoint was written by a newer version")
	// ErrUnknownKey: the keyring lacks the manifest's key. Never falls back either.
	ErrUnknownKey = errors.New("checkpoint key is not in the keyring")
	// ErrDeleted: the environment's state was deleted on purpose.
	ErrDeleted = errors.New("environment was deleted")
)

// Stage is where a manifest failed verification: a metric label and the reason
// in a fidelity report.
type Stage string

// The stages, in the order in which a reader passes them.
const (
	StageHeader Stage = "header" // clear header is not ours or lies about lengths
	StageName   Stage = "name"   // header names another environment or slot: moved
	StageKey    Stage = "key"    // wrapped key does not open
	StageBody   Stage = "body"   // encrypted body does not open or parse
	StagePart   Stage = "part"   // a part does not open, match or parse
	StageBurned Stage = "burned" // written by a holder of an earlier epoch
	StageGone   Stage = "gone"   // collected while it was read
)

// CorruptError is ErrCorrupt with the stage.
type CorruptError struct {
	Stage Stage
	Cause string
	epoch uint64 // authenticated by the wrapped key; 0 when that did not open
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, e.Stage, e.Cause)
}

// Unwrap makes errors.Is(err, ErrCorrupt) hold.
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

func corrupt(stage Stage, format string, args ...any) *CorruptError {
	return &CorruptError{Stage: stage, Cause: fmt.Sprintf(format, args...)}
}
