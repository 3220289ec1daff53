package chrome

import (
	"cmp"
	"html"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

const (
	masked = "[redacted]"
	// tail: so many characters of a secret at the end of a text count as one
	// that was cut off. Limits on texts are the agent's to choose, so a cut must
	// not show what the whole would not.
	tail = 4
)

// masker hides the secrets of an owner in everything that leaves the page as
// text. It knows all of them from the beginning, not those that were filled: a
// page may keep what was typed into it beyond the browser that it was typed in.
type masker struct {
	spellings []string // longest first
	hide      *strings.Replacer
}

// newMasker knows each secret as it is, and as URLs and markup spell it.
func newMasker(secrets []natsx.Secret) *masker {
	m := &masker{}
	for _, s := range secrets {
		raw := string(s)
		m.spellings = append(m.spellings, raw, url.QueryEscape(raw), url.PathEscape(raw), html.EscapeString(raw))
	}
	slices.SortFunc(m.spellings, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	m.spellings = slices.Compact(m.spellings)
	pairs := make([]string, 0, 2*len(m.spellings))
	for _, s := range m.spellings {
		pairs = append(pairs, s, masked)
	}
	m.hide = strings.NewReplacer(pairs...)
	return m
}

// outcome is a copy without secrets: the observer keeps its own.
func (m *masker) outcome(out *environment.Outcome) *environment.Outcome {
	if len(m.spellings) == 0 {
		return out
	}
	c := m.copyOf(reflect.ValueOf(out)).Interface().(*environment.Outcome)
	if c.Extraction != nil {
		m.cuts(c.Extraction)
	}
	return c
}

// whole hides in a page's text, before it is cut into slices; of one that goes on
// in the page the end may be the beginning of a secret.
func (m *masker) whole(s string, cut bool) string {
	if len(m.spellings) == 0 {
		return s
	}
	if s = m.hide.Replace(s); cut {
		s = m.cutTail(s, 1)
	}
	return s
}

// cuts hides what the cuts of an extraction left of secrets: where to cut is the
// agent's choice.
func (m *masker) cuts(x *protocol.Extraction) {
	for _, at := range x.Cut {
		x.Rows[at.Row][at.Column] = m.cutTail(x.Rows[at.Row][at.Column], 1)
	}
}

func (m *masker) text(s string) string { return m.cutTail(m.hide.Replace(s), tail) }

// cutTail hides the beginning of a secret at the end of a text, if it has at
// least so many characters.
func (m *masker) cutTail(s string, least int) string {
	for _, secret := range m.spellings {
		for n := len(secret) - 1; n > 0; n-- {
			if !strings.HasSuffix(s, secret[:n]) {
				continue
			}
			if utf8.RuneCountInString(secret[:n]) < least {
				break
			}
			return s[:len(s)-n] + masked
		}
	}
	return s
}

// copyOf is a deep copy in which every string is masked, keys of maps included:
// no field can be forgotten. Unexported fields (a time's) are kept as they are.
func (m *masker) copyOf(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		c := reflect.New(v.Type()).Elem()
		c.SetString(m.text(v.String()))
		return c
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return m.copyOf(v.Elem())
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(m.copyOf(v.Elem()))
		return c
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(m.copyOf(v.Field(i)))
			}
		}
		return c
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v // pictures
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(m.copyOf(v.Index(i)))
		}
		return c
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for entries := v.MapRange(); entries.Next(); {
			c.SetMapIndex(m.copyOf(entries.Key()), m.copyOf(entries.Value()))
		}
		return c
	}
	return v
}
