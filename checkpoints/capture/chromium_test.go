package capture

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// chromium is a Session over a real headless-shell: just enough of CDP to prove
// the scripts, without the product's supervisor. One call at a time.
type chromium struct {
	t       *testing.T
	toChild *os.File
	replies *bufio.Reader
	from    *os.File
	nextID  int
	page    string // session of the one page
	frame   string
}

const callTime = 20 * time.Second

func startChromium(t *testing.T) *chromium {
	t.Helper()
	path := os.Getenv("BROWSERFLEET_CHROMIUM")
	if path == "" {
		path = "/usr/lib/chromium/chromium-headless-shell"
	}
	childIn, toChild, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "browserfleet-capture-test-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
		"--no-first-run", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{childIn, childOut}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	_, _ = childIn.Close(), childOut.Close()
	c := &chromium{t: t, toChild: toChild, from: from, replies: bufio.NewReader(from)}
	t.Cleanup(func() { c.stop(cmd, profile) })
	if c.page, c.frame, err = c.newPage(); err != nil {
		t.Fatal(err)
	}
	return c
}

// stop closes the browser in order, so that no child of it still writes into the
// profile that is then removed.
func (c *chromium) stop(cmd *exec.Cmd, profile string) {
	_ = c.call("", "Browser.close", nil, nil)
	late := time.AfterFunc(callTime, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	late.Stop()
	_, _ = c.toChild.Close(), c.from.Close()
	for range 3 {
		if os.RemoveAll(profile) == nil {
			return
		}
	}
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Session string `json:"sessionId"`
}

func (c *chromium) send(session, method string, params any) (int, error) {
	c.nextID++
	out, err := json.Marshal(map[string]any{"id": c.nextID, "method": method, "params": params, "sessionId": session})
	if session == "" {
		out, err = json.Marshal(map[string]any{"id": c.nextID, "method": method, "params": params})
	}
	if err != nil {
		return 0, err
	}
	_, err = c.toChild.Write(append(out, 0))
	return c.nextID, err
}

// call waits for the reply and answers paused requests of vault pages meanwhile.
func (c *chromium) call(session, method string, params, result any) error {
	id, err := c.send(session, method, params)
	if err != nil {
		return err
	}
	for {
		m, err := c.receive()
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if m.ID != id {
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

// await reads until an event.
func (c *chromium) await(session, event string) error {
	for {
		m, err := c.receive()
		if err != nil {
			return fmt.Errorf("%s: %w", event, err)
		}
		if m.Method == event && m.Session == session {
			return nil
		}
	}
}

func (c *chromium) receive() (m message, err error) {
	if err := c.from.SetReadDeadline(time.Now().Add(callTime)); err != nil {
		return m, err
	}
	raw, err := c.replies.ReadBytes(0)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
		return m, err
	}
	if m.Method == "Fetch.requestPaused" {
		var p struct{ RequestID string }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return m, err
		}
		_, err = c.send(m.Session, "Fetch.fulfillRequest", map[string]any{
			"requestId": p.RequestID, "responseCode": 200, "body": "",
			"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html"}},
		})
	}
	return m, err
}

func (c *chromium) newPage() (session, frame string, err error) {
	var target struct{ TargetID string }
	if err := c.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return "", "", err
	}
	var attached struct{ SessionID string }
	err = c.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	if err == nil {
		err = c.call(attached.SessionID, "Page.enable", nil, nil)
	}
	return attached.SessionID, target.TargetID, err // a main frame's id is its target's
}

// open navigates the page for real.
func (c *chromium) open(url string) {
	c.t.Helper()
	if err := c.navigate(c.page, url); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chromium) navigate(session, url string) error {
	var nav struct{ ErrorText string }
	if err := c.call(session, "Page.navigate", map[string]any{"url": url}, &nav); err != nil {
		return err
	}
	if nav.ErrorText != "" {
		return fmt.Errorf("navigate: %s", nav.ErrorText)
	}
	return c.await(session, "Page.loadEventFired")
}

func (c *chromium) eval(session, frame string) (Eval, error) {
	var world struct{ ExecutionContextID int }
	err := c.call(session, "Page.createIsolatedWorld", map[string]any{"frameId": frame, "worldName": "test"}, &world)
	return func(_ context.Context, function, arg string) (string, error) {
		var r struct {
			Result           struct{ Value string }
			ExceptionDetails *struct{ Text string }
		}
		err := c.call(session, "Runtime.callFunctionOn", map[string]any{
			"functionDeclaration": function, "executionContextId": world.ExecutionContextID,
			"arguments": []any{map[string]any{"value": arg}}, "returnByValue": true, "awaitPromise": true,
		}, &r)
		if err == nil && r.ExceptionDetails != nil {
			err = fmt.Errorf("exception: %s", r.ExceptionDetails.Text)
		}
		return r.Result.Value, err
	}, err
}

