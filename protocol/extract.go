package protocol

// Bounds of an extraction.
const (
	MaxExtractRows  = 1000
	MaxExtractChars = 20_000 // of one value, in code points
	// maxExtractOffset is beyond what any page holds.
	maxExtractOffset = 10_000_000
	maxExtractIndex  = 1000
)

// ExtractArgs read records of a region, or of the whole page.
type ExtractArgs struct {
	RegionRef     Ref           `json:"region_ref,omitempty"`
	ObservationID ObservationID `json:"observation_id,omitempty"`
	// Index chooses one of several tables or lists of the region, from 0 in the
	// order of the page. Left out, it is the first table, and the list with the
	// most text.
	Index *int `json:"index,omitempty"`
	// Fields narrow and order the columns.
	Fields []string `json:"fields,omitempty"`
	// Offset is how much comes before what is wanted: rows, and of an article
	// characters. next_offset of an extraction is where the next one goes on; the
	// page is read again for it.
	Offset int `json:"offset,omitempty"`
	// Limit of rows: default 100, at most 1000.
	Limit int `json:"limit,omitempty"`
	// MaxTextChars of one value: default 2000, of an article 12,000.
	MaxTextChars int `json:"max_text_chars,omitempty"`
}

// Validate checks the region and the limits.
func (a *ExtractArgs) Validate() *Error {
	switch {
	case a.Limit < 0 || a.Limit > MaxExtractRows:
		return Errorf(CodeInvalidArgument, "limit %d: want 1-%d", a.Limit, MaxExtractRows)
	case a.MaxTextChars < 0 || a.MaxTextChars > MaxExtractChars:
		return Errorf(CodeInvalidArgument, "max_text_chars %d: want 1-%d", a.MaxTextChars, MaxExtractChars)
	case a.Offset < 0 || a.Offset > maxExtractOffset:
		return Errorf(CodeInvalidArgument, "offset %d: want 0-%d", a.Offset, maxExtractOffset)
	case a.Index != nil && (*a.Index < 0 || *a.Index > maxExtractIndex):
		return Errorf(CodeInvalidArgument, "index %d: want 0-%d", *a.Index, maxExtractIndex)
	}
	t := Target{ElementRef: a.RegionRef}
	err := t.check(false)
	a.RegionRef = t.ElementRef
	return err
}

// Extraction is a page's records. Its values come from the page: untrusted input.
type Extraction struct {
	Kind Kind   `json:"kind"`
	URL  string `json:"url"`
	// Name of the table or list: its caption or label, else the heading before it.
	Name string `json:"name,omitempty"`
	// Index of the table or list among those of the region, and the others; Found
	// is empty where there is one only, and ends at 20.
	Index int                `json:"index,omitempty"`
	Found []ExtractionChoice `json:"found,omitempty"`

	Columns []string `json:"columns"`
	// RowHeaders are the columns whose cells name their rows.
	RowHeaders []string            `json:"row_headers,omitempty"`
	Rows       []map[string]string `json:"rows"`
	// Cut are the values that are longer than max_text_chars; the first 100.
	Cut []CutValue `json:"cut,omitempty"`

	// Offset is that of the first row (of an article: character), Total how many
	// there are, NextOffset where to go on, absent at the end.
	Offset     int  `json:"offset,omitempty"`
	Total      int  `json:"total"`
	NextOffset int  `json:"next_offset,omitempty"`
	Truncated  bool `json:"truncated"`
}

// ExtractionChoice is a table or list that could be extracted.
type ExtractionChoice struct {
	Index int    `json:"index"`
	Name  string `json:"name,omitempty"`
	Rows  int    `json:"rows"`
}

// CutValue names a value that is not whole: the row counts from 0 within rows.
type CutValue struct {
	Row    int    `json:"row"`
	Column string `json:"column"`
}
