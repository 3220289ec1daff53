//go:build realworld

package realworld

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// TestPythonSearch: the search is a script that loads an index of 3.6 MB, made
// for the purpose by Sphinx.
func TestPythonSearch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	v := newVisit(ctx, t, python)
	for _, tc := range []struct{ words, result, page string }{
		{"urlopen", "urllib.request.urlopen", "library/urllib.request.html"},
		{"asyncio gather", "asyncio.gather", "library/asyncio-task.html"},
		{"unicodedata", "unicodedata", "library/unicodedata.html"},
	} {
		t.Run(tc.words, func(t *testing.T) { v.search(ctx, t, tc.words, tc.result, tc.page) })
	}
	v.figures.log(t)
}

// TestPythonMenuOnAPhone: the menu's button is a checkbox with a role and a label
// that is drawn in its place.
func TestPythonMenuOnAPhone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	phone := python
	phone.viewport = supervisor.Viewport{Width: 400, Height: 800, Scale: 1}
	v := newVisit(ctx, t, phone)
	before := v.observe(ctx, t, interactive)
	closed := v.try(ctx, t, protocol.KindClick, &protocol.ClickArgs{Target: find(t, before, "link", "Download these documents")}, nil)
	if closed.Err == nil || closed.Err.Code != protocol.CodeNotVisible {
		t.Fatalf("a click on what is behind the menu: %v", closed.Err)
	}
	out := v.run(ctx, t, protocol.KindClick, &protocol.ClickArgs{Target: find(t, before, "button", "Menu")}, interactive)
	find(t, out.Observation, "link", "Download these documents")
	out = v.run(ctx, t, protocol.KindClick, &protocol.ClickArgs{Target: find(t, out.Observation, "link", "Download these documents")}, nil)
	if out.Observation.URL != v.url("download.html") {
		t.Errorf("the menu's link led to %s", out.Observation.URL)
	}
}

func (v *visit) search(ctx context.Context, t *testing.T, words, result, page string) {
	v.open(ctx, t, "index.html")
	field := find(t, v.observe(ctx, t, nil), "textbox", "Quick search")
	filled := v.run(ctx, t, protocol.KindFill, &protocol.FillArgs{Target: field, Value: words}, nil)
	if got := value(filled.Observation, field.ElementRef); got != words {
		t.Errorf("the field holds %q after typing %q", got, words)
	}
	out := v.run(ctx, t, protocol.KindPress, &protocol.PressArgs{Target: field, Key: "Enter"}, nil)
	if out.Verdict != protocol.VerdictNavigated || !strings.Contains(out.Observation.URL, "/search.html?q="+strings.ReplaceAll(words, " ", "+")) {
		t.Errorf("Enter: %s, %s", out.Verdict, out.Observation.URL)
	}
	done := v.run(ctx, t, protocol.KindWait, &protocol.WaitArgs{Until: "text", Text: "Search finished", TimeoutMS: 30_000}, nil)
	v.figures.add("wait for search", 0, total(done.Transition.Timing))
	if !strings.Contains(done.Observation.Text, result) {
		t.Errorf("no %q in the results: %.600q", result, done.Observation.Text)
	}
	v.openResult(ctx, t, page)
}

// openResult follows the first result that leads to the page.
func (v *visit) openResult(ctx context.Context, t *testing.T, page string) {
	o := v.observe(ctx, t, interactive)
	for _, e := range o.Elements {
		if e.Role != "link" || !strings.HasPrefix(e.Href, v.url(page)) {
			continue
		}
		out := v.run(ctx, t, protocol.KindClick, &protocol.ClickArgs{Target: protocol.Target{ElementRef: e.Ref, ObservationID: o.ID}}, nil)
		if out.Observation.URL != e.Href || out.Verdict != protocol.VerdictNavigated {
			t.Errorf("the result %q to %s led to %s (%s)", e.Name, e.Href, out.Observation.URL, out.Verdict)
		}
		return
	}
	t.Errorf("no result leads to %s", page)
}

func find(t *testing.T, o *protocol.Observation, role, name string) protocol.Target {
	t.Helper()
	at, ok := lookFor(o, role, name)
	if !ok {
		t.Fatalf("no %s %q among %+v", role, name, o.Elements)
	}
	return at
}

func lookFor(o *protocol.Observation, role, name string) (protocol.Target, bool) {
	for _, e := range o.Elements {
		if e.Role == role && e.Name == name {
			return protocol.Target{ElementRef: e.Ref, ObservationID: o.ID}, true
		}
	}
	return protocol.Target{}, false
}

func value(o *protocol.Observation, ref protocol.Ref) string {
	for _, e := range o.Elements {
		if e.Ref == ref {
			return e.Value
		}
	}
	return ""
}
