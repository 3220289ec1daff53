package pagetest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/observation/pagejs"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

type object = map[string]any

// direct is no proxy.
const direct = "direct://"

// pool lends browsers. mu protects its fields.
type pool struct {
	mu      sync.Mutex
	free    []*supervisor.Supervisor
	scratch string
	binary  chromium.Binary
}

var browsers pool

// Main runs a package's tests and closes the browsers after them.
func Main(m *testing.M) {
	code := m.Run()
	err := browsers.close()
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = max(code, 1)
	}
	os.Exit(code)
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var failures []error
	for _, s := range p.free {
		failures = append(failures, s.Close(ctx))
	}
	if p.scratch != "" {
		failures = append(failures, os.RemoveAll(p.scratch))
	}
	return errors.Join(failures...)
}

// take is a free browser, or nil.
func (p *pool) take() *supervisor.Supervisor {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	s := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return s
}

// give takes a browser back, unless it was harmed.
func (p *pool) give(t testing.TB, s *supervisor.Supervisor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	page := s.Page()
	err := page.Call(ctx, "Page.navigate", object{"url": "about:blank"}, nil)
	if err == nil {
		err = page.Call(ctx, "Page.resetNavigationHistory", nil, nil)
	}
	if err == nil {
		err = page.Browser().Call(ctx, "Storage.clearCookies", object{"browserContextId": page.Context()}, nil)
	}
	if err != nil {
		if err := s.Close(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, s)
}

func (p *pool) start(t testing.TB, dialogs supervisor.DialogPolicy, proxy string) *supervisor.Supervisor {
	t.Helper()
	p.mu.Lock()
	if p.scratch == "" {
		var err error
		if p.binary, err = chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM")); err == nil {
			p.scratch, err = os.MkdirTemp("", "bfpt") // short: Chromium puts sockets below it
		}
		if err != nil {
			p.mu.Unlock()
			t.Fatalf("Chromium: %v", err)
		}
	}
	options := chromium.Options{Binary: p.binary, Scratch: p.scratch, AllowNoSandbox: true}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := supervisor.Start(ctx, supervisor.Config{
		Chromium: options, ProxyServer: proxy, Dialogs: dialogs, Generation: 1,
		// These tests are not of the heartbeat: on a busy machine a browser may take its time.
		Heartbeat: supervisor.Heartbeat{Interval: time.Second, Deadline: time.Minute, Misses: 2},
		WorldName: pagejs.WorldName, WorldScript: pagejs.Source(),
	})
	if err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return s
}
