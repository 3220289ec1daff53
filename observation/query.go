package observation

import (
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// Query is what is looked at, for what, and how much of it is shown.
type Query struct {
	protocol.ObserveBudget
	// Args of the request; the zero value is the whole page.
	Args protocol.ObserveArgs
}

// maxSearched is how much text of a document is searched, in code points.
const maxSearched = 500_000

// scope is a query whose region is known.
type scope struct {
	Query
	// root is the frame that is read, empty for the main one, region the part of it.
	root   protocol.FrameID
	region *regionArgs
	// search is folded, as in the page's script.
	search string
}

// resolve finds the region of a query.
func (o *Observer) resolve(s State, q Query) (scope, *protocol.Error) {
	found := scope{Query: q, search: fold(q.Args.Search)}
	if q.Args.Narrow() {
		found.MaxTier = maxTier // what was asked for is not ranked away
	}
	if found.search != "" && found.TextChars == 0 {
		found.TextChars = (*protocol.ObserveOptions)(nil).Budget().TextChars
	}
	switch {
	case q.Args.ElementRef != "":
		t, refused := o.Resolve(q.Args.ElementRef, q.Args.ObservationID)
		if refused != nil {
			return found, refused
		}
		found.root, found.region = t.Frame, &regionArgs{Doc: t.at.Doc, ID: t.at.ID}
	case q.Args.GroupRef != "":
		at, ok := o.refs.record(q.Args.GroupRef)
		if !ok {
			return found, protocol.Errorf(protocol.CodeStaleRef, "%s was never shown in generation %d", q.Args.GroupRef, o.generation)
		}
		found.root, found.region = at.Frame, &regionArgs{Doc: at.Doc, ID: at.ID}
	case q.Args.FrameID != "":
		if _, ok := s.child(q.Args.FrameID); ok {
			found.root = q.Args.FrameID
		} else if s.World.Frame != q.Args.FrameID {
			return found, protocol.Errorf(protocol.CodeStaleRef, "there is no frame %s on the page", Cut(string(q.Args.FrameID), 64))
		}
	}
	return found, nil
}

// told is what an observation says of its scope, nil for the whole page.
func (q *scope) told() *protocol.Scope {
	if !q.Args.Narrow() {
		return nil
	}
	return &protocol.Scope{
		ElementRef: q.Args.ElementRef, GroupRef: q.Args.GroupRef, FrameID: q.Args.FrameID,
		Search: q.Args.Search, Role: q.Args.Role,
	}
}

// args are those of the pass of the root document.
func (q *scope) args() passArgs {
	args := passArgs{Elements: q.Elements * oversample, MaxTier: maxTier, Region: q.region, Search: q.search, Role: q.Args.Role}
	switch {
	case q.search != "":
		args.Text = maxSearched
	case q.TextChars > 0:
		args.Text = protocol.MaxRetainedChars
	}
	return args
}

// inFrame are the args of the pass of a frame within it.
func (q *scope) inFrame() passArgs {
	args := q.args()
	args.Elements, args.Region = q.Elements, nil
	if q.search == "" {
		args.Text = min(args.Text, maxFrameText)
	}
	return args
}

// below are the frames within a frame, parents before their children.
func (s *State) below(root protocol.FrameID) []Frame {
	if root == "" {
		return s.Children
	}
	inside := map[protocol.FrameID]bool{root: true}
	var all []Frame
	for _, f := range s.Children {
		if inside[f.Parent] {
			inside[f.ID] = true
			all = append(all, f)
		}
	}
	return all
}

// blanks makes one blank of each run of them.
func blanks(s string) string { return strings.Join(strings.Fields(s), " ") }
