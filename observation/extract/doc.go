// Package extract reads a page's records: tables and links, as rows of named
// strings. It owns the shape of the rows; the page's script finds them. It never
// acts on the page and mints no refs.
//
// # Regions
//
// Without a region the whole page is meant: its first table, all its links. A
// region ref is widened to what it can only mean: for a table the element
// itself, the first table inside of it, or the nearest around it; for links the
// element itself when it holds some, else the nearest list around it.
//
// # Tables
//
// A cell that spans stands in each position that it covers, so that every row
// has all of its values; a span is cut where no row begins a cell any more, and
// at the end of its row group. Header rows (in thead, or of header cells only)
// name the columns, joined by " / " where there are several. Row headers are
// values like others: a th at the start of a row shifts nothing. Roles count as
// much as tags.
//
// # Columns
//
// The column index (from 0) comes first. Fields narrow and order the columns; a
// name that is not offered is refused with those that are. Limit bounds the
// rows, never the total.
//
// The package starts no goroutine and keeps no state.
package extract
