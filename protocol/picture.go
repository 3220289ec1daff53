package protocol

import "slices"

// Formats of a picture.
const (
	FormatJPEG = "jpeg"
	FormatPNG  = "png"
	FormatWebP = "webp"
)

// ScreenshotArgs take a picture of the viewport, the whole page, or an element, which
// is scrolled into view.
type ScreenshotArgs struct {
	Target
	FullPage bool `json:"full_page,omitempty"`
	// Format is jpeg (default), png or webp.
	Format string `json:"format,omitempty"`
	// Quality of a JPEG or WebP, 1-100; default 70.
	Quality int `json:"quality,omitempty"`
	// Refs draws the refs of the newest observation over their elements, on the
	// picture and not on the page; for jpeg and png.
	Refs bool `json:"refs,omitempty"`
}

// Validate checks what goes together.
func (a *ScreenshotArgs) Validate() *Error {
	switch {
	case !slices.Contains([]string{"", FormatJPEG, FormatPNG, FormatWebP}, a.Format):
		return Errorf(CodeInvalidArgument, "format %q: want jpeg, png or webp", clip(a.Format, 20))
	case a.Quality < 0 || a.Quality > 100:
		return Errorf(CodeInvalidArgument, "quality %d: want 1-100", a.Quality)
	case a.ElementRef != "" && a.FullPage:
		return Errorf(CodeInvalidArgument, "full_page: a picture of an element is not of the whole page")
	case a.Refs && a.Format == FormatWebP:
		return Errorf(CodeInvalidArgument, "refs: want format jpeg or png")
	}
	return a.check(false)
}