func (c *chromium) MainFrame(context.Context) (Frame, bool, error) {
	var tree struct {
		FrameTree struct {
			Frame struct{ URL, SecurityOrigin string }
		}
	}
	if err := c.call(c.page, "Page.getFrameTree", nil, &tree); err != nil {
		return Frame{}, false, err
	}
	var key struct{ StorageKey string }
	if err := c.call(c.page, "Storage.getStorageKeyForFrame", map[string]any{"frameId": c.frame}, &key); err != nil {
		return Frame{}, false, err
	}
	eval, err := c.eval(c.page, c.frame)
	return Frame{
		URL: tree.FrameTree.Frame.URL, Origin: tree.FrameTree.Frame.SecurityOrigin,
		StorageKey: checkpoints.StorageKey(key.StorageKey), Eval: eval,
	}, true, err
}

func (c *chromium) WithOrigin(ctx context.Context, origin string, fn func(context.Context, Eval) error) error {
	session, frame, err := c.newPage()
	if err != nil {
		return err
	}
	if err := c.call(session, "Fetch.enable", map[string]any{}, nil); err != nil {
		return err
	}
	if err := c.navigate(session, origin+"/"); err != nil {
		return err
	}
	eval, err := c.eval(session, frame)
	if err != nil {
		return err
	}
	err = fn(ctx, eval)
	if closed := c.call("", "Target.closeTarget", map[string]any{"targetId": frame}, nil); err == nil {
		err = closed
	}
	return err
}

// cdpCookie is CDP's shape of a cookie, both ways.
type cdpCookie struct {
	Name         string           `json:"name"`
	Value        string           `json:"value"`
	Domain       string           `json:"domain"`
	Path         string           `json:"path"`
	Expires      float64          `json:"expires,omitempty"`
	HTTPOnly     bool             `json:"httpOnly"`
	Secure       bool             `json:"secure"`
	Session      bool             `json:"session,omitempty"`
	SameSite     string           `json:"sameSite,omitempty"`
	Priority     string           `json:"priority,omitempty"`
	SourceScheme string           `json:"sourceScheme,omitempty"`
	SourcePort   int              `json:"sourcePort,omitempty"`
	PartitionKey *cdpPartitionKey `json:"partitionKey,omitempty"`
}

type cdpPartitionKey struct {
	TopLevelSite         string `json:"topLevelSite"`
	HasCrossSiteAncestor bool   `json:"hasCrossSiteAncestor"`
}

func (c *chromium) Cookies(context.Context) ([]checkpoints.Cookie, error) {
	var r struct{ Cookies []cdpCookie }
	if err := c.call("", "Storage.getCookies", map[string]any{}, &r); err != nil {
		return nil, err
	}
	var jar []checkpoints.Cookie
	for _, k := range r.Cookies {
		one := checkpoints.Cookie{
			Name: checkpoints.Text(k.Name), Value: checkpoints.Text(k.Value), Domain: k.Domain, Path: k.Path,
			Expires: k.Expires, HTTPOnly: k.HTTPOnly, Secure: k.Secure, Session: k.Session, SameSite: k.SameSite,
			Priority: k.Priority, SourceScheme: k.SourceScheme, SourcePort: k.SourcePort,
		}
		if k.PartitionKey != nil {
			one.Partition = &checkpoints.PartitionKey{
				TopLevelSite: k.PartitionKey.TopLevelSite, HasCrossSiteAncestor: k.PartitionKey.HasCrossSiteAncestor,
			}
		}
		jar = append(jar, one)
	}
	return jar, nil
}

func (c *chromium) SetCookies(_ context.Context, cookies []checkpoints.Cookie) error {
	params := make([]cdpCookie, len(cookies))
	for i, k := range cookies {
		params[i] = cdpCookie{
			Name: string(k.Name), Value: string(k.Value), Domain: k.Domain, Path: k.Path, HTTPOnly: k.HTTPOnly,
			Secure: k.Secure, SameSite: k.SameSite, Priority: k.Priority,
			SourceScheme: k.SourceScheme, SourcePort: k.SourcePort,
		}
		if !k.Session {
			params[i].Expires = k.Expires
		}
		if k.Partition != nil {
			params[i].PartitionKey = &cdpPartitionKey{k.Partition.TopLevelSite, k.Partition.HasCrossSiteAncestor}
		}
	}
	return c.call("", "Storage.setCookies", map[string]any{"cookies": params}, nil)
}
