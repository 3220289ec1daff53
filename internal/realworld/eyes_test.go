//go:build realworld

package realworld

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

//go:embed eyes.js
var eyesScript string

//go:embed where.js
var whereScript string

//go:embed reach.js
var reachScript string

// sight is what eyes.js returns.
type sight struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Text    string  `json:"text"`
	Heading string  `json:"heading"`
	Acting  int     `json:"acting"`
	Links   []link  `json:"links"`
	Tables  []table `json:"tables"`
}

type link struct {
	Href    string `json:"href"`
	Text    string `json:"text"`
	Shown   string `json:"shown"`
	Title   string `json:"title"`
	Picture string `json:"picture"`
	Drawn   bool   `json:"drawn"`
	Off     bool   `json:"off"` // outside of the viewport
}

type table struct {
	Rows  [][]cell `json:"rows"`
	Heads int      `json:"heads"`
	Links []string `json:"links"`
}

type cell struct {
	Text   string `json:"text"`
	Head   bool   `json:"head"`
	Across int    `json:"across"`
	Down   int    `json:"down"`
}

// spot is what where.js returns.
type spot struct {
	URL    string  `json:"url"`
	Y      float64 `json:"y"`
	Height float64 `json:"height"`
	Full   float64 `json:"full"`
	Found  bool    `json:"found"`
	Top    float64 `json:"top"`
	Bottom float64 `json:"bottom"`
}

// eyes are a second client of the browser, which the worker knows nothing of.
type eyes struct {
	t    *testing.T
	page *cdp.Session
}

// openEyes connects to the port that the browser was given beside its pipe, and
// attaches to the page that shows site.
func openEyes(ctx context.Context, t *testing.T, scratch, site string) *eyes {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(scratch, "profiles", "*", "user-data", "DevToolsActivePort"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the browser's port is in %v: %v", found, err)
	}
	body, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	port, path, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	carrier, err := cdp.DialWebSocket(ctx, "ws://127.0.0.1:"+port+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn := cdp.Start(carrier, nil, cdp.Options{})
	t.Cleanup(func() { _ = conn.Close() })
	var targets struct {
		Infos []struct {
			ID   string `json:"targetId"`
			Type string `json:"type"`
			URL  string `json:"url"`
		} `json:"targetInfos"`
	}
	browser := conn.Session("")
	if err := browser.Call(ctx, "Target.getTargets", map[string]any{}, &targets); err != nil {
		t.Fatal(err)
	}
	for _, info := range targets.Infos {
		if info.Type != "page" || !strings.HasPrefix(info.URL, site) {
			continue
		}
		var attached struct {
			Session cdp.SessionID `json:"sessionId"`
		}
		if err := browser.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": info.ID, "flatten": true}, &attached); err != nil {
			t.Fatal(err)
		}
		return &eyes{t, conn.Session(attached.Session)}
	}
	t.Fatalf("no page shows %s: %+v", site, targets.Infos)
	return nil
}

func (e *eyes) look(ctx context.Context) *sight {
	e.t.Helper()
	var s sight
	e.evaluate(ctx, eyesScript, &s)
	return &s
}

func (e *eyes) where(ctx context.Context) spot {
	e.t.Helper()
	var s spot
	e.evaluate(ctx, whereScript, &s)
	return s
}

// reaches reports whether a click could hit the first link to href.
func (e *eyes) reaches(ctx context.Context, href string) bool {
	e.t.Helper()
	var yes bool
	e.evaluate(ctx, fmt.Sprintf("%s(%q)", strings.TrimSpace(reachScript), href), &yes)
	return yes
}

func (e *eyes) evaluate(ctx context.Context, script string, result any) {
	e.t.Helper()
	reply := struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}{}
	reply.Result.Value = result
	err := e.page.Call(ctx, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &reply)
	if err != nil || reply.Exception != nil {
		e.t.Fatalf("the page cannot be asked: %v %+v", err, reply.Exception)
	}
}
