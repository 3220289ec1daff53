package action

import (
	"strings"
	"unicode"

	"github.com/chromedp/cdproto/input"
)

// key is what Chromium needs to know of a key.
type key struct {
	name string
	code string
	vk   int64
	text string
	// shift: on a US keyboard it is typed with Shift held.
	shift bool
	// side is 1 for the left one of two.
	side int64
}

// keys are those of protocol.Keys and protocol.Chords by their names there. Enter and
// Space come with their text, without which Chromium submits no form and presses no
// button.
var keys = func() map[string]key {
	all := map[string]key{
		"Enter":      {name: "Enter", code: "Enter", vk: 13, text: "\r"},
		"Escape":     {name: "Escape", code: "Escape", vk: 27},
		"Tab":        {name: "Tab", code: "Tab", vk: 9},
		"Backspace":  {name: "Backspace", code: "Backspace", vk: 8},
		"Delete":     {name: "Delete", code: "Delete", vk: 46},
		"Space":      {name: " ", code: "Space", vk: 32, text: " "},
		"ArrowUp":    {name: "ArrowUp", code: "ArrowUp", vk: 38},
		"ArrowDown":  {name: "ArrowDown", code: "ArrowDown", vk: 40},
		"ArrowLeft":  {name: "ArrowLeft", code: "ArrowLeft", vk: 37},
		"ArrowRight": {name: "ArrowRight", code: "ArrowRight", vk: 39},
		"Home":       {name: "Home", code: "Home", vk: 36},
		"End":        {name: "End", code: "End", vk: 35},
		"PageUp":     {name: "PageUp", code: "PageUp", vk: 33},
		"PageDown":   {name: "PageDown", code: "PageDown", vk: 34},
		"F10":        {name: "F10", code: "F10", vk: 121},
		"Alt":        {name: "Alt", code: "AltLeft", vk: 18, side: 1},
		"Control":    {name: "Control", code: "ControlLeft", vk: 17, side: 1},
		"Meta":       {name: "Meta", code: "MetaLeft", vk: 91, side: 1},
		"Shift":      {name: "Shift", code: "ShiftLeft", vk: 16, side: 1},
	}
	for letter := 'A'; letter <= 'Z'; letter++ {
		all[string(letter)] = characters[unicode.ToLower(letter)]
	}
	return all
}()

// characters are those that a US keyboard has keys for.
var characters = func() map[rune]key {
	all := map[rune]key{'\n': {name: "Enter", code: "Enter", vk: 13, text: "\r"}, ' ': {name: " ", code: "Space", vk: 32, text: " "}}
	add := func(plain, shifted rune, code string, vk int64) {
		all[plain] = key{name: string(plain), code: code, vk: vk, text: string(plain)}
		all[shifted] = key{name: string(shifted), code: code, vk: vk, text: string(shifted), shift: true}
	}
	for r := 'a'; r <= 'z'; r++ {
		upper := unicode.ToUpper(r)
		add(r, upper, "Key"+string(upper), int64(upper))
	}
	for i, shifted := range ")!@#$%^&*(" {
		digit := '0' + rune(i)
		add(digit, shifted, "Digit"+string(digit), int64(digit))
	}
	for _, k := range []struct {
		pair, code string
		vk         int64
	}{
		{"-_", "Minus", 189},
		{"=+", "Equal", 187},
		{"[{", "BracketLeft", 219},
		{"]}", "BracketRight", 221},
		{`\|`, "Backslash", 220},
		{";:", "Semicolon", 186},
		{`'"`, "Quote", 222},
		{"`~", "Backquote", 192},
		{",<", "Comma", 188},
		{".>", "Period", 190},
		{"/?", "Slash", 191},
	} {
		add(rune(k.pair[0]), rune(k.pair[1]), k.code, k.vk)
	}
	return all
}()

// Bits of the keys that are held.
const (
	heldAlt = 1 << iota
	heldControl
	heldMeta
	heldShift
)

var held = map[string]int64{"Alt": heldAlt, "Control": heldControl, "Meta": heldMeta, "Shift": heldShift}

// chordCommands are the events of a key or chord of the protocol: the keys that are
// held go down one after the other, and up again in the opposite order.
func chordCommands(name string) ([]command, bool) {
	parts := strings.Split(name, "+")
	last := len(parts) - 1
	k, ok := keys[parts[last]]
	if !ok {
		return nil, false
	}
	var down, up []command
	var bits int64
	for _, part := range parts[:last] {
		after := bits | held[part]
		down = append(down, command{input.CommandDispatchKeyEvent, keyEvent(keys[part], input.DispatchKeyEventTypeRawKeyDown, after)})
		up = append([]command{{input.CommandDispatchKeyEvent, keyEvent(keys[part], input.DispatchKeyEventTypeKeyUp, bits)}}, up...)
		bits = after
	}
	return append(append(down, keyCommands(k, bits)...), up...), true
}

// keyCommands press and release a key. With another key than Shift held it writes
// nothing.
func keyCommands(k key, bits int64) []command {
	if k.shift {
		bits |= heldShift
	}
	if bits&^heldShift != 0 {
		k.text = ""
	}
	if bits&heldShift != 0 && len(k.name) == 1 {
		k.name = strings.ToUpper(k.name)
	}
	down := keyEvent(k, input.DispatchKeyEventTypeRawKeyDown, bits)
	if k.text != "" {
		down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, k.text, k.text
	}
	return []command{
		{input.CommandDispatchKeyEvent, down},
		{input.CommandDispatchKeyEvent, keyEvent(k, input.DispatchKeyEventTypeKeyUp, bits)},
	}
}

func keyEvent(k key, kind input.DispatchKeyEventType, bits int64) input.DispatchKeyEventParams {
	return input.DispatchKeyEventParams{
		Type: kind, Key: k.name, Code: k.code, WindowsVirtualKeyCode: k.vk, NativeVirtualKeyCode: k.vk, Modifiers: bits, Location: k.side,
	}
}

// typedCommands are the events of one character. One that a US keyboard has no key for
// comes as from another layout, with the key but no place of it; what is composed from
// several keys everywhere is inserted, as an input method does.
func typedCommands(r rune) []command {
	if k, ok := characters[r]; ok {
		return keyCommands(k, 0)
	}
	if r > unicode.MaxLatin1 && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew) || unicode.Is(unicode.Mn, r) {
		return []command{{input.CommandInsertText, input.InsertTextParams{Text: string(r)}}}
	}
	return keyCommands(key{name: string(r), text: string(r)}, 0)
}
