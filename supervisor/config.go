package supervisor

import (
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

// Config says what to start. The zero value of every optional field means its
// default.
type Config struct {
	Chromium chromium.Options

	// ProxyServer, "http://127.0.0.1:PORT", is the only way out of the
	// environment, for loopback addresses too.
	ProxyServer string
	// ProxyAuth is presented to that proxy once, while the context warms.
	ProxyAuth *ProxyAuth
	// PrimeURL is loaded through the proxy for that purpose
	// ("http://browserfleet.invalid/").
	PrimeURL string

	Viewport  Viewport // 1280 x 800 at scale 1
	Locale    string   // such as "de-DE"; empty: the browser's
	Timezone  string   // such as "Europe/Berlin"; empty: the host's
	UserAgent string   // empty: the browser's

	// WorldName and WorldScript: the isolated world and what is installed in it.
	WorldName   string // "browserfleet"
	WorldScript string

	Popups PopupPolicy // PopupsDeny

	Dialogs       DialogPolicy  // PolicyAsk
	DialogTimeout time.Duration // when what nobody answered is dismissed: 300 s

	// Generation goes into dialog ids, so that an answer cannot hit a dialog of
	// the environment's earlier life.
	Generation uint64

	StartTimeout time.Duration // 30 s
	Heartbeat    Heartbeat
}

// ProxyAuth is the environment's credential for its proxy port. It prints as
// [redacted].
type ProxyAuth struct {
	User     string
	Password string
}

func (ProxyAuth) String() string   { return "[redacted]" }
func (ProxyAuth) GoString() string { return "[redacted]" }

// Viewport is in CSS pixels.
type Viewport struct {
	Width, Height int64
	Scale         float64
}

// Heartbeat says how often the browser is asked and when it counts as wedged. By
// the defaults that is at most four seconds after it stopped.
type Heartbeat struct {
	Interval time.Duration // 1 s
	Deadline time.Duration // 1.5 s
	Misses   int           // 2
	// Lag: a deadline that is noticed later than this is the host's fault, not the
	// browser's. 250 ms.
	Lag time.Duration
	// HostSlow, if set, says that the host has no CPU to spare: then silence says
	// nothing about the browser.
	HostSlow func() bool
}

// DialogPolicy says who answers dialogs. Whatever it is, a dialog in the way of
// the agent's own navigation is answered (beforeunload accepted, others
// dismissed), a storm is dismissed, and an orphaned dialog is left alone.
type DialogPolicy int

const (
	// PolicyAsk (must_respond) leaves dialogs to AnswerDialog, up to
	// Config.DialogTimeout. It is the zero value.
	PolicyAsk DialogPolicy = iota
	// PolicyDismiss (auto_dismiss) dismisses every dialog; a beforeunload that is
	// dismissed keeps the page.
	PolicyDismiss
	// PolicyAccept (auto_accept) accepts every dialog; a prompt gets its default
	// text.
	PolicyAccept
)

func (c Config) withDefaults() (Config, error) {
	if c.ProxyServer == "" {
		return c, errors.New("supervisor: no proxy server configured")
	}
	if c.WorldName == "" {
		c.WorldName = "browserfleet"
	}
	if c.PrimeURL == "" {
		c.PrimeURL = "http://browserfleet.invalid/"
	}
	if c.Viewport.Width <= 0 || c.Viewport.Height <= 0 {
		c.Viewport = Viewport{Width: 1280, Height: 800}
	}
	if c.Viewport.Scale <= 0 {
		c.Viewport.Scale = 1
	}
	if c.DialogTimeout <= 0 {
		c.DialogTimeout = 300 * time.Second
	}
	if c.StartTimeout <= 0 {
		c.StartTimeout = 30 * time.Second
	}
	if c.Heartbeat.Interval <= 0 {
		c.Heartbeat.Interval = time.Second
	}
	if c.Heartbeat.Deadline <= 0 {
		c.Heartbeat.Deadline = 1500 * time.Millisecond
	}
	if c.Heartbeat.Lag <= 0 {
		c.Heartbeat.Lag = 250 * time.Millisecond
	}
	if c.Heartbeat.Misses <= 0 {
		c.Heartbeat.Misses = 2
	}
	return c, nil
}
