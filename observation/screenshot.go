package observation

import (
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

// Screenshot takes a picture of the viewport or of the whole page, as it was
// measured before: a page that grows meanwhile does not enlarge it.
func Screenshot(ctx context.Context, p Page, args protocol.ScreenshotArgs) (*protocol.Screenshot, *protocol.Error) {
	ctx, cancel := context.WithTimeoutCause(ctx, screenshotLimit, errors.New("the page did not answer"))
	defer cancel()
	width, height, err := measure(ctx, p, args.FullPage)
	if err != nil {
		return nil, screenshotError("measure", err)
	}
	if float64(width)*float64(height) > maxPixels {
		return nil, protocol.Errorf(protocol.CodeResultTooLarge,
			"the page is %d x %d pixels; a screenshot has at most %d million: leave out full_page", width, height, maxPixels/1_000_000).
			WithDispatched(protocol.DispatchedNo)
	}
	pending, err := p.Send(page.CommandCaptureScreenshot, captureParams(args, width, height))
	var shot page.CaptureScreenshotResult
	if err == nil {
		err = Await(ctx, p, pending, &shot)
	}
	if err != nil {
		return nil, screenshotError("capture", err)
	}
	if len(shot.Data) > protocol.MaxScreenshotInline {
		return nil, protocol.Errorf(protocol.CodeResultTooLarge,
			"the picture has %d KiB, of which %d fit a result: %s", len(shot.Data)>>10, protocol.MaxScreenshotInline>>10, smaller(args)).
			WithDispatched(protocol.DispatchedNo)
	}
	return &protocol.Screenshot{
		MediaType: "image/" + format(args), Width: width, Height: height, Bytes: len(shot.Data), Data: shot.Data,
	}, nil
}

// measure is the size of the picture in CSS pixels: the scale is always 1.
func measure(ctx context.Context, p Page, full bool) (width, height int, err error) {
	pending, err := p.Send(page.CommandGetLayoutMetrics, nil)
	if err != nil {
		return 0, 0, err
	}
	var m page.GetLayoutMetricsResult
	if err := Await(ctx, p, pending, &m); err != nil {
		return 0, 0, err
	}
	if m.CSSLayoutViewport == nil || m.CSSContentSize == nil {
		return 0, 0, errors.New("the browser gave no layout metrics")
	}
	width, height = int(m.CSSLayoutViewport.ClientWidth), int(m.CSSLayoutViewport.ClientHeight)
	if full {
		width = max(width, int(math.Ceil(m.CSSContentSize.Width)))
		height = max(height, int(math.Ceil(m.CSSContentSize.Height)))
	}
	return width, height, nil
}

func captureParams(args protocol.ScreenshotArgs, width, height int) page.CaptureScreenshotParams {
	yes := true
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormat(format(args)), OptimizeForSpeed: &yes}
	if format(args) == "jpeg" {
		quality := int64(args.Quality)
		if quality == 0 {
			quality = defaultQuality
		}
		params.Quality, params.OptimizeForSpeed = &quality, nil
	}
	if args.FullPage {
		params.CaptureBeyondViewport = &yes
		params.Clip = &page.Viewport{Width: float64(width), Height: float64(height), Scale: 1}
	}
	return params
}

func format(args protocol.ScreenshotArgs) string {
	if args.Format == "png" {
		return "png"
	}
	return "jpeg"
}

// smaller is advice for a picture that does not fit.
func smaller(args protocol.ScreenshotArgs) string {
	switch {
	case format(args) == "png":
		return "take format jpeg"
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
