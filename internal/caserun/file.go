package caserun

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// File is a case.json. What only its oracle needs is not read.
type File struct {
	ID     string            `json:"id"`
	Pages  []string          `json:"pages"`
	Steps  []Step            `json:"steps"`
	Inputs []json.RawMessage `json:"inputs"`
	Expect []Expect          `json:"expect"`
	Server struct {
		Routes []Route `json:"routes"`
	} `json:"server"`

	folder string
}

// Route answers a path below the case's folder.
type Route struct {
	Path       string                     `json:"path"`
	Status     int                        `json:"status"`
	Headers    map[string]json.RawMessage `json:"headers"` // a string or several
	File       string                     `json:"file"`
	Body       string                     `json:"body"`
	BodyBase64 string                     `json:"body_base64"`
	DelayMS    int64                      `json:"delay_ms"`
	Hang       bool                       `json:"hang"`
}

// Target names an element.
type Target struct {
	Role string `json:"role"`
	Name string `json:"name"`
	From string `json:"from"`
	Hint struct {
		Frame string `json:"frame"` // part of the URL of the frame that it is in
	} `json:"hint"`
}

// Step is what the agent does.
type Step struct {
	Do      string   `json:"do"`
	As      string   `json:"as"`
	From    string   `json:"from"`
	URL     string   `json:"url"`
	Target  Target   `json:"target"`
	Value   string   `json:"value"`
	Options []string `json:"options"`
	Key     string   `json:"key"`
	DY      float64  `json:"dy"`
	Accept  bool     `json:"accept"`
	Text    *string  `json:"text"`
	Index   *int     `json:"index"`
	For     struct {
		MS       int64   `json:"ms"`
		Text     string  `json:"text"`
		URLEnds  string  `json:"url_ends"`
		Listed   *Target `json:"listed"`
		Tabs     int     `json:"tabs"`
		Download int     `json:"download"`
	} `json:"for"`
}

// Expect is what must hold after the last step.
type Expect struct {
	Kind        string          `json:"kind"`
	Step        int             `json:"step"`
	Index       int             `json:"index"`
	Observe     string          `json:"observe"`
	Extract     string          `json:"extract"`
	Role        string          `json:"role"`
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	Message     string          `json:"message"`
	Default     string          `json:"default_value"`
	States      map[string]any  `json:"states"`
	Expr        string          `json:"expr"`
	Equals      any             `json:"equals"`
	AtLeast     *int            `json:"at_least"`
	OneOf       []any           `json:"one_of"`
	AnyOf       []string        `json:"any_of"`
	EndsWith    string          `json:"ends_with"`
	Contains    []string        `json:"contains"`
	NotContains []string        `json:"not_contains"`
	Rows        [][]string      `json:"rows"`
	Items       json.RawMessage `json:"items"`
	Text        string          `json:"text"`
	Path        string          `json:"path"`
	Header      string          `json:"header"`
	Before      bool            `json:"before"`
	After       bool            `json:"after"`
}

// Read reads a case's folder.
func Read(folder string) (*File, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "case.json"))
	if err != nil {
		return nil, err
	}
	f := &File{folder: folder}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return f, nil
}
