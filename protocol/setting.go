package protocol

import "regexp"

// Setting is how an environment shows itself to pages. What is empty is the
// worker's default.
type Setting struct {
	Viewport *Viewport `json:"viewport,omitempty"`
	// Locale is a language tag such as de-DE: what pages see as the language, and
	// how they write numbers and dates.
	Locale string `json:"locale,omitempty"`
	// Timezone is a name of the IANA database, such as Europe/Berlin.
	Timezone string `json:"timezone,omitempty"`
}

// Viewport is the size of the page.
type Viewport struct {
	Width  int64 `json:"width"`  // CSS pixels
	Height int64 `json:"height"` // CSS pixels
	// Scale is device pixels for a CSS pixel; 0 is 1.
	Scale float64 `json:"scale,omitempty"`
}

// Bounds of a viewport. The most pixels are those of the largest picture that an
// agent may be shown (16 megapixels).
const (
	MinViewport       = 200
	MaxViewport       = 8192
	MaxViewportScale  = 4
	MaxViewportPixels = 16_000_000
)

// Isolation is what keeps an environment from its neighbours.
type Isolation string

// A Chromium process of its own, or a context in one that owners of its tenant
// share.
const (
	IsolationProcess Isolation = "process"
	IsolationShared  Isolation = "shared"
)

var (
	settingLocale   = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?$`)
	settingTimezone = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9][A-Za-z0-9_+-]{0,31}){0,2}$`)
)

// Check is the error of a setting that no browser could have. Whether there is
// such a time zone is not known here.
func (s Setting) Check() *Error {
	switch {
	case s.Viewport != nil && !s.Viewport.valid():
		return Errorf(CodeInvalidArgument, "viewport: want width and height of %d to %d, scale up to %d, and at most %d device pixels",
			MinViewport, MaxViewport, MaxViewportScale, MaxViewportPixels)
	case s.Locale != "" && !settingLocale.MatchString(s.Locale):
		return Errorf(CodeInvalidArgument, "locale: want a language tag such as de-DE")
	case s.Timezone != "" && (!settingTimezone.MatchString(s.Timezone) || s.Timezone == "Local"):
		return Errorf(CodeInvalidArgument, "timezone: want a name such as Europe/Berlin")
	}
	return nil
}

func (v Viewport) valid() bool {
	fits := func(n int64) bool { return n >= MinViewport && n <= MaxViewport }
	if !fits(v.Width) || !fits(v.Height) || !(v.Scale == 0 || v.Scale >= 0.5 && v.Scale <= MaxViewportScale) {
		return false
	}
	scale := v.full().Scale
	return float64(v.Width)*float64(v.Height)*scale*scale <= MaxViewportPixels
}

// full is the viewport with its scale.
func (v Viewport) full() Viewport {
	if v.Scale == 0 {
		v.Scale = 1
	}
	return v
}

// IsZero reports whether all is the default.
func (s Setting) IsZero() bool { return s == Setting{} }

// differs reports what of the asked setting is not this one's; empty where all is.
// What is not asked differs from nothing.
func (s Setting) differs(asked Setting) string {
	switch {
	case asked.Viewport != nil && (s.Viewport == nil || s.Viewport.full() != asked.Viewport.full()):
		return "viewport"
	case asked.Locale != "" && asked.Locale != s.Locale:
		return "locale"
	case asked.Timezone != "" && asked.Timezone != s.Timezone:
		return "timezone"
	}
	return ""
}

// with is the setting with what is asked in it.
func (s Setting) with(asked Setting) Setting {
	if asked.Viewport != nil {
		v := asked.Viewport.full()
		s.Viewport = &v
	}
	if asked.Locale != "" {
		s.Locale = asked.Locale
	}
	if asked.Timezone != "" {
		s.Timezone = asked.Timezone
	}
	return s
}
