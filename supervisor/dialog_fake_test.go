package supervisor

import (
	"encoding/json"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/page"
)

// scripted is the browser's end of a connection in memory: synctest's clock stands
// still only for goroutines that wait for one another, not for a pipe.
type scripted struct {
	out    chan []byte
	closed chan struct{}
	once   sync.Once
	// answer says what becomes of Page.handleJavaScriptDialog: a reply, or none.
	answer func(c *scripted, id int64)
	mu     sync.Mutex // protects answers
	// answers are the parameters of those that came.
	answers []page.HandleJavaScriptDialogParams
}

func (c *scripted) ReadMessage() ([]byte, error) {
	select {
	case m := <-c.out:
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	}
}

func (c *scripted) WriteMessage(raw []byte) error {
	var m struct {
		ID     int64  `json:"id"`
		Method string `json:"method"`
		Params page.HandleJavaScriptDialogParams
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.Method != page.CommandHandleJavaScriptDialog {
		c.write(map[string]any{"id": m.ID, "sessionId": "S", "result": map[string]any{}})
		return nil
	}
	c.mu.Lock()
	c.answers = append(c.answers, m.Params)
	c.mu.Unlock()
	c.answer(c, m.ID)
	return nil
}

func (c *scripted) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *scripted) write(message any) {
	raw, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	select {
	case c.out <- raw:
	case <-c.closed:
	}
}

func (c *scripted) event(method string, params any) {
	c.write(map[string]any{"sessionId": "S", "method": method, "params": params})
}

func (c *scripted) asks(kind, message, prompt string) {
	c.event("Page.javascriptDialogOpening", map[string]any{
		"url": "http://a.test/", "frameId": "F", "message": message, "type": kind, "hasBrowserHandler": false, "defaultPrompt": prompt,
	})
}

func (c *scripted) closes(result bool) {
	c.event("Page.javascriptDialogClosed", map[string]any{"frameId": "F", "result": result, "userInput": ""})
}

func (c *scripted) fails(id int64, code int, message string) {
	c.write(map[string]any{"id": id, "sessionId": "S", "error": map[string]any{"code": code, "message": message}})
}

// takes is how a browser answers: the dialog is closed, then the reply.
func takes(c *scripted, id int64) {
	c.closes(true)
	c.write(map[string]any{"id": id, "sessionId": "S", "result": map[string]any{}})
}

// withScript runs a test in a bubble, with a page whose browser is a script.
func withScript(t *testing.T, config Config, answer func(*scripted, int64), test func(t *testing.T, s *Supervisor, c *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config.ProxyServer = "none"
		config, err := config.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		c := &scripted{out: make(chan []byte, 1000), closed: make(chan struct{}), answer: answer}
		s := &Supervisor{config: config, lost: make(chan struct{})}
		s.tabs = newTabs(config, s.lost, s.Err)
		attach := make(chan struct{})
		s.conn = cdp.Start(c, func(e cdp.Event) { <-attach; s.tabs.handle(e) }, cdp.Options{})
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
	})
}

func (c *scripted) taken() []page.HandleJavaScriptDialogParams {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]page.HandleJavaScriptDialogParams(nil), c.answers...)
}

func TestTheWatchdogWaitsForThreeHundredSeconds(t *testing.T) {
	t.Parallel()
	withScript(t, Config{}, takes, func(t *testing.T, s *Supervisor, c *scripted) {
		p := s.Tabs()[0]
		c.asks("beforeunload", "", "")
		time.Sleep(299 * time.Second)
		synctest.Wait()
		if n := len(c.taken()); n != 0 {
			t.Errorf("%d answers after 299 s", n)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		snap := p.Snapshot()
		if got := c.taken(); len(got) != 1 || got[0].Accept || len(snap.RecentDialogs) != 1 || snap.RecentDialogs[0].ClosedBy != ClosedByWatchdog {
			t.Errorf("answers %+v, recent %+v", got, snap.RecentDialogs)
		}
	})
}

func TestAnAnswerThatTheBrowserDoesNotTakeMakesAnOrphan(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*scripted, int64){
		"refused":  func(c *scripted, id int64) { c.fails(id, -32000, "Not attached to an active page") },
		"no reply": func(*scripted, int64) {},
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
				if n := len(c.taken()); n != 1 {
					t.Errorf("%d answers", n)
				}
			})
		})
	}
}

func TestADialogThatSomebodyElseClosedIsRemote(t *testing.T) {
	t.Parallel()
	gone := func(c *scripted, id int64) { c.fails(id, -32602, "No dialog is showing") }
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
		if n := len(c.taken()); n != 1 {
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
			got := c.taken()
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
