package capture

import (
	"context"
	_ "embed"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// Session is a live environment, as far as capture and restore need it.
type Session interface {
	// Cookies are all cookies of the environment (Storage.getCookies).
	Cookies(ctx context.Context) ([]checkpoints.Cookie, error)
	// SetCookies adds cookies. When the browser refuses one, it may refuse all.
	SetCookies(ctx context.Context, cookies []checkpoints.Cookie) error
	// MainFrame is the active tab's main frame. ok is false when there is no tab.
	MainFrame(ctx context.Context) (frame Frame, ok bool, err error)
	// WithOrigin runs fn in a page at the origin that no site's server and no
	// site's script has part in: a hidden target of the same browser context,
	// whose every request is answered with an empty document. The page is closed
	// when fn returns.
	WithOrigin(ctx context.Context, origin string, fn func(ctx context.Context, eval Eval) error) error
}

// Frame is a frame at one moment.
type Frame struct {
	URL        string
	Title      string
	Origin     string                 // empty when opaque
	StorageKey checkpoints.StorageKey // Storage.getStorageKey; empty when there is none
	Eval       Eval
}

// Eval calls a function in the frame's isolated world: function is the source
// of a JavaScript function of one string that returns a string (or a promise of
// one). The argument is passed as an argument, never put into source. It is bound
// to the document that was there when the Frame was made, and fails when that is
// gone.
type Eval func(ctx context.Context, function, arg string) (string, error)

// Time limits of single calls.
const (
	evalTime   = 2 * time.Second
	cookieTime = 5 * time.Second
	originTime = 10 * time.Second // measured: 0.2 s, of which most is a new renderer
)

//go:embed js/storage_dump.js
var storageDumpJS string

//go:embed js/storage_load.js
var storageLoadJS string
