package protocol

import (
	"slices"
	"strings"
)

// Point is a place in an element's box, in CSS pixels from its top left corner.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// maxOffset is beyond any box that Chromium lays out.
const maxOffset = 1 << 25

func (p *Point) check(field string) *Error {
	if p == nil {
		return nil
	}
	if !(p.X >= 0 && p.X < maxOffset && p.Y >= 0 && p.Y < maxOffset) {
		return Errorf(CodeInvalidArgument, "%s %v,%v: want a place in the element's box, in CSS pixels from its top left", field, p.X, p.Y)
	}
	return nil
}

// Buttons of the pointer.
const (
	ButtonLeft   = "left"
	ButtonRight  = "right"
	ButtonMiddle = "middle"
)

// Modifiers are the keys that may be held during a click.
var Modifiers = []string{"Alt", "Control", "Meta", "Shift"}

// checkModifiers wants each at most once.
func checkModifiers(all []string) *Error {
	for i, m := range all {
		if !slices.Contains(Modifiers, m) || slices.Contains(all[:i], m) {
			return Errorf(CodeInvalidArgument, "modifiers %q: want each of %s at most once", clip(m, 20), strings.Join(Modifiers, ", "))
		}
	}
	return nil
}

// maxClickCount is a triple click, which selects a paragraph.
const maxClickCount = 3

// ClickArgs click an element.
type ClickArgs struct {
	Target
	// Button is left (default), right or middle.
	Button string `json:"button,omitempty"`
	// Count is 2 for a double click; default 1, at most 3.
	Count int `json:"count,omitempty"`
	// Modifiers are keys that are held: Alt, Control, Meta, Shift.
	Modifiers []string `json:"modifiers,omitempty"`
	// Offset is where in the element's box; its middle when left out.
	Offset *Point `json:"offset,omitempty"`
}

// Validate checks the target and the options.
func (a *ClickArgs) Validate() *Error {
	switch {
	case !slices.Contains([]string{"", ButtonLeft, ButtonRight, ButtonMiddle}, a.Button):
		return Errorf(CodeInvalidArgument, "button %q: want left, right or middle", clip(a.Button, 20))
	case a.Count < 0 || a.Count > maxClickCount:
		return Errorf(CodeInvalidArgument, "count %d: want 1-%d", a.Count, maxClickCount)
	}
	if err := checkModifiers(a.Modifiers); err != nil {
		return err
	}
	if err := a.Offset.check("offset"); err != nil {
		return err
	}
	return a.check(true)
}

// HoverArgs move the pointer over an element, and press nothing.
type HoverArgs struct {
	Target
	// Offset is where in the element's box; its middle when left out.
	Offset *Point `json:"offset,omitempty"`
}

// Validate checks the target.
func (a *HoverArgs) Validate() *Error {
	if err := a.Offset.check("offset"); err != nil {
		return err
	}
	return a.check(true)
}

// Distance is a way on the page, in CSS pixels; up and left are negative.
type Distance struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// DragArgs drag an element to another one, or by a distance. What a page makes
// draggable is dragged so, and what listens for the pointer.
type DragArgs struct {
	Target
	// Offset is where in the element's box it is taken; its middle when left out.
	Offset *Point `json:"offset,omitempty"`
	// ToRef is the element that it is dropped on, of the same frame; ToOffset where
	// in its box.
	ToRef    Ref    `json:"to_ref,omitempty"`
	ToOffset *Point `json:"to_offset,omitempty"`
	// By is how far it is dragged, in place of ToRef.
	By *Distance `json:"by,omitempty"`
}

// maxDistance is more than any screen.
const maxDistance = 10_000

// Validate wants one destination.
func (a *DragArgs) Validate() *Error {
	switch {
	case (a.ToRef == "") == (a.By == nil):
		return Errorf(CodeInvalidArgument, "want one of to_ref and by")
	case a.By != nil && a.ToOffset != nil:
		return Errorf(CodeInvalidArgument, "to_offset is for to_ref")
	case a.By != nil && !(max(a.By.X, -a.By.X, a.By.Y, -a.By.Y) <= maxDistance):
		return Errorf(CodeInvalidArgument, "by %v,%v: want at most %d CSS pixels each way", a.By.X, a.By.Y, maxDistance)
	}
	if a.ToRef != "" {
		to := Target{ElementRef: a.ToRef}
		if err := to.check(true); err != nil {
			return Errorf(CodeInvalidArgument, "to_ref %q: want a ref of an observation, such as e12", clip(string(a.ToRef), 40))
		}
		a.ToRef = to.ElementRef
	}
	if err := a.Offset.check("offset"); err != nil {
		return err
	}
	if err := a.ToOffset.check("to_offset"); err != nil {
		return err
	}
	return a.check(true)
}
