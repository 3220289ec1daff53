package chrome

import (
	"cmp"
	"context"
	"errors"
	"time"
	_ "time/tzdata" // names of time zones are checked here, also where the host has none

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// emulateLimit is how long the page may take to confirm.
const emulateLimit = 10 * time.Second

// emulate changes what the environment pretends to be.
func (r *run) emulate(ctx context.Context, args *protocol.EmulateArgs) {
	// Chromium does not always say that it knows no such zone.
	if _, err := time.LoadLocation(args.Timezone); err != nil || args.Timezone == "Local" {
		r.refuse(protocol.Errorf(protocol.CodeInvalidArgument, "timezone: there is no %s", args.Timezone))
		return
	}
	if r.b.tab.State().Dialog != nil {
		r.refuse(protocol.Errorf(protocol.CodeDialogOpen, ""))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, emulateLimit)
	defer cancel()
	r.out.Err = r.read(func() *protocol.Error {
		err := r.b.page.Emulate(ctx, emulated(r.b.page, args))
		switch reply := (*cdp.Error)(nil); {
		case err == nil:
			return nil
		case errors.Is(err, supervisor.ErrEmulation) && errors.As(err, &reply):
			// What was sent before it was set back.
			return protocol.Errorf(protocol.CodeInvalidArgument, "the browser refuses: %s", observation.Cut(reply.Message, 200)).
				WithDispatched(protocol.DispatchedYes)
		case errors.Is(err, cdp.ErrCrashed):
			return protocol.Errorf(protocol.CodePageCrashed, "")
		case errors.Is(err, cdp.ErrClosed), errors.Is(err, cdp.ErrDetached):
			return protocol.Errorf(protocol.CodeBrowserLost, "")
		}
		return protocol.Errorf(protocol.CodeActionTimeout, "the page did not confirm the change")
	})
	if r.out.Err == nil {
		r.out.Verdict = protocol.VerdictNoneYet
	}
}

// emulated is the present emulation with the wanted changes.
func emulated(page *supervisor.Page, args *protocol.EmulateArgs) supervisor.Emulation {
	e := page.Emulation()
	if args.Reset {
		e = page.StartedEmulation()
	}
	if v := args.Viewport; v != nil {
		e.Viewport = supervisor.Viewport{Width: v.Width, Height: v.Height, Scale: cmp.Or(v.Scale, 1)}
		e.Mobile = v.Mobile
	}
	e.Locale = cmp.Or(args.Locale, e.Locale)
	e.Timezone = cmp.Or(args.Timezone, e.Timezone)
	e.UserAgent = cmp.Or(args.UserAgent, e.UserAgent)
	e.ColorScheme = cmp.Or(args.ColorScheme, e.ColorScheme)
	if n := args.Network; n != nil {
		const bytesPerKbit = 1000 / 8
		e.Network = supervisor.NetworkConditions{
			Offline: n.Offline, LatencyMS: float64(n.LatencyMS),
			Download: float64(n.DownloadKbps * bytesPerKbit), Upload: float64(n.UploadKbps * bytesPerKbit),
		}
	}
	return e
}
