package supervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestErrorsStayWhenAPageIsChatty(t *testing.T) {
	t.Parallel()
	var c consoleLog
	c.add(ConsoleMessage{Level: LevelError, Text: "the one that matters"})
	for i := range 1000 {
		c.add(ConsoleMessage{Level: LevelLog, Text: fmt.Sprint(i)})
	}
	if c.entries[0].Text != "the one that matters" || len(c.entries) != recentConsole || c.cut != 1001-recentConsole {
		t.Errorf("first %+v, %d entries, %d cut", c.entries[0], len(c.entries), c.cut)
	}
	if last := c.entries[len(c.entries)-1]; last.Text != "999" {
		t.Errorf("the newest is %+v", last)
	}
}

// What is kept and what was cut are together all that came, and an older view
// does not change.
func TestEveryMessageIsCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c consoleLog
		n := rapid.IntRange(0, 300).Draw(t, "messages")
		for i := range n {
			view := c.entries
			before := append([]ConsoleMessage(nil), view...)
			c.add(ConsoleMessage{
				Level: rapid.SampledFrom([]string{LevelLog, LevelWarning, LevelError, LevelException}).Draw(t, "level"),
				Text:  fmt.Sprint(rapid.IntRange(0, 80).Draw(t, "text")),
			})
			if diff := cmp.Diff(before, view); diff != "" {
				t.Fatalf("message %d changed an older view:\n%s", i, diff)
			}
		}
		sum := c.cut
		for _, m := range c.entries {
			sum += m.Count
		}
		if sum != n || len(c.entries) > recentConsole {
			t.Fatalf("%d of %d messages in %d entries", sum, n, len(c.entries))
		}
	})
}

func TestConsoleMessagesSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/":        `<script src="/page.js"></script><iframe src="http://b.test/frame"></iframe><iframe sandbox="allow-scripts" srcdoc="<script>alert(1)</script>"></iframe>`,
		"/page.js": "function outer(){ inner() }\nfunction inner(){ console.warn('warned', {a:1}, undefined, 4, 5) }\nfor (let i=0;i<3;i++) outer();\nnew Worker(URL.createObjectURL(new Blob(['throw new Error(\"in the worker\")'])));",
		"/frame":   "<script>setTimeout(function boom(){ throw new TypeError('in the frame') })</script>",
	})
	r.open(t, "http://a.test/")
	find := func(s *Snapshot, text string) (m ConsoleMessage) {
		for _, m := range s.Console {
			if strings.Contains(m.Text, text) {
				return m
			}
		}
		return m
	}
	s := r.await(t, func(s *Snapshot) bool {
		return find(s, "warned").Count == 3 && find(s, "in the frame").Count == 1 && find(s, "in the worker").Count > 0 && find(s, "alert()").Count == 1
	})
	main, frame := s.FrameID, ""
	for _, f := range s.Frames {
		if f.URL == "http://b.test/frame" {
			frame = string(f.ID)
		}
	}
	m := find(s, "warned")
	want := ConsoleMessage{Level: LevelWarning, Text: "warned Object undefined 4 …", Function: "inner", URL: "http://a.test/page.js", Line: 2, Column: 27, FrameID: main, Count: 3}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("warning (-want +got):\n%s", diff)
	}
	m = find(s, "in the frame")
	if m.Level != LevelException || m.Function != "boom" || string(m.FrameID) != frame || !strings.HasPrefix(m.Text, "Uncaught TypeError: in the frame\n    at boom (http://b.test/frame:") {
		t.Errorf("exception: %+v", m)
	}
	if m = find(s, "alert()"); m.Level != LevelError {
		t.Errorf("the sandbox's remark: %+v", m)
	}
}
