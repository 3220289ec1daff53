package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

// place is X,Y in an element's box.
type place struct{ *protocol.Point }

// UnmarshalText reads two numbers of CSS pixels.
func (p *place) UnmarshalText(text []byte) error {
	left, top, ok := strings.Cut(string(text), ",")
	x, errX := strconv.ParseFloat(strings.TrimSpace(left), 64)
	y, errY := strconv.ParseFloat(strings.TrimSpace(top), 64)
	if !ok || errX != nil || errY != nil {
		return fmt.Errorf("%q: want X,Y in CSS pixels from the element's top left, such as 10,4", view.Line(string(text), 40))
	}
	p.Point = &protocol.Point{X: x, Y: y}
	return nil
}

type clickCmd struct {
	verb
	Ref    string   `arg:"" help:"Element, such as e12."`
	Button string   `help:"left, right or middle." enum:"left,right,middle" default:"left"`
	Count  int      `help:"2 for a double click; at most 3." default:"1"`
	Hold   []string `help:"Keys to hold: Alt, Control, Meta, Shift." placeholder:"KEY"`
	At     place    `help:"Where in the element's box (default: its middle)." placeholder:"X,Y"`
}

func (c *clickCmd) Run(a *app) error {
	return c.run(a, protocol.KindClick, func(s *session) protocol.Args {
		args := &protocol.ClickArgs{Target: s.target(c.Ref), Count: c.Count, Modifiers: c.Hold, Offset: c.At.Point}
		if c.Button != protocol.ButtonLeft {
			args.Button = c.Button
		}
		return args
	})
}

type hoverCmd struct {
	verb
	Ref string `arg:"" help:"Element, such as e12."`
	At  place  `help:"Where in the element's box (default: its middle)." placeholder:"X,Y"`
}

func (c *hoverCmd) Run(a *app) error {
	return c.run(a, protocol.KindHover, func(s *session) protocol.Args {
		return &protocol.HoverArgs{Target: s.target(c.Ref), Offset: c.At.Point}
	})
}

type dragCmd struct {
	verb
	Ref string `arg:"" help:"Element to drag, such as e12."`
	To  string `arg:"" optional:"" help:"Element to drop it on (or --by)."`
	At  place  `help:"Where in its box it is taken (default: its middle)." placeholder:"X,Y"`
	On  place  `help:"Where in the other's box it is dropped (default: its middle)." placeholder:"X,Y"`
	By  place  `help:"How far it is dragged; left and up are negative: --by=-40,0." placeholder:"X,Y"`
}

func (c *dragCmd) Run(a *app) error {
	return c.run(a, protocol.KindDrag, func(s *session) protocol.Args {
		args := &protocol.DragArgs{Target: s.target(c.Ref), Offset: c.At.Point, ToRef: s.target(c.To).ElementRef, ToOffset: c.On.Point}
		if c.By.Point != nil {
			args.By = &protocol.Distance{X: c.By.X, Y: c.By.Y}
		}
		return args
	})
}
