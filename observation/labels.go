package observation

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"

	"github.com/browserfleet/browserfleet/protocol"
)

// glyphs are what refs are written in: 3 x 5 points, a row each, the leftmost is 4.
var glyphs = map[rune][5]byte{
	'e': {0, 7, 7, 4, 7}, '0': {7, 5, 5, 5, 7}, '1': {2, 6, 2, 2, 7}, '2': {7, 1, 7, 4, 7}, '3': {7, 1, 7, 1, 7}, '4': {5, 5, 7, 1, 1},
	'5': {7, 4, 7, 1, 7}, '6': {7, 4, 7, 5, 7}, '7': {7, 1, 1, 2, 2}, '8': {7, 5, 7, 5, 7}, '9': {7, 5, 7, 1, 7},
}

// glyphDot is the size of a glyph's point, in pixels of the picture.
const glyphDot = 2

// tints make neighbours differ.
var tints = []color.RGBA{{200, 0, 0, 255}, {0, 90, 200, 255}, {0, 120, 40, 255}, {150, 0, 150, 255}, {170, 90, 0, 255}}

// drawRefs draws boxes and refs on a PNG and encodes it as wanted. origin is where the
// picture's left top is in the page's viewport, width its width, in CSS pixels.
func drawRefs(shot []byte, all []labelled, origin [2]float64, width int, args protocol.ScreenshotArgs) ([]byte, error) {
	taken, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	picture := image.NewRGBA(taken.Bounds())
	draw.Draw(picture, picture.Bounds(), taken, taken.Bounds().Min, draw.Src)
	scale := float64(picture.Bounds().Dx()) / float64(max(1, width))
	for _, l := range all {
		left, top := (l.at[0]-origin[0])*scale, (l.at[1]-origin[1])*scale
		around := image.Rect(int(left), int(top), int(left+l.at[2]*scale), int(top+l.at[3]*scale))
		if around.Overlaps(picture.Bounds()) {
			drawRef(picture, around, string(l.ref), tintOf(l.ref))
		}
	}
	var out bytes.Buffer
	if format(args) == protocol.FormatPNG {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, picture)
	} else {
		err = jpeg.Encode(&out, picture, &jpeg.Options{Quality: quality(args)})
	}
	return out.Bytes(), err
}

func tintOf(ref protocol.Ref) color.RGBA {
	n := 0
	for _, r := range ref {
		n = n*10 + int(r)
	}
	return tints[n%len(tints)]
}

// drawRef frames a box and writes the ref at its left top, inside of the picture.
func drawRef(picture *image.RGBA, around image.Rectangle, ref string, tint color.RGBA) {
	fill := func(r image.Rectangle, c color.RGBA) {
		draw.Draw(picture, r, image.NewUniform(c), image.Point{}, draw.Src)
	}
	for _, side := range []image.Rectangle{
		{around.Min, image.Pt(around.Max.X, around.Min.Y+1)},
		{image.Pt(around.Min.X, around.Max.Y-1), around.Max},
		{around.Min, image.Pt(around.Min.X+1, around.Max.Y)},
		{image.Pt(around.Max.X-1, around.Min.Y), around.Max},
	} {
		fill(side, tint)
	}
	width, height := (len(ref)*4+1)*glyphDot, 7*glyphDot
	at := image.Pt(min(max(0, around.Min.X), picture.Rect.Max.X-width), min(max(0, around.Min.Y), picture.Rect.Max.Y-height))
	fill(image.Rectangle{at, at.Add(image.Pt(width, height))}, tint)
	for i, r := range ref {
		for y, row := range glyphs[r] {
			for x := range 3 {
				if row>>(2-x)&1 == 1 {
					dot := at.Add(image.Pt((1+i*4+x)*glyphDot, (1+y)*glyphDot))
					fill(image.Rectangle{dot, dot.Add(image.Pt(glyphDot, glyphDot))}, color.RGBA{255, 255, 255, 255})
				}
			}
		}
	}
}
