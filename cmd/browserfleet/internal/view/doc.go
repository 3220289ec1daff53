// Package view writes what the fleet answers for people and for machines.
//
// Everything that comes from a page is hostile: [Line] and [Text] take out what a
// terminal would obey (escape sequences, other control characters) and what makes
// text look like other text (directional overrides, invisible characters). Text
// of a page stands between two lines with a random mark, so that a page cannot
// write a closing line itself, and says that it is untrusted: people paste it to
// models.
//
// [JSON] writes one object. Characters that terminals obey are escaped in it too,
// as \uXXXX; decoded, the text is what the page had.
//
// [Progress] is a line on a terminal for what takes long. It is the one thing
// here with a goroutine, which its stop function waits for.
package view
