package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/browserfleet/browserfleet/protocol/compact"
)

// JSON writes v as one object on one line.
func JSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	var b strings.Builder
	for _, r := range string(text) {
		// encoding/json escapes C0 only. Outside of strings JSON has none of
		// these, so escaping them everywhere is right.
		if (r >= 0x7f && r <= 0x9f) || (compact.Invisible(r) && r <= 0xffff) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	b.WriteByte('\n')
	_, err = io.WriteString(w, b.String())
	return err
}
