package protocol

import (
	"regexp"
	"slices"
)

// Budgets of an observation, in characters (Unicode code points) and elements.
const (
	MaxTextChars        = 12_000 // text in one answer
	MaxRetainedChars    = 60_000 // text that is read from the page
	MaxElements         = 100    // elements in one answer
	summaryTextChars    = 4_000
	summaryElements     = 40
	documentElements    = 20
	maxScreenshotInline = 200 << 10
)

// MaxScreenshotInline is how many bytes of a picture fit a result.
const MaxScreenshotInline = maxScreenshotInline

// Mode is how much of a page an observation shows.
type Mode string

// The modes.
const (
	// ModeSummary: 4,000 characters, 40 elements; of larger pages tiers 1-3.
	ModeSummary Mode = "summary"
	// ModeInteractive: no text, 100 elements of all tiers.
	ModeInteractive Mode = "interactive"
	// ModeDocument: 12,000 characters, 20 elements; of larger pages tiers 1-2.
	ModeDocument Mode = "document"
)

// ObserveOptions shape an observation.
type ObserveOptions struct {
	Mode         Mode `json:"mode,omitempty"`
	MaxTextChars *int `json:"max_text_chars,omitempty"`
	MaxElements  *int `json:"max_elements,omitempty"`
	// Frames is all for the whole tree of frames; empty for the first 30, and
	// cross-site ones at most two deep.
	Frames string `json:"frames,omitempty"`
	// Since is an observation: what changed since then is shown, where that is
	// smaller than the whole.
	Since ObservationID `json:"since,omitempty"`
}

// FramesAll asks for the whole tree of frames.
const FramesAll = "all"

var observationPattern = regexp.MustCompile(`^o-[0-9]{1,19}-[1-9][0-9]{0,8}$`)

// Validate checks mode and budgets.
func (o *ObserveOptions) Validate() *Error {
	if o.Mode != "" && !slices.Contains([]Mode{ModeSummary, ModeInteractive, ModeDocument}, o.Mode) {
		return Errorf(CodeInvalidArgument, "mode %q: want summary, interactive or document", clip(string(o.Mode), 20))
	}
	if o.Frames != "" && o.Frames != FramesAll {
		return Errorf(CodeInvalidArgument, "frames %q: want all, or nothing", clip(o.Frames, 20))
	}
	if o.Since != "" && !observationPattern.MatchString(string(o.Since)) {
		return Errorf(CodeInvalidArgument, "since %q: want the id of an observation, such as o-1-5", clip(string(o.Since), 40))
	}
	if n := o.MaxTextChars; n != nil && (*n < 0 || *n > MaxTextChars) {
		return Errorf(CodeInvalidArgument, "max_text_chars %d: want 0-%d", *n, MaxTextChars)
	}
	if n := o.MaxElements; n != nil && (*n < 0 || *n > MaxElements) {
		return Errorf(CodeInvalidArgument, "max_elements %d: want 0-%d", *n, MaxElements)
	}
	return nil
}

// ObserveBudget is what a mode and its options come to.
type ObserveBudget struct {
	Mode      Mode
	TextChars int
	Elements  int
	// MaxTier: of a page that does not fit the budget, elements of a higher tier
	// are not shown.
	MaxTier int
	// AllFrames: the tree of frames is shown whole.
	AllFrames bool
	// Since asks for a difference.
	Since ObservationID
}

// Budget resolves the options; nil means the defaults.
func (o *ObserveOptions) Budget() ObserveBudget {
	b := ObserveBudget{Mode: ModeSummary, TextChars: summaryTextChars, Elements: summaryElements, MaxTier: 3}
	if o == nil {
		return b
	}
	switch o.Mode {
	case ModeInteractive:
		b = ObserveBudget{Mode: ModeInteractive, TextChars: 0, Elements: MaxElements, MaxTier: 5}
	case ModeDocument:
		b = ObserveBudget{Mode: ModeDocument, TextChars: MaxTextChars, Elements: documentElements, MaxTier: 2}
	}
	if o.MaxTextChars != nil {
		b.TextChars = *o.MaxTextChars
	}
	if o.MaxElements != nil {
		b.Elements = *o.MaxElements
	}
	b.AllFrames, b.Since = o.Frames == FramesAll, o.Since
	return b
}

