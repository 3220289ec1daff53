package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestWhatATerminalObeysIsTakenOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, line, text string }{
		"plain":              {"Save it", "Save it", "Save it"},
		"escape sequence":    {"a\x1b[31mred\x1b[0m", "a[31mred[0m", "a[31mred[0m"},
		"title of a window":  {"\x1b]0;owned\x07x", "]0;ownedx", "]0;ownedx"},
		"C1 CSI":             {"a\u009b31mb", "a31mb", "a31mb"},
		"delete":             {"a\x7fb", "ab", "ab"},
		"carriage return":    {"good\rbad", "good bad", "good bad"},
		"lines":              {"a\nb", "a b", "a\nb"},
		"line separators":    {"a\u2028b", "a b", "a\nb"},
		"override":           {"exe.\u202Efdp", "exe.fdp", "exe.fdp"},
		"isolates":           {"\u2066a\u2069", "a", "a"},
		"zero width":         {"pass\u200bword", "password", "password"},
		"tags":               {"hi\U000E0041", "hi", "hi"},
		"not UTF-8":          {"a\xffb", "a\uFFFDb", "a\uFFFDb"},
		"other alphabets":    {"Zürich 東京 مرحبا", "Zürich 東京 مرحبا", "Zürich 東京 مرحبا"},
		"blanks are folded":  {"a \t  b", "a b", "a    b"},
		"non-breaking space": {"a\u00a0b", "a b", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Line(tc.in, 100); got != tc.line {
				t.Errorf("line %q, want %q", got, tc.line)
			}
			if got := Text(tc.in); got != tc.text {
				t.Errorf("text %q, want %q", got, tc.text)
			}
		})
	}
	if got := Line("abcdef", 4); got != "abc…" {
		t.Errorf("got %q", got)
	}
}

func FuzzNothingThatATerminalObeysIsLeft(f *testing.F) {
	f.Add("a\x1b[31m\u009b")
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{Line(s, 50), Text(s)} {
			for _, r := range out {
				if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control)) {
					t.Fatalf("%q holds %U", out, r)
				}
			}
		}
		if n := len([]rune(Line(s, 50))); n > 50 || strings.Contains(Line(s, 50), "\n") {
			t.Fatalf("%d characters, or lines", n)
		}
		var b strings.Builder
		if err := JSON(&b, s); err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back != strings.ToValidUTF8(s, "\uFFFD") && strings.ToValidUTF8(s, "") == s {
			t.Fatalf("%q became %q: %v", s, back, err)
		}
		if strings.ContainsFunc(strings.TrimSuffix(b.String(), "\n"), unicode.IsControl) {
			t.Fatalf("%q holds a control character", b.String())
		}
	})
}

func TestAnObservationSaysHowToGoOnAtAShell(t *testing.T) {
	t.Parallel()
	o := &protocol.Observation{ID: "o-1-2", Text: "before the end", TotalTextChars: 50, TextTruncated: true, Continuation: "c-1-1"}
	for limit, want := range map[int]bool{0: false, 6: true, 100: true} {
		var b strings.Builder
		Observation(&b, o, limit)
		if got := b.String(); strings.Contains(got, "before") != want || strings.Contains(got, "the end") != (limit == 100) || !strings.Contains(got, "more: observe --next") {
			t.Errorf("%d characters: %s", limit, got)
		}
	}
}

