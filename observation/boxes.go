package observation

import (
	"context"
	"math"

	"github.com/browserfleet/browserfleet/protocol"
)

// box is left, top, width and height in CSS pixels of a viewport.
type box [4]float64

// areaOf brings an element into view and says where it stands in the page's viewport.
func (o *Observer) areaOf(ctx context.Context, p Page, target protocol.Target) (box, *protocol.Error) {
	t, refused := o.Resolve(target.ElementRef, target.ObservationID)
	if refused != nil {
		return box{}, refused
	}
	var shown struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Box     box    `json:"box"`
	}
	args := struct {
		Doc   string `json:"doc"`
		ID    int64  `json:"id"`
		Print string `json:"print"`
	}{t.Doc(), t.NodeID(), t.Print}
	if err := Read(ctx, Within(p, t.Frame), "showForPicture", args, &shown); err != nil {
		if WentAway(err) {
			return box{}, protocol.Errorf(protocol.CodeStaleRef, "%s is no longer on the page", t.Ref)
		}
		return box{}, screenshotError("look for "+string(t.Ref), err)
	}
	if code, ok := map[string]protocol.Code{
		"stale": protocol.CodeStaleRef, "changed": protocol.CodeRefChanged, "not_visible": protocol.CodeNotVisible,
	}[shown.Error]; ok {
		return box{}, protocol.Errorf(code, "%s: %s", t.Ref, Cut(shown.Message, 500))
	}
	all, err := o.outwards(ctx, p, t.Frame, []box{shown.Box}, true)
	if err != nil || len(all) != 1 {
		return box{}, protocol.Errorf(protocol.CodeStaleRef, "the frame of %s is no longer on the page", t.Ref)
	}
	return all[0], nil
}

// outwards maps boxes of a frame's viewport to the page's.
func (o *Observer) outwards(ctx context.Context, p Page, frame protocol.FrameID, boxes []box, show bool) ([]box, error) {
	holders, known := o.Holders(frame)
	if frame == "" {
		return boxes, nil
	}
	if !known {
		return nil, ErrFrameGone
	}
	for _, h := range holders {
		args := struct {
			Doc   string `json:"doc"`
			ID    int64  `json:"id"`
			Boxes []box  `json:"boxes"`
			Show  bool   `json:"show"`
		}{h.Doc, h.ID, boxes, show}
		var here struct {
			Boxes []box `json:"boxes"`
		}
		if err := Read(ctx, Within(p, h.Parent), "boxesOfFrame", args, &here); err != nil {
			return nil, err
		}
		boxes = here.Boxes
	}
	return boxes, nil
}

// labelled is a ref and where its element stands in the page's viewport.
type labelled struct {
	ref protocol.Ref
	at  box
}

// standing says where the elements of the newest observation stand; all: also those of
// the page that are out of view. A frame that does not answer has none.
func (o *Observer) standing(ctx context.Context, p Page, all bool) (found []labelled) {
	if o.last == nil {
		return nil
	}
	type document struct {
		frame protocol.FrameID
		doc   string
	}
	refs := make(map[document]map[int64]protocol.Ref)
	for _, e := range o.last.Elements {
		t, refused := o.Resolve(e.Ref, "")
		if refused != nil {
			continue
		}
		d := document{t.Frame, t.Doc()}
		if refs[d] == nil {
			refs[d] = make(map[int64]protocol.Ref)
		}
		refs[d][t.NodeID()] = t.Ref
	}
	for d, byID := range refs {
		args := struct {
			Doc string  `json:"doc"`
			IDs []int64 `json:"ids"`
			All bool    `json:"all"`
		}{Doc: d.doc, All: all && d.frame == ""}
		for id := range byID {
			args.IDs = append(args.IDs, id)
		}
		var answer struct {
			Boxes []struct {
				ID  int64 `json:"id"`
				Box box   `json:"box"`
			} `json:"boxes"`
		}
		if err := Read(ctx, Within(p, d.frame), "boxesOf", args, &answer); err != nil {
			continue
		}
		boxes := make([]box, len(answer.Boxes))
		for i, b := range answer.Boxes {
			boxes[i] = b.Box
		}
		if boxes, err := o.outwards(ctx, p, d.frame, boxes, false); err == nil && len(boxes) == len(answer.Boxes) {
			for i, b := range boxes {
				found = append(found, labelled{byID[answer.Boxes[i].ID], b})
			}
		}
	}
	return found
}

// whole is the box with whole pixels around it, not left or above of the page.
func (b box) whole() box {
	left, top := math.Max(0, math.Floor(b[0])), math.Max(0, math.Floor(b[1]))
	return box{left, top, math.Ceil(b[0]+b[2]) - left, math.Ceil(b[1]+b[3]) - top}
}