// Observation is what the agent is shown of its page. Text and names come from
// the page: untrusted input, never instructions.
type Observation struct {
	ID         ObservationID `json:"id"`
	Generation Generation    `json:"generation"`
	PageID     PageID        `json:"page_id"`
	URL        string        `json:"url"`
	Title      string        `json:"title"`
	Mode       Mode          `json:"mode"`
	At         Time          `json:"at"`

	// ContentType of a document that is no HTML: a PDF or a picture has no text
	// and no elements to show.
	ContentType string `json:"content_type,omitempty"`

	// Scope is what was asked for when that was not the whole page: everything here
	// is of it.
	Scope *Scope `json:"scope,omitempty"`
	// Difference is there when one was asked for. Unless its Whole says otherwise,
	// Text and Elements are empty, and what changed is in it.
	Difference *Difference `json:"difference,omitempty"`
	// Matches are where a searched text was found; TotalMatches is how many there
	// are, MatchOffset how many came in earlier slices.
	Matches        []Match `json:"matches,omitempty"`
	TotalMatches   *int    `json:"total_matches,omitempty"`
	MatchOffset    int     `json:"match_offset,omitempty"`
	Text           string  `json:"text,omitempty"`
	TextTruncated  bool    `json:"text_truncated,omitempty"`
	TotalTextChars int     `json:"total_text_chars"`
	// TextOffset is how many characters came before Text, in earlier slices of this
	// observation; ElementOffset is the same of Elements.
	TextOffset int `json:"text_offset,omitempty"`

	Elements          []Element `json:"elements,omitempty"`
	ElementsTruncated bool      `json:"elements_truncated,omitempty"`
	TotalElements     int       `json:"total_elements"`
	ElementOffset     int       `json:"element_offset,omitempty"`
	// Continuation is what observe_next takes to show the next slice of this
	// observation, as the page was then. There is none when nothing of what was kept
	// is left.
	Continuation Continuation `json:"continuation,omitempty"`
	// UnkeptTextChars and UnkeptElements stand in the last slice: the page had so
	// many more than were kept. A look at a part of it shows them.
	UnkeptTextChars int `json:"unkept_text_chars,omitempty"`
	UnkeptElements  int `json:"unkept_elements,omitempty"`
	UnkeptMatches   int `json:"unkept_matches,omitempty"`
	// UnreadFrames are frames that a user can see and that were not read; the first
	// 20 of them.
	UnreadFrames []UnreadFrame `json:"unread_frames,omitempty"`
	// Partial: the page was too large to be read whole in time, or frames were not
	// read; the totals are of what was read.
	Partial bool    `json:"partial,omitempty"`
	Groups  []Group `json:"groups,omitempty"`

	// Digest changes when URL, title, text or elements do: SHA-256, hex.
	Digest string `json:"digest"`

	// Tabs are the open ones, in the order of their opening; PageID is the one
	// that is shown.
	Tabs []Tab `json:"tabs,omitempty"`
	// FrameTree is of the tab that is shown.
	FrameTree *FrameTree `json:"frame_tree,omitempty"`

	PendingDialogs []Dialog `json:"pending_dialogs,omitempty"`
	RecentDialogs  []Dialog `json:"recent_dialogs,omitempty"`
	// Stale: the page could not be read (a dialog is open); this is the last
	// that is known of it.
	Stale bool `json:"stale,omitempty"`
}

// Scope is the part of a page that an observation is of.
type Scope struct {
	ElementRef Ref      `json:"element_ref,omitempty"`
	GroupRef   GroupRef `json:"group_ref,omitempty"`
	FrameID    FrameID  `json:"frame_id,omitempty"`
	// Search: Text is empty, Matches has what was found, and Elements are those whose
	// name has it.
	Search string `json:"search,omitempty"`
	Role   string `json:"role,omitempty"`
}

// Difference is what changed since another observation.
type Difference struct {
	Since ObservationID `json:"since"`
	// Whole is why the observation is shown whole instead: navigated (there is another
	// document), not_smaller, unknown (it is not kept, or of another generation),
	// other_scope, other_tab or stale.
	Whole string `json:"whole,omitempty"`
	// Added are elements that were not shown then. Changed were, as something else.
	Added   []Element `json:"added,omitempty"`
	Changed []Element `json:"changed,omitempty"`
	// Removed were shown then, and are not among what was read now.
	Removed []Ref `json:"removed,omitempty"`
	// Text that was shown then is the same if this is nil.
	Text *TextChange `json:"text,omitempty"`
	// Navigated: the URL is another one, of the same document.
	Navigated bool `json:"navigated,omitempty"`
}

// TextChange replaces a part of a text, in characters.
type TextChange struct {
	Offset  int    `json:"offset"`
	Removed int    `json:"removed,omitempty"`
	Added   string `json:"added,omitempty"`
}

// Reasons for showing an observation whole.
const (
	WholeNavigated  = "navigated"
	WholeNotSmaller = "not_smaller"
	WholeUnknown    = "unknown"
	WholeOtherScope = "other_scope"
	WholeOtherTab   = "other_tab"
	WholeStale      = "stale"
)

// Match is a place where a searched text was found.
type Match struct {
	// Text around it.
	Text string `json:"text"`
	// Count of finds in it, when there are several.
	Count int `json:"count,omitempty"`
}

