package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

type screenshotCmd struct {
	agentFlags
	tabFlag
	Ref      string `arg:"" optional:"" help:"Element to take it of (default: what is in view)."`
	Output   string `short:"o" help:"File to write (.jpg, .png or .webp), or json." default:"page.jpg" placeholder:"FILE"`
	FullPage bool   `help:"The whole page, not only what is in view."`
	Quality  int    `help:"Quality of a JPEG or WebP, 1-100." default:"70"`
	Refs     bool   `help:"Draw the refs of what was observed last on it."`
}

// Run takes a picture. It is written as it came: its name says what is wanted.
func (c *screenshotCmd) Run(a *app) error {
	args := &protocol.ScreenshotArgs{FullPage: c.FullPage, Format: "jpeg", Quality: c.Quality, Refs: c.Refs}
	switch strings.ToLower(filepath.Ext(c.Output)) {
	case ".png":
		args.Format, args.Quality = "png", 0
	case ".webp":
		args.Format = "webp"
	case ".jpg", ".jpeg":
	default:
		if c.Output != "json" {
			return usageError(fmt.Errorf("--output %s: name a .jpg, .png or .webp file, or json", c.Output))
		}
	}
	if folder := filepath.Dir(c.Output); c.Output != "json" {
		// Before the browser is asked: a picture that cannot be kept is not taken.
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return usageError(fmt.Errorf("--output %s: there is no folder %s", c.Output, folder))
		}
	}
	var taken *protocol.Screenshot
	err := c.act(a, c.Output == "json", func(ctx context.Context, s *session) (*protocol.Result, error) {
		args.Target = s.target(c.Ref)
		res, err := s.do(ctx, protocol.KindScreenshot, args, c.options()...)
		if err == nil {
			taken = res.Screenshot
		}
		return res, err
	})
	if err != nil || c.Output == "json" || taken == nil {
		return err
	}
	if err := os.WriteFile(c.Output, taken.Data, 0o600); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	a.printf("%s: %s, %d x %d, %d bytes\n", c.Output, taken.MediaType, taken.Width, taken.Height, taken.Bytes)
	return nil
}
