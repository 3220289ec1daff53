package protocol

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// ObserveArgs say what part of the page is looked at, and for what. Without them it
// is the whole page. The shape of the observation is in Request.Observe.
type ObserveArgs struct {
	// ElementRef makes an element the region: only what is in it is shown, its text
	// too.
	Target
	// GroupRef makes a record the region.
	GroupRef GroupRef `json:"group_ref,omitempty"`
	// FrameID shows a frame only, with the frames in it.
	FrameID FrameID `json:"frame_id,omitempty"`
	// Search shows the places where the text is found, with what is around each, and
	// the elements whose name has it. Case and kinds of blanks do not matter.
	Search string `json:"search,omitempty"`
	// Role shows only elements of this role.
	Role string `json:"role,omitempty"`
}

// MaxSearchChars bounds what is searched for, in characters.
const MaxSearchChars = 200

var (
	groupPattern = regexp.MustCompile(`^(?:@|ref=)?(g[1-9][0-9]{0,8})$`)
	rolePattern  = regexp.MustCompile(`^[a-z]{1,32}$`)
	framePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// Validate normalises the refs.
func (a *ObserveArgs) Validate() *Error {
	regions := 0
	for _, given := range []bool{a.ElementRef != "", a.GroupRef != "", a.FrameID != ""} {
		if given {
			regions++
		}
	}
	switch {
	case regions > 1:
		return Errorf(CodeInvalidArgument, "element_ref, group_ref, frame_id: want one of them")
	case a.FrameID != "" && !framePattern.MatchString(string(a.FrameID)):
		return Errorf(CodeInvalidArgument, "frame_id %q: want one of the frame tree", clip(string(a.FrameID), 40))
	case a.Role != "" && !rolePattern.MatchString(a.Role):
		return Errorf(CodeInvalidArgument, "role %q: want a role such as button", clip(a.Role, 40))
	case utf8.RuneCountInString(a.Search) > MaxSearchChars:
		return Errorf(CodeInvalidArgument, "search has %d characters; at most %d", utf8.RuneCountInString(a.Search), MaxSearchChars)
	case a.Search != "" && strings.TrimSpace(a.Search) == "":
		return Errorf(CodeInvalidArgument, "search: nothing but blanks")
	}
	if a.GroupRef != "" {
		m := groupPattern.FindStringSubmatch(strings.TrimSpace(string(a.GroupRef)))
		if m == nil {
			return Errorf(CodeInvalidArgument, "group_ref %q: want a group of an observation, such as g3", clip(string(a.GroupRef), 40))
		}
		a.GroupRef = GroupRef(m[1])
	}
	return a.check(false)
}

// Narrow says whether it is of less than the whole page.
func (a *ObserveArgs) Narrow() bool {
	return a.Region() || a.Search != "" || a.Role != ""
}

// Region says whether it is of a part of the page.
func (a *ObserveArgs) Region() bool { return a.ElementRef != "" || a.GroupRef != "" || a.FrameID != "" }
