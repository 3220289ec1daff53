//go:build realworld

package realworld

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// pictures takes one of the viewport.
func (p *pageVisit) pictures(ctx context.Context) {
	p.open(ctx, p.t, p.page)
	out := p.run(ctx, p.t, protocol.KindScreenshot, &protocol.ScreenshotArgs{}, nil)
	p.figures.add("screenshot", p.size, out.Transition.Timing.DispatchMS)
	shot := out.Screenshot
	picture, err := jpeg.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		p.t.Fatalf("screenshot: %v", err)
	}
	size := picture.Bounds().Size()
	if shot.MediaType != "image/jpeg" || shot.Bytes != len(shot.Data) || size.X != shot.Width || size.Y != shot.Height || size != p.docs.picture() {
		p.t.Errorf("screenshot: %s %dx%d of %d bytes is a picture of %v in %d bytes", shot.MediaType, shot.Width, shot.Height, shot.Bytes, size, len(shot.Data))
	}
	if n := tones(picture); n < 8 {
		p.t.Errorf("screenshot: %d tones of grey: it is blank", n)
	}
	if folder := os.Getenv("REALWORLD_SCREENSHOTS"); folder != "" {
		name := fmt.Sprintf("%s-%d-", p.docs.name, p.docs.picture().X) + strings.ReplaceAll(p.page, "/", "-") + ".jpg"
		if err := os.WriteFile(filepath.Join(folder, name), shot.Data, 0o600); err != nil {
			p.t.Error(err)
		}
	}
}

// tones counts the shades of grey.
func tones(picture image.Image) int {
	seen := map[color.Gray]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			seen[color.GrayModel.Convert(picture.At(x, y)).(color.Gray)] = true
		}
	}
	return len(seen)
}
