package supervisor

import (
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/cdp/cdptest"
	"github.com/chromedp/cdproto/page"
)

// scripted is a browser with one page, of which the test plays the dialogs.
type scripted struct {
	*cdptest.Browser
	// answer says what becomes of Page.handleJavaScriptDialog: a reply, or none.
	answer func(*scripted, cdptest.Command)
}

func startScripted(carrier cdp.Carrier, answer func(*scripted, cdptest.Command)) *scripted {
	c := &scripted{answer: answer}
	ready := make(chan struct{})
	c.Browser = cdptest.Start(carrier, func(b *cdptest.Browser, command cdptest.Command) {
		<-ready
		if command.Method == page.CommandHandleJavaScriptDialog {
			c.answer(c, command)
			return
		}
		b.Reply(command, nil)
	})
	close(ready)
	return c
}

func (c *scripted) asks(kind, message, prompt string) {
	c.Event("S", "Page.javascriptDialogOpening", map[string]any{
		"url": "http://a.test/", "frameId": "F", "message": message, "type": kind, "hasBrowserHandler": false, "defaultPrompt": prompt,
	})
}

func (c *scripted) closes(result bool) {
	c.Event("S", "Page.javascriptDialogClosed", map[string]any{"frameId": "F", "result": result, "userInput": ""})
}

// takes is how a browser answers: the dialog is closed, then the reply.
func takes(c *scripted, answer cdptest.Command) {
	c.closes(true)
	c.Reply(answer, nil)
}

// withScript runs a test in a bubble, with a page whose browser is a script.
func withScript(t *testing.T, config Config, answer func(*scripted, cdptest.Command), test func(t *testing.T, s *Supervisor, c *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config.ProxyServer = "none"
		config, err := config.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		client, far := cdptest.Memory(t)
		c := startScripted(far, answer)
		s := &Supervisor{config: config, lost: make(chan struct{})}
		s.tabs = newTabs(config, s.lost, s.Err)
		attach := make(chan struct{})
		s.conn = cdp.Start(client, func(e cdp.Event) { <-attach; s.tabs.handle(e) }, cdp.Options{})
		s.tabs.conn = s.conn
		s.tabs.mu.Lock()
		_, acks, err := s.tabs.adopt(newAttached(s.conn.Session("S"), "F"), blank, nil)
		s.tabs.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		close(attach)
		if err := waitAll(t.Context(), acks); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		var beat sync.WaitGroup
		beat.Go(func() { // as runHeartbeat does
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case now := <-tick.C:
					s.Tabs()[0].runWatchdog(now)
				case <-stop:
					return
				}
			}
		})
		test(t, s, c)
		close(stop)
		beat.Wait()
		s.lose(ErrClosed)
		if err := s.conn.Close(); err != nil {
			t.Error(err)
		}
		s.tabs.workers.Wait()
		c.Close()
	})
}

// taken are the answers that came.
func (c *scripted) taken(t *testing.T) []page.HandleJavaScriptDialogParams {
	t.Helper()
	var answers []page.HandleJavaScriptDialogParams
	for _, command := range c.Seen() {
		if command.Method != page.CommandHandleJavaScriptDialog {
			continue
		}
		var params page.HandleJavaScriptDialogParams
		if err := json.Unmarshal(command.Params, &params); err != nil {
			t.Error(err)
		}
		answers = append(answers, params)
	}
	return answers
}

