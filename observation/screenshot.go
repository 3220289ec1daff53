package observation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	// maxPixels bounds a picture before it is taken: 16 Mpx of a software
	// renderer take seconds and a quarter of a gigabyte.
	maxPixels = 16_000_000
	// screenshotLimit is how long taking one may last.
	screenshotLimit = 20 * time.Second
	// defaultQuality of a JPEG: the frame's capture costs, not its encoding.
	defaultQuality = 70
)

// Screenshot takes a picture of the viewport, the whole page or an element, as it was
// measured before: a page that grows meanwhile does not enlarge it. Refs are drawn on
// the picture, never on the page.
func (o *Observer) Screenshot(ctx context.Context, p Page, args protocol.ScreenshotArgs) (*protocol.Screenshot, *protocol.Error) {
	ctx, cancel := context.WithTimeoutCause(ctx, screenshotLimit, errors.New("the page did not answer"))
	defer cancel()
	var element *box
	if args.ElementRef != "" {
		area, refused := o.areaOf(ctx, p, args.Target)
		if refused != nil {
			return nil, refused.WithDispatched(protocol.DispatchedNo)
		}
		element = &area
	}
	a, err := measure(ctx, p, args.FullPage, element)
	if err != nil {
		return nil, screenshotError("measure", err)
	}
	if float64(a.width)*float64(a.height) > maxPixels {
		return nil, protocol.Errorf(protocol.CodeResultTooLarge,
			"the picture would have %d x %d pixels, of at most %d million: %s", a.width, a.height, maxPixels/1_000_000, narrower(args)).
			WithDispatched(protocol.DispatchedNo)
	}
	var refs []labelled
	if args.Refs {
		refs = o.standing(ctx, p, args.FullPage)
	}
	data, err := take(ctx, p, args, a, refs)
	if err != nil {
		return nil, screenshotError("capture", err)
	}
	if len(data) > protocol.MaxScreenshotInline {
		return nil, protocol.Errorf(protocol.CodeResultTooLarge,
			"the picture has %d KiB, of which %d fit a result: %s", len(data)>>10, protocol.MaxScreenshotInline>>10, smaller(args)).
			WithDispatched(protocol.DispatchedNo)
	}
	return &protocol.Screenshot{
		MediaType: "image/" + format(args), Width: a.width, Height: a.height, Bytes: len(data), Data: data,
	}, nil
}

// area is what of the page is in a picture: clip in coordinates of the document, nil for
// the viewport; origin is its left top in the viewport. All in CSS pixels: the scale is
// always 1.
type area struct {
	width, height int
	clip          *page.Viewport
	beyond        bool // it reaches out of the viewport
	origin        [2]float64
}

// take captures the picture, and draws on it.
func take(ctx context.Context, p Page, args protocol.ScreenshotArgs, a area, refs []labelled) ([]byte, error) {
	pending, err := p.Send(page.CommandCaptureScreenshot, captureParams(args, a))
	var shot page.CaptureScreenshotResult
	if err == nil {
		err = Await(ctx, p, pending, &shot)
	}
	if err != nil || !args.Refs {
		return shot.Data, err
	}
	return drawRefs(shot.Data, refs, a.origin, a.width, args)
}

// measure finds out what will be in the picture.
func measure(ctx context.Context, p Page, full bool, element *box) (a area, err error) {
	pending, err := p.Send(page.CommandGetLayoutMetrics, nil)
	if err != nil {
		return a, err
	}
	var m page.GetLayoutMetricsResult
	if err := Await(ctx, p, pending, &m); err != nil {
		return a, err
	}
	if m.CSSLayoutViewport == nil || m.CSSContentSize == nil {
		return a, errors.New("the browser gave no layout metrics")
	}
	v := m.CSSLayoutViewport
	a.width, a.height = int(v.ClientWidth), int(v.ClientHeight)
	left, top := float64(v.PageX), float64(v.PageY)
	switch {
	case full:
		a.width = max(a.width, int(math.Ceil(m.CSSContentSize.Width)))
		a.height = max(a.height, int(math.Ceil(m.CSSContentSize.Height)))
		a.clip, a.beyond = &page.Viewport{Width: float64(a.width), Height: float64(a.height), Scale: 1}, true
		a.origin = [2]float64{-left, -top}
	case element != nil:
		b := box{element[0] + left, element[1] + top, element[2], element[3]}.whole()
		if b[2] < 1 || b[3] < 1 {
			return a, errors.New("the element has no area on the page")
		}
		a.clip = &page.Viewport{X: b[0], Y: b[1], Width: b[2], Height: b[3], Scale: 1}
		a.beyond = b[0] < left || b[1] < top || b[0]+b[2] > left+float64(a.width) || b[1]+b[3] > top+float64(a.height)
		a.width, a.height = int(b[2]), int(b[3])
		a.origin = [2]float64{b[0] - left, b[1] - top}
	}
	return a, nil
}

func captureParams(args protocol.ScreenshotArgs, a area) page.CaptureScreenshotParams {
	yes := true
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormat(format(args)), Clip: a.clip}
	if a.beyond {
		params.CaptureBeyondViewport = &yes
	}
	if args.Refs {
		params.Format = page.CaptureScreenshotFormatPng // which drawing on it costs nothing of
	}
	if params.Format == page.CaptureScreenshotFormatPng {
		params.OptimizeForSpeed = &yes
		return params
	}
	q := int64(quality(args))
	params.Quality = &q
	return params
}

func quality(args protocol.ScreenshotArgs) int { return cmp.Or(args.Quality, defaultQuality) }

func format(args protocol.ScreenshotArgs) string { return cmp.Or(args.Format, protocol.FormatJPEG) }

// narrower is advice for a picture of too many pixels.
func narrower(args protocol.ScreenshotArgs) string {
	if args.ElementRef != "" {
		return "name a smaller element"
	}
	return "leave out full_page"
}

// smaller is advice for a picture that does not fit.
func smaller(args protocol.ScreenshotArgs) string {
	switch {
	case format(args) == protocol.FormatPNG:
		return "take format jpeg or webp"
	case args.FullPage:
		return "leave out full_page, or take a lower quality"
	}
	return fmt.Sprintf("take a quality below %d", max(args.Quality, defaultQuality))
}

func screenshotError(doing string, err error) *protocol.Error {
	code := protocol.CodeActionFailed
	switch {
	case errors.Is(err, ErrDialog):
		code = protocol.CodeDialogOpen
	case errors.Is(err, ErrCrashed), errors.Is(err, cdp.ErrCrashed):
		code = protocol.CodePageCrashed
	case errors.Is(err, ErrLost), errors.Is(err, cdp.ErrClosed), errors.Is(err, cdp.ErrDetached):
		code = protocol.CodeBrowserLost
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*cdp.LostError)):
		code = protocol.CodeRendererUnresponsive
	}
	return protocol.Errorf(code, "screenshot: %s: %s", doing, Cut(err.Error(), 300)).WithDispatched(protocol.DispatchedNo)
}
