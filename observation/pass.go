package observation

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// Bounds of what a page's answer may hold, in code points.
const (
	maxName  = 200
	maxLabel = 160
	maxValue = 200
	maxTitle = 500
	maxURL   = 8192
	// oversample: the page returns up to this many times the budget, so that
	// ranking has something to choose from, and continuation something to go on with.
	oversample = 4
)

// passArgs are the arguments of the script's observe.
type passArgs struct {
	Elements int `json:"elements"`
	MaxTier  int `json:"maxTier"`
	Text     int `json:"text"`
	// Owners are the elements whose frames are read, by their numbers.
	Owners []int64 `json:"owners,omitempty"`
	// Region is what it is of, nil for the whole document.
	Region *regionArgs `json:"region,omitempty"`
	Search string      `json:"search,omitempty"`
	Role   string      `json:"role,omitempty"`
}

type regionArgs struct {
	Doc string `json:"doc"`
	ID  int64  `json:"id"`
}

// pass is the answer of the script's observe.
type pass struct {
	// Refused is why there is no answer: the region is stale.
	Refused string `json:"error"`
	Message string `json:"message"`

	Doc       string        `json:"doc"`
	URL       string        `json:"url"`
	Title     string        `json:"title"`
	Text      string        `json:"text"`
	TotalText int           `json:"total_text"`
	TextHash  string        `json:"text_hash"`
	Elements  []passElement `json:"elements"`
	Total     int           `json:"total"`
	Partial   bool          `json:"partial"`
	Groups    []passGroup   `json:"groups"`
	Frames    []passFrame   `json:"frames"`
	// TextCut is set by check: text was left out.
	TextCut bool `json:"-"`
	// readText is how many of TotalText were read, before they were cleaned.
	readText int
}

type passElement struct {
	ID         int64    `json:"id"`
	Role       string   `json:"role"`
	By         string   `json:"by"`
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Value      string   `json:"value"`
	Href       string   `json:"href"`
	States     []string `json:"states"`
	Section    string   `json:"section"`
	Tier       int      `json:"tier"`
	Order      int      `json:"order"`
	Pagination bool     `json:"pagination"`
	Group      int64    `json:"group"`
	Print      string   `json:"print"`
	// at is where it is, path its place among all elements of the page; both are
	// set when the frames' passes are put together.
	at   node
	path []int
}

type passGroup struct {
	ID    int64  `json:"id"`
	Label string `json:"label"`
	at    node
}

// passFrame is an element that holds a frame.
type passFrame struct {
	ID        int64 `json:"id"`
	Order     int   `json:"order"`
	Shown     bool  `json:"shown"`
	Offscreen bool  `json:"offscreen"`
	Focused   bool  `json:"focused"`
}

// check holds the answer against its bounds. The script runs in a renderer that
// a page may have taken over, so nothing about its answer is certain.
func (p *pass) check(args passArgs) error {
	switch {
	case p.Refused != "":
		return protocol.Errorf(protocol.CodeStaleRef, "%s", Cut(clean(p.Message), maxLabel)).WithDispatched(protocol.DispatchedNo)
	case p.Doc == "" || len(p.Doc) > 64:
		return errors.New("page script: answer without a document")
	case len(p.Elements) > args.Elements || len(p.Frames) > len(args.Owners) || p.Total < len(p.Elements) || p.TotalText < 0:
		return errors.New("page script: answer out of bounds")
	}
	p.URL, p.Title = Cut(clean(p.URL), maxURL), Cut(clean(p.Title), maxTitle)
	p.Text = Cut(p.Text, args.Text)
	p.readText = chars(p.Text)
	p.TextCut = p.readText < p.TotalText
	p.Text = clean(p.Text)
	p.TextHash = Cut(p.TextHash, 16)
	for i := range p.Elements {
		e := &p.Elements[i]
		if e.ID <= 0 || e.Tier < 1 || e.Tier > 5 || len(e.States) > 16 || len(e.Print) > 16 {
			return errors.New("page script: element out of bounds")
		}
		e.Name, e.Value, e.Href = Cut(clean(e.Name), maxName), Cut(clean(e.Value), maxValue), Cut(clean(e.Href), maxURL)
		e.Role, e.Type, e.Section, e.By = Cut(e.Role, 32), Cut(e.Type, 32), Cut(e.Section, 32), Cut(e.By, 32)
	}
	for i := range p.Groups {
		p.Groups[i].Label = Cut(clean(p.Groups[i].Label), maxLabel)
	}
	return nil
}

// rank orders by tier, then as in the document, a frame's where the frame is.
func (p *pass) rank() {
	slices.SortStableFunc(p.Elements, func(a, b passElement) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), slices.Compare(a.path, b.path))
	})
}

// record is the one that it is in.
func (e *passElement) record() node { return node{Frame: e.at.Frame, Doc: e.at.Doc, ID: e.Group} }

func (e *passElement) shown(ref protocol.Ref, group protocol.GroupRef) protocol.Element {
	return protocol.Element{
		Ref: ref, FrameID: e.at.Frame, Role: e.Role, Name: e.Name, InputType: e.Type, Value: e.Value, Href: e.Href,
		States: e.States, ClickableBy: e.By, Section: e.Section, Tier: e.Tier, Pagination: e.Pagination, Group: group,
	}
}

// locate says of everything in a pass which frame it is in, and where that is.
func (p *pass) locate(frame protocol.FrameID, path []int) {
	for i := range p.Elements {
		e := &p.Elements[i]
		e.at = node{Frame: frame, Doc: p.Doc, ID: e.ID}
		e.path = append(append(make([]int, 0, len(path)+1), path...), e.Order)
	}
	for i := range p.Groups {
		p.Groups[i].at = node{Frame: frame, Doc: p.Doc, ID: p.Groups[i].ID}
	}
}

// seenThrough corrects states that a frame cannot know of itself.
func (p *pass) seenThrough(at place) {
	for i := range p.Elements {
		e := &p.Elements[i]
		if !at.focused {
			e.States = slices.DeleteFunc(e.States, func(s string) bool { return s == "focused" })
		}
		if at.offscreen && !slices.Contains(e.States, "offscreen") {
			e.States = append(e.States, "offscreen")
		}
	}
}

// add appends what a frame has to show.
func (p *pass) add(f *pass, textChars int) {
	p.Elements = append(p.Elements, f.Elements...)
	p.Groups = append(p.Groups, f.Groups...)
	p.Total += f.Total
	p.Partial = p.Partial || f.Partial
	p.TextHash += f.TextHash
	p.TotalText += f.TotalText
	if !p.TextCut && f.Text != "" { // no text follows a gap
		whole := strings.TrimPrefix(p.Text+"\n"+f.Text, "\n")
		p.Text = Cut(whole, textChars)
		p.TextCut = p.Text != whole
		p.readText += f.readText - (chars(whole) - chars(p.Text))
	}
	p.TextCut = p.TextCut || f.TextCut
}