func TestTheWatchdogWaitsForThreeHundredSeconds(t *testing.T) {
	t.Parallel()
	withScript(t, Config{}, takes, func(t *testing.T, s *Supervisor, c *scripted) {
		p := s.Tabs()[0]
		c.asks("beforeunload", "", "")
		time.Sleep(299 * time.Second)
		synctest.Wait()
		if n := len(c.taken(t)); n != 0 {
			t.Errorf("%d answers after 299 s", n)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		snap := p.Snapshot()
		if got := c.taken(t); len(got) != 1 || got[0].Accept || len(snap.RecentDialogs) != 1 || snap.RecentDialogs[0].ClosedBy != ClosedByWatchdog {
			t.Errorf("answers %+v, recent %+v", got, snap.RecentDialogs)
		}
	})
}

func TestAnAnswerThatTheBrowserDoesNotTakeMakesAnOrphan(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*scripted, cdptest.Command){
		"refused":  func(c *scripted, answer cdptest.Command) { c.Fail(answer, -32000, "Not attached to an active page") },
		"no reply": func(*scripted, cdptest.Command) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withScript(t, Config{}, answer, func(t *testing.T, s *Supervisor, c *scripted) {
				c.asks("alert", "hi", "")
				synctest.Wait()
				if err := s.AnswerDialog(t.Context(), "d-0-1", Answer{}); err == nil {
					t.Error("the answer counts as given")
				}
				mustErr(t, s.AnswerDialog(t.Context(), "d-0-1", Answer{}), ErrDialogOrphaned)
				if snap := s.Tabs()[0].Snapshot(); !snap.Orphaned || len(snap.Dialogs) != 1 {
					t.Errorf("%+v", snap.Dialogs)
				}
				time.Sleep(time.Hour)
				if n := len(c.taken(t)); n != 1 {
					t.Errorf("%d answers", n)
				}
			})
		})
	}
}

func TestADialogThatSomebodyElseClosedIsRemote(t *testing.T) {
	t.Parallel()
	gone := func(c *scripted, answer cdptest.Command) { c.Fail(answer, -32602, "No dialog is showing") }
	withScript(t, Config{}, gone, func(t *testing.T, s *Supervisor, c *scripted) {
		c.asks("alert", "one", "")
		synctest.Wait()
		c.closes(false) // by another client, as an event
		synctest.Wait()
		claimed := s.AnswerDialog(t.Context(), "d-0-1", Answer{})
		mustErr(t, claimed, ErrDialogClosed)
		c.asks("alert", "two", "")
		synctest.Wait()
		mustErr(t, s.AnswerDialog(t.Context(), "d-0-2", Answer{}), ErrDialogClosed)
		for _, d := range s.Tabs()[0].Snapshot().RecentDialogs {
			if d.ClosedBy != ClosedByRemote {
				t.Errorf("%s by %s", d.ID, d.ClosedBy)
			}
		}
		if n := len(c.taken(t)); n != 1 {
			t.Errorf("%d answers were sent", n)
		}
	})
}

func TestWhatPoliciesAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy DialogPolicy
		kind   string
		want   []page.HandleJavaScriptDialogParams
	}{
		{PolicyAsk, "confirm", nil},
		{PolicyDismiss, "confirm", []page.HandleJavaScriptDialogParams{{}}},
		{PolicyDismiss, "beforeunload", []page.HandleJavaScriptDialogParams{{}}},
		{PolicyAccept, "beforeunload", []page.HandleJavaScriptDialogParams{{Accept: true}}},
		{PolicyAccept, "prompt", []page.HandleJavaScriptDialogParams{{Accept: true, PromptText: "the default"}}},
	} {
		withScript(t, Config{Dialogs: tc.policy}, takes, func(t *testing.T, s *Supervisor, c *scripted) {
			c.asks(tc.kind, "?", "the default")
			synctest.Wait()
			got := c.taken(t)
			if len(got) != len(tc.want) || len(got) == 1 && (got[0].Accept != tc.want[0].Accept || got[0].PromptText != tc.want[0].PromptText) {
				t.Errorf("%d %s: %+v", tc.policy, tc.kind, got)
			}
			for _, d := range s.Tabs()[0].Snapshot().RecentDialogs {
				if d.ClosedBy != ClosedByPolicy {
					t.Errorf("closed by %s", d.ClosedBy)
				}
			}
		})
	}
}
