package protocol

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Args are a kind's arguments. Validate checks everything that needs no page.
type Args interface{ Validate() *Error }

// NoArgs is for kinds that take none.
type NoArgs struct{}

// Validate accepts.
func (*NoArgs) Validate() *Error { return nil }

// Target names an element. The observation id is optional: a ref means one DOM
// node for a whole generation.
type Target struct {
	ElementRef    Ref           `json:"element_ref,omitempty"`
	ObservationID ObservationID `json:"observation_id,omitempty"`
}

// Ref is the ref that names the element.
func (t *Target) Ref() Ref { return t.ElementRef }

var refPattern = regexp.MustCompile(`^(?:@|ref=)?(e[1-9][0-9]{0,8})$`)

// ParseRef accepts e12, @e12 and ref=e12.
func ParseRef(s string) (Ref, bool) {
	m := refPattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "", false
	}
	return Ref(m[1]), true
}

// check normalises the ref.
func (t *Target) check(required bool) *Error {
	if t.ElementRef == "" {
		if required {
			return Errorf(CodeInvalidArgument, "element_ref is missing; take one from the newest observation")
		}
		return nil
	}
	ref, ok := ParseRef(string(t.ElementRef))
	if !ok {
		return Errorf(CodeInvalidArgument, "element_ref %q: want a ref of an observation, such as e12", clip(string(t.ElementRef), 40))
	}
	t.ElementRef = ref
	return nil
}

// OpenArgs navigate to a URL.
type OpenArgs struct {
	URL string `json:"url"`
}

// Validate leaves schemes and hosts to the egress policy, which parses URLs as
// Chromium does.
func (a *OpenArgs) Validate() *Error {
	switch {
	case strings.TrimSpace(a.URL) == "":
		return Errorf(CodeInvalidURL, "url is missing")
	case len(a.URL) > 8192:
		return Errorf(CodeInvalidURL, "url has %d bytes; at most 8192", len(a.URL))
	}
	return nil
}

// ObserveNextArgs show the next slice of the newest observation.
type ObserveNextArgs struct {
	Continuation Continuation `json:"continuation"`
}

var continuationPattern = regexp.MustCompile(`^c-[0-9]{1,19}-[1-9][0-9]{0,8}$`)

// Validate checks the form of the token.
func (a *ObserveNextArgs) Validate() *Error {
	if !continuationPattern.MatchString(string(a.Continuation)) {
		return Errorf(CodeInvalidArgument, "continuation %q: want the one of the newest observation, such as c-1-5", clip(string(a.Continuation), 40))
	}
	return nil
}

// MaxValueBytes bounds what one fill may write.
const MaxValueBytes = 64 << 10

// FillArgs replace the value of a text field. Not for secrets.
type FillArgs struct {
	Target
	Value string `json:"value"`
	// absent: the request had no value. Clearing a field takes an empty one.
	absent bool
}

