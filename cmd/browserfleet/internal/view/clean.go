package view

import "github.com/browserfleet/browserfleet/protocol/compact"

// Line is s on one line, without anything that a terminal obeys, at most n
// characters.
func Line(s string, n int) string { return compact.Line(s, n) }

// Text is s with its lines, without anything that a terminal obeys.
func Text(s string) string { return compact.Text(s) }
