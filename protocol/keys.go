package protocol

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys that press accepts by themselves.
var Keys = []string{
	"Enter", "Escape", "Tab", "Backspace", "Delete", "Space", "ArrowUp", "ArrowDown",
	"ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown",
}

// chorded are the keys that may be pressed while others are held. What a browser
// itself would act on (a tab, a window, the history, the address, printing, saving,
// finding) is in none of them.
var chorded = []struct {
	held string
	keys []string
}{
	{"Shift", []string{
		"Tab", "Enter", "Space", "Backspace", "Delete", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown", "F10",
	}},
	{"Control", []string{
		"A", "B", "C", "I", "U", "V", "X", "Y", "Z", "Enter", "Space", "Backspace", "Delete",
		"ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End",
	}},
	{"Control+Shift", []string{"V", "Z", "Enter", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"}},
	{"Meta", []string{
		"A", "B", "C", "I", "U", "V", "X", "Z", "Enter", "Backspace", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight",
	}},
	{"Meta+Shift", []string{"Z", "Enter", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"}},
	{"Alt", []string{"Enter", "ArrowUp", "ArrowDown"}},
}

// Chords that press accepts besides Keys, such as Control+A.
var Chords = func() (all []string) {
	for _, row := range chorded {
		for _, key := range row.keys {
			all = append(all, row.held+"+"+key)
		}
	}
	return all
}()

// PressArgs press one key or chord, at an element or where the focus is.
type PressArgs struct {
	Target
	// Key is one of Keys or Chords: Enter, Shift+Tab, Control+A.
	Key string `json:"key"`
}

// Validate checks the key.
func (a *PressArgs) Validate() *Error {
	if !slices.Contains(Keys, a.Key) && !slices.Contains(Chords, a.Key) {
		return Errorf(CodeInvalidArgument, "key %q: want one of %s, or a chord of docs/actions.md, such as Control+A or Shift+Tab; text is for type",
			clip(a.Key, 20), strings.Join(Keys, ", "))
	}
	return a.check(false)
}

const (
	// MaxTypedChars bounds a text that is typed: a key takes about 3 ms.
	MaxTypedChars = 2000
	// maxKeyDelayMS and maxTypingMS bound the pauses between keys: each, and
	// together.
	maxKeyDelayMS = 1000
	maxTypingMS   = 30_000
)

// TypeArgs type a text key by key, at the end of an element or where the focus is.
// Not for secrets.
type TypeArgs struct {
	Target
	// Text is typed as it is; a line break is the key Enter.
	Text string `json:"text"`
	// DelayMS is the pause between two keys, at most 1,000; the pauses of a text
	// may take 30 s together.
	DelayMS int64 `json:"delay_ms,omitempty"`
}

// Validate wants text that keys can type. A tab would carry the rest of the text to
// another field, maybe to one for passwords.
func (a *TypeArgs) Validate() *Error {
	chars := int64(utf8.RuneCountInString(a.Text))
	switch {
	case chars == 0 || chars > MaxTypedChars:
		return Errorf(CodeInvalidArgument, "text has %d characters: want 1-%d; fill takes more", chars, MaxTypedChars)
	case strings.ContainsFunc(a.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }):
		return Errorf(CodeInvalidArgument, "text: a control character is no text; press has Tab and the like")
	case a.DelayMS < 0 || a.DelayMS > maxKeyDelayMS:
		return Errorf(CodeInvalidArgument, "delay_ms %d: want at most %d", a.DelayMS, maxKeyDelayMS)
	case a.DelayMS*chars > maxTypingMS:
		return Errorf(CodeInvalidArgument, "delay_ms %d: %d characters would take more than %d s", a.DelayMS, chars, maxTypingMS/1000)
	}
	return a.check(false)
}
