// Package extract reads a page's records: tables, lists, links and the article, as
// rows of named strings. It owns the shape of the rows; the page's script finds them. It never
// acts on the page and mints no refs.
//
// # Regions
//
// Without a region the whole page is meant: its first table, the list with the most
// text that is no navigation, all its links. A region ref is widened to what it can
// only mean: for a table or list the element itself, those inside of it, or the
// nearest around it; for links the element itself when it holds some, else the
// nearest list around it. Where there are several tables or lists, the answer names
// them (found), and index chooses.
//
// # Tables
//
// A cell that spans stands in each position that it covers, so that every row
// has all of its values; a span is cut where no row begins a cell any more, and
// at the end of its row group. Header rows (in thead, or of header cells only)
// name the columns, joined by " / " where there are several. Row headers are
// values like others: a th at the start of a row shifts nothing, and row_headers
// says which columns they are. Roles count as much as tags.
//
// # Lists
//
// Items in their order, those of nested lists after the item that they are in, with
// their level; an ordered list's numbers are in marker. Both columns are left out
// where they say nothing. Of a dl, a term is the title and its definitions the text.
// Where a page has no list, children that are articles or sections, or at least three
// of one tag and class, are items.
//
// # Articles
//
// The element that holds most of the prose, by its paragraphs and the share of links
// in them, or the article around it. Its text leaves out navigation, margins, forms
// and what is hidden; headings begin with #, items with - or their number.
//
// # Columns
//
// The column index (from 0) comes first. Fields narrow and order the columns; a
// name that is not offered is refused with those that are. Limit bounds the
// rows, never the total; next_offset says where the next extraction goes on (of an
// article in characters), and cut names the values that are not whole.
//
// The package starts no goroutine and keeps no state.
package extract
