package protocol_test

import (
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestWhichSettingsAnAcquireMayAskFor(t *testing.T) {
	t.Parallel()
	size := func(w, h int64, scale float64) protocol.AcquireQuery {
		return protocol.AcquireQuery{Setting: protocol.Setting{Viewport: &protocol.Viewport{Width: w, Height: h, Scale: scale}}}
	}
	locale := func(l string) protocol.AcquireQuery {
		return protocol.AcquireQuery{Setting: protocol.Setting{Locale: l}}
	}
	zone := func(z string) protocol.AcquireQuery {
		return protocol.AcquireQuery{Setting: protocol.Setting{Timezone: z}}
	}
	for name, tc := range map[string]struct {
		q    protocol.AcquireQuery
		want protocol.Code
	}{
		"nothing":               {protocol.AcquireQuery{}, ""},
		"a telephone":           {size(390, 844, 3), ""},
		"a wall":                {size(8000, 8000, 1), protocol.CodeInvalidArgument},
		"a slit":                {size(1000, 10, 1), protocol.CodeInvalidArgument},
		"less than nothing":     {size(-1, 600, 1), protocol.CodeInvalidArgument},
		"sharper than any":      {size(400, 400, 5), protocol.CodeInvalidArgument},
		"a blur":                {size(400, 400, 0.1), protocol.CodeInvalidArgument},
		"too many pixels":       {size(4000, 2000, 4), protocol.CodeInvalidArgument},
		"German":                {locale("de-DE"), ""},
		"a language":            {locale("fil"), ""},
		"with a script":         {locale("zh-Hant-TW"), ""},
		"of a continent":        {locale("es-419"), ""},
		"a header in a locale":  {locale("de-DE\r\nX: y"), protocol.CodeInvalidArgument},
		"a list of locales":     {locale("de-DE,en;q=0.5"), protocol.CodeInvalidArgument},
		"Berlin":                {zone("Europe/Berlin"), ""},
		"deep in America":       {zone("America/Argentina/Buenos_Aires"), ""},
		"no daylight saving":    {zone("Etc/GMT+5"), ""},
		"a file":                {zone("../../etc/passwd"), protocol.CodeInvalidArgument},
		"the host's own":        {zone("Local"), protocol.CodeInvalidArgument},
		"its own process":       {protocol.AcquireQuery{Isolation: protocol.IsolationProcess}, ""},
		"a shared browser":      {protocol.AcquireQuery{Isolation: protocol.IsolationShared}, protocol.CodeCapabilityUnsupported},
		"another kind of walls": {protocol.AcquireQuery{Isolation: "vm"}, protocol.CodeInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.q.V = protocol.Version
			got := protocol.Code("")
			if err := tc.q.Check(); err != nil {
				got = err.Code
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