// UnmarshalJSON notices a value that is missing: a misspelt field must not clear
// the page's.
func (a *FillArgs) UnmarshalJSON(b []byte) error {
	var in struct {
		Target
		Value *string `json:"value"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*a = FillArgs{Target: in.Target, absent: in.Value == nil}
	if in.Value != nil {
		a.Value = *in.Value
	}
	return nil
}

// Validate checks target and size.
func (a *FillArgs) Validate() *Error {
	if a.absent {
		return Errorf(CodeInvalidArgument, "value is missing")
	}
	if len(a.Value) > MaxValueBytes {
		return Errorf(CodeInvalidArgument, "value has %d bytes; at most %d", len(a.Value), MaxValueBytes)
	}
	return a.check(true)
}

// FillCredentialArgs fill a secret by its name.
type FillCredentialArgs struct {
	Target
	CredentialRef string `json:"credential_ref"`
}

// Validate checks target and name.
func (a *FillCredentialArgs) Validate() *Error {
	if !ValidToken(a.CredentialRef, MaxIDLen) {
		return Errorf(CodeInvalidArgument, "credential_ref: want the name of a credential, 1-%d of A-Z a-z 0-9 _ -", MaxIDLen)
	}
	return a.check(true)
}

// SelectArgs choose options of a select by value or visible label.
type SelectArgs struct {
	Target
	Values []string `json:"values"`
}

// Validate wants at least one value.
func (a *SelectArgs) Validate() *Error {
	if len(a.Values) == 0 || len(a.Values) > 1000 {
		return Errorf(CodeInvalidArgument, "values: want 1-1000 option values or labels")
	}
	return a.check(true)
}

// CheckArgs set a checkbox, radio or switch.
type CheckArgs struct {
	Target
	Checked *bool `json:"checked"`
}

// Validate wants the wanted state.
func (a *CheckArgs) Validate() *Error {
	if a.Checked == nil {
		return Errorf(CodeInvalidArgument, "checked is missing: true or false")
	}
	return a.check(true)
}

// ScrollArgs move the viewport, or bring an element into it.
type ScrollArgs struct {
	Target
	To string `json:"to"`
	// Pages are viewport heights, for up and down; default 1, at most 20.
	Pages float64 `json:"pages,omitempty"`
}

// Validate checks the direction.
func (a *ScrollArgs) Validate() *Error {
	if !slices.Contains([]string{"up", "down", "top", "bottom", "element"}, a.To) {
		return Errorf(CodeInvalidArgument, "to %q: want up, down, top, bottom or element", clip(a.To, 20))
	}
	if a.Pages < 0 || a.Pages > 20 {
		return Errorf(CodeInvalidArgument, "pages %v: want more than 0, at most 20", a.Pages)
	}
	return a.check(a.To == "element")
}

// What tabs does.
const (
	TabsList   = "list"
	TabsNew    = "new"
	TabsSelect = "select"
	TabsClose  = "close"
)

// TabsArgs list, open, choose and close tabs. The tab is the request's field tab,
// or its place in the list.
type TabsArgs struct {
	// Action is list, new, select or close.
	Action string `json:"action"`
	// Index is a place in the list of tabs, from 0, for select and close.
	Index *int `json:"index,omitempty"`
	// URL is opened in a new tab.
	URL string `json:"url,omitempty"`
}

// Validate checks that the action has what it needs. A close without a tab is of
// the current one.
func (a *TabsArgs) Validate() *Error {
	switch {
	case !slices.Contains([]string{TabsList, TabsNew, TabsSelect, TabsClose}, a.Action):
		return Errorf(CodeInvalidArgument, "action %q: want list, new, select or close", clip(a.Action, 20))
	case a.Index != nil && a.Action != TabsSelect && a.Action != TabsClose:
		return Errorf(CodeInvalidArgument, "index is for select and close")
	case a.Index != nil && *a.Index < 0:
		return Errorf(CodeInvalidArgument, "index %d: want a place in the list, from 0", *a.Index)
	case a.URL != "" && a.Action != TabsNew:
		return Errorf(CodeInvalidArgument, "url is for new")
	case len(a.URL) > 8192:
		return Errorf(CodeInvalidURL, "url has %d bytes; at most 8192", len(a.URL))
	}
	return nil
}

// CancelArgs name the request that must not run, or must stop.
type CancelArgs struct {
	Request RequestID `json:"request"`
}

// Validate wants a name that can be a result's subject.
func (a *CancelArgs) Validate() *Error {
	if !ValidToken(string(a.Request), MaxIDLen) {
		return Errorf(CodeInvalidArgument, "request: want the id of a request")
	}
	return nil
}

// InterruptArgs stop what runs now. Naming the request makes a late interrupt
// harmless.
type InterruptArgs struct {
	Request RequestID `json:"request"`
}

// Validate wants a name.
func (a *InterruptArgs) Validate() *Error {
	return (&CancelArgs{Request: a.Request}).Validate()
}