// Element is something on the page that an agent can act on.
type Element struct {
	Ref  Ref    `json:"ref"`
	Role string `json:"role"`
	Name string `json:"name"`
	// FrameID of the frame that it is in, empty for the main one. The ref alone
	// names the element; this only tells frames apart.
	FrameID FrameID `json:"frame_id,omitempty"`
	// ClickableBy says why an element without a role is listed: listener (its onclick),
	// cursor (that of a link), tabindex, or canvas.
	ClickableBy string `json:"clickable_by,omitempty"`
	// InputType of an <input>.
	InputType string `json:"input_type,omitempty"`
	// Value of a field; never of a password.
	Value string `json:"value,omitempty"`
	// Href of a link, absolute.
	Href string `json:"href,omitempty"`
	// States that hold: disabled, checked, mixed, selected, expanded, collapsed,
	// pressed, required, invalid, readonly, focused, offscreen.
	States []string `json:"states,omitempty"`
	// Section is the landmark around it, or record.
	Section    string   `json:"section,omitempty"`
	Tier       int      `json:"tier"`
	Pagination bool     `json:"pagination,omitempty"`
	Group      GroupRef `json:"group,omitempty"`
}

// Group is a record of the page (a list item, a row, an article) with the
// elements in it.
type Group struct {
	Ref      GroupRef `json:"ref"`
	Label    string   `json:"label"`
	Elements []Ref    `json:"elements"`
}

// Tab is an open tab.
type Tab struct {
	ID    PageID `json:"id"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	// Current: actions that name no tab are of this one.
	Current bool `json:"current,omitempty"`
	// Opener is the tab whose page opened this one.
	Opener PageID `json:"opener,omitempty"`
	// Crashed: its process has ended; open or reload revives it.
	Crashed bool `json:"crashed,omitempty"`
}

// FrameTree is the frames of a tab, flat: each child names its parent.
type FrameTree struct {
	Top      *Frame  `json:"top"`
	Children []Frame `json:"children"`
	// Truncated: Omitted frames are not among them. They are in the whole tree,
	// which observe with frames=all shows.
	Truncated bool `json:"truncated"`
	Omitted   int  `json:"omitted,omitempty"`
}

// Frame is a document within a tab.
type Frame struct {
	FrameID       FrameID `json:"frame_id"`
	ParentFrameID FrameID `json:"parent_frame_id,omitempty"`
	URL           string  `json:"url"`
	Origin        string  `json:"origin"`
	Name          string  `json:"name,omitempty"`
	// IsOOPIF: it runs in a process, and answers on a session, of its own.
	IsOOPIF   bool   `json:"is_oopif"`
	SessionID string `json:"session_id,omitempty"`
	// Crashed: its process died, and the frame is empty.
	Crashed bool `json:"crashed,omitempty"`
}

// UnreadFrame is a frame whose elements and text an observation lacks.
type UnreadFrame struct {
	FrameID FrameID `json:"frame_id"`
	URL     string  `json:"url"`
	// Reason is crashed, unresponsive, replaced (it got another document
	// meanwhile) or too_many.
	Reason string `json:"reason"`
}

// DialogType is JavaScript's kind of dialog.
type DialogType string

// The dialog types.
const (
	DialogAlert        DialogType = "alert"
	DialogConfirm      DialogType = "confirm"
	DialogPrompt       DialogType = "prompt"
	DialogBeforeUnload DialogType = "beforeunload"
)

// DialogOrphaned is the state of a dialog that nobody can answer: its browser is
// being replaced.
const DialogOrphaned = "orphaned"

// Dialog is a JavaScript dialog, open or closed.
type Dialog struct {
	ID            DialogID   `json:"id"`
	Type          DialogType `json:"type"`
	Message       string     `json:"message"`
	DefaultPrompt string     `json:"default_prompt,omitempty"`
	FrameID       FrameID    `json:"frame_id,omitempty"`
	OpenedAt      Time       `json:"opened_at"`
	ClosedAt      *Time      `json:"closed_at,omitempty"`
	// ClosedBy is agent, auto_policy, agent_navigation, watchdog, remote or
	// recovery.
	ClosedBy string `json:"closed_by,omitempty"`
	// Accepted, of a closed one.
	Accepted *bool `json:"accepted,omitempty"`
	// State of an open one: open, answering, or orphaned (its frame is gone, and
	// the browser is being replaced).
	State string `json:"state,omitempty"`
	// Tab that shows it.
	Tab PageID `json:"tab,omitempty"`
	// URL of the document that asks.
	URL string `json:"url,omitempty"`
	// Truncated: message or default prompt was longer.
	Truncated bool `json:"truncated,omitempty"`
	// Storm: it was dismissed unseen, as one of too many.
	Storm bool `json:"storm,omitempty"`
}