func TestResultTellsWhatSurvived(t *testing.T) {
	t.Parallel()
	at := protocol.At(time.Unix(1, 0))
	r := &protocol.Result{
		Kind: protocol.KindOpen, Status: protocol.StatusOK, Verdict: protocol.VerdictNavigated, Worker: "w-1", Generation: 2,
		Restored: &protocol.Restored{
			Generation: 2, From: "checkpoint", Reason: "worker_lost", CheckpointAt: &at, AgeMS: 1500, TookMS: 400,
			Survived: map[string]int{"local_storage_items": 3, "cookies": 1},
			Lost:     []protocol.LostState{{What: "session_storage", Reason: "not kept"}}, LastURL: "http://shop.example/account",
			StateLost: []protocol.RequestID{"R1"},
		},
		Warnings:   []protocol.Warning{{Code: protocol.CodeCheckpointNotSaved, Message: "later"}},
		Transition: &protocol.Transition{Denied: []protocol.Denial{{Host: "ads.example", Port: 443, Reason: "host_not_allowed"}}, Popups: []string{"http://p/"}},
	}
	var b strings.Builder
	Result(&b, r, 1840*time.Millisecond, "abc")
	want := `ok  open  navigated  1.84s  on w-1, generation 2  trace abc
  restored (worker_lost) from checkpoint of 1.5s before in 400ms; generation 2
    survived: cookies 1, local_storage_items 3
    lost: session_storage (not kept)
    not in the restored state: what request R1 did
    at that checkpoint it was at http://shop.example/account; nothing is open now
  warning checkpoint_not_saved: later
  the page tried ads.example:443, refused: host_not_allowed
  the page opened a window, which was closed: http://p/
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestExtractionIsATable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	Extraction(&b, &protocol.Extraction{
		Columns: []string{"Order", "Total"}, Total: 3, NextOffset: 2, Name: "Orders",
		Cut:   []protocol.CutValue{{Row: 0, Column: "Total"}},
		Found: []protocol.ExtractionChoice{{Index: 0, Name: "Orders", Rows: 3}, {Index: 1, Rows: 9}},
		Rows:  []map[string]string{{"Order": "NL-1", "Total": "$1\n.00"}, {"Order": "NL-20416"}},
	})
	want := "Orders\nOrder     Total\nNL-1      $1 .00\nNL-20416\n(1 values are longer; --chars shows more)\n" +
		"(2 of 3 rows; --offset 2 goes on)\n(--index 1: without a name, 9 rows)\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatHappenedBesideAnActionIsPrinted(t *testing.T) {
	t.Parallel()
	yes := true
	var b strings.Builder
	Result(&b, &protocol.Result{Status: protocol.StatusOK, Kind: protocol.KindOpen, Transition: &protocol.Transition{
		Popups:        []string{"http://a.test/win"},
		DialogsClosed: []protocol.Dialog{{Type: "confirm", Message: "Sure?", ClosedBy: "agent", Accepted: &yes}},
		DialogStorm:   &protocol.DialogStorm{Opened: 30, Dismissed: 10},
		Prints:        []protocol.PrintRequest{{URL: "http://a.test/"}},
		Prompts:       []protocol.Prompt{{Type: "http_auth", URL: "http://a.test/", Detail: "basic, \x1b[31mStaff"}},
		Console:       []protocol.LogEntry{{Level: "log", Text: "hello"}, {Level: "exception", Text: "Error: x", Count: 3}},
		TabsOpened:    []protocol.PageID{"t2"},
	}}, time.Second, "")
	_, got, _ := strings.Cut(b.String(), "\n")
	want := `  a dialog was closed: confirm "Sure?", accepted by agent
  the page opened 30 dialogs; 10 were dismissed unseen
  the page wanted to be printed
  the page asked for http_auth, refused: http://a.test/ basic, [31mStaff
  the page opened a window, which was closed: http://a.test/win
  tab t2 opened
  console exception: Error: x (3 times)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEvidenceIsALineAnEvent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	at := protocol.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local))
	Evidence(&b, &protocol.EvidenceReply{More: true, Events: []protocol.EvidenceEntry{
		{Seq: 7, Event: protocol.Event{
			Type: protocol.EventAction, At: at, Generation: 2, Kind: protocol.KindClick, Status: protocol.StatusError, Code: protocol.CodeStaleRef, Request: "R1",
			Transition: &protocol.Transition{
				Before: &protocol.PageEvidence{Digest: "a"}, After: &protocol.PageEvidence{Digest: "b", URL: "http://a.test/\x1b[1m"},
				Denied: []protocol.Denial{{Host: "b.test", Port: 443, Reason: "not_listed"}}, Timing: protocol.Timing{TotalMS: 12.5, QueueMS: 3},
			},
		}},
		{Seq: 9, Event: protocol.Event{Type: "dialog_opened", At: at, Generation: 2, Dialog: &protocol.Dialog{ID: "d-2-1", Type: "alert"}}},
	}})
	want := `03:04:05.000  g2  #7  click  error  stale_ref  request R1
  the page changed: http://a.test/[1m
  12.5 ms: queue 3, start 0.0, dispatch 0.0, settle 0.0, observe 0.0, save 0.0
  the page tried b.test:443, refused: not_listed
03:04:05.000  g2  #9  dialog_opened  d-2-1  alert
(there are more: --after 9)
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
