package protocol

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
)

// CDPArgs call one method of the browser's own protocol: the escape hatch. It is
// off unless an operator turned it on, and then for the methods of a list.
type CDPArgs struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	// FrameID is of a frame of the newest observation; without it the call goes
	// to the page.
	FrameID FrameID `json:"frame_id,omitempty"`
}

var cdpMethod = regexp.MustCompile(`^[A-Z][A-Za-z]{1,39}\.[a-z][A-Za-z]{1,79}$`)

// ValidCDPMethod reports whether s has the form Domain.method.
func ValidCDPMethod(s string) bool { return cdpMethod.MatchString(s) }

// Validate checks the form; which methods are allowed is the worker's.
func (a *CDPArgs) Validate() *Error {
	if !ValidCDPMethod(a.Method) {
		return Errorf(CodeInvalidArgument, "method %q: want Domain.method, such as Page.getLayoutMetrics", clip(a.Method, 80))
	}
	if p := bytes.TrimSpace(a.Params); len(p) > 0 && p[0] != '{' {
		return Errorf(CodeInvalidArgument, "params: want an object")
	}
	return nil
}

// EmulateArgs change what the environment pretends to be, until they are changed
// again or the environment is restored. What is left out stays as it is.
type EmulateArgs struct {
	// Reset goes back to what the environment started with; the rest of the
	// arguments is applied after it.
	Reset    bool              `json:"reset,omitempty"`
	Viewport *EmulatedViewport `json:"viewport,omitempty"`
	// Locale is such as de-DE; Timezone such as Europe/Berlin.
	Locale    string `json:"locale,omitempty"`
	Timezone  string `json:"timezone,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
	// ColorScheme is light or dark.
	ColorScheme string           `json:"color_scheme,omitempty"`
	Network     *EmulatedNetwork `json:"network,omitempty"`
}

// EmulatedViewport is in CSS pixels.
type EmulatedViewport struct {
	Width  int64 `json:"width"`
	Height int64 `json:"height"`
	// Scale is the device's pixels per CSS pixel; 1 when left out.
	Scale  float64 `json:"scale,omitempty"`
	Mobile bool    `json:"mobile,omitempty"`
}

// EmulatedNetwork slows the environment's network down. Zeros mean no limit.
type EmulatedNetwork struct {
	Offline      bool  `json:"offline,omitempty"`
	LatencyMS    int64 `json:"latency_ms,omitempty"`
	DownloadKbps int64 `json:"download_kbps,omitempty"`
	UploadKbps   int64 `json:"upload_kbps,omitempty"`
}

var (
	localePattern    = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)
	timezonePattern  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)
	userAgentPattern = regexp.MustCompile(`^[\x20-\x7e]{1,512}$`)
)

// Validate wants at least one change, and values that a browser can have.
func (a *EmulateArgs) Validate() *Error {
	switch {
	case *a == EmulateArgs{}:
		return Errorf(CodeInvalidArgument, "want at least one of reset, viewport, locale, timezone, user_agent, color_scheme, network")
	case a.Locale != "" && (len(a.Locale) > 35 || !localePattern.MatchString(a.Locale)):
		return Errorf(CodeInvalidArgument, "locale %q: want one such as de-DE", clip(a.Locale, 40))
	case a.Timezone != "" && (len(a.Timezone) > 64 || !timezonePattern.MatchString(a.Timezone)):
		return Errorf(CodeInvalidArgument, "timezone %q: want one such as Europe/Berlin", clip(a.Timezone, 64))
	case a.UserAgent != "" && !userAgentPattern.MatchString(a.UserAgent):
		return Errorf(CodeInvalidArgument, "user_agent: want 1-512 printable ASCII characters")
	case !slices.Contains([]string{"", "light", "dark"}, a.ColorScheme):
		return Errorf(CodeInvalidArgument, "color_scheme %q: want light or dark", clip(a.ColorScheme, 20))
	}
	if err := a.Viewport.check(); err != nil {
		return err
	}
	return a.Network.check()
}

// Bounds of a viewport: beyond them Chromium needs gigabytes for a picture.
const (
	minViewport, maxViewport = 64, 4096 // CSS pixels a side
	minScale, maxScale       = 0.25, 4.0
	maxDevicePixels          = 32 << 20
)

func (v *EmulatedViewport) check() *Error {
	if v == nil {
		return nil
	}
	scale := v.Scale
	if scale == 0 {
		scale = 1
	}
	switch {
	case v.Width < minViewport || v.Width > maxViewport || v.Height < minViewport || v.Height > maxViewport:
		return Errorf(CodeInvalidArgument, "viewport %d x %d: want %d-%d CSS pixels a side", v.Width, v.Height, minViewport, maxViewport)
	case scale < minScale || scale > maxScale:
		return Errorf(CodeInvalidArgument, "viewport.scale %v: want %v-%v", v.Scale, minScale, maxScale)
	case float64(v.Width*v.Height)*scale*scale > maxDevicePixels:
		return Errorf(CodeInvalidArgument, "viewport: more than %d device pixels", maxDevicePixels)
	}
	return nil
}

func (n *EmulatedNetwork) check() *Error {
	if n == nil {
		return nil
	}
	const most = 10_000_000 // kbit/s
	if n.LatencyMS < 0 || n.LatencyMS > 60_000 || n.DownloadKbps < 0 || n.DownloadKbps > most || n.UploadKbps < 0 || n.UploadKbps > most {
		return Errorf(CodeInvalidArgument, "network: want latency_ms 0-60000 and at most %d kbit/s", most)
	}
	return nil
}
