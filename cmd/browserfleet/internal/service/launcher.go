package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker/chrome"
	"github.com/browserfleet/browserfleet/worker/credentials"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/policies"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

// sweepEvery is how often a worker looks for what dead neighbours on its host
// left behind.
const sweepEvery = 5 * time.Second

// launcher opens browsers of the configured kind.
type launcher struct {
	environment.Launcher
	product string       // for heartbeats
	ready   func() error // nil: always
	// policies are to be followed once there is a connection; nil for none.
	policies *policies.Book
	close    func()
}

// newLauncher is the one place that knows which kinds of browser there are.
func newLauncher(ctx context.Context, cfg WorkerConfig, log *slog.Logger) (*launcher, error) {
	if cfg.Browser == BrowserSimulated {
		return &launcher{Launcher: &simulated.Launcher{Latency: cfg.SimulatedLatency}, product: "simulated", close: func() {}}, nil
	}
	binary, err := chromium.Find(cfg.Chromium)
	if err != nil {
		return nil, err
	}
	version, err := chromium.Version(ctx, binary)
	if err != nil {
		return nil, err
	}
	book, err := cfg.policies(ctx, log)
	if err != nil {
		return nil, err
	}
	secrets, err := credentials.Load(cfg.CredentialsFile)
	if err != nil {
		return nil, err
	}
	if cfg.AllowNoSandbox {
		log.Warn("Chromium runs without its sandbox: a page that breaks out of it has this worker's rights")
	}
	hatch, err := cfg.escapeHatch()
	if err != nil {
		return nil, err
	}
	browsers := chrome.NewLauncher(chrome.Config{
		Chromium: chromium.Options{Binary: binary, Scratch: cfg.ScratchDir, AllowNoSandbox: cfg.AllowNoSandbox},
		Policies: book, Credentials: secrets, Logger: log, Warm: cfg.WarmBrowsers,
		Limits: cfg.browsers(), Heartbeat: supervisor.Heartbeat{HostSlow: hostSlow}, Popups: chrome.PopupPolicies[cfg.Popups],
		Dialogs: protocol.DialogPolicy(cfg.DialogPolicy), DialogTimeout: cfg.DialogTimeout,
		EscapeHatch: hatch,
	})
	return &launcher{
		Launcher: browsers,
		product:  fmt.Sprintf("%s %s", binary.Kind, version),
		ready:    browsers.Ready,
		policies: book,
		close:    startUpkeep(ctx, cfg, browsers, log),
	}, nil
}

// escapeHatch is nil when the cdp action is off.
func (c *WorkerConfig) escapeHatch() (*chrome.EscapeHatch, error) {
	if !c.CDPAction {
		if len(c.CDPMethods) > 0 {
			return nil, errors.New("want BROWSERFLEET_CDP_ACTION=true with it")
		}
		return nil, nil
	}
	return chrome.NewEscapeHatch(c.CDPMethods)
}

// policies are those of the tenants beside the worker's own, all with the fleet's
// listeners, which none can open.
func (c *WorkerConfig) policies(ctx context.Context, log *slog.Logger) (*policies.Book, error) {
	var p egressproxy.Policy
	if c.PolicyFile != "" {
		text, err := os.ReadFile(c.PolicyFile)
		if err != nil {
			return nil, fmt.Errorf("BROWSERFLEET_POLICY_FILE: %w", err)
		}
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("BROWSERFLEET_POLICY_FILE: %s: %w", c.PolicyFile, err)
		}
	}
	listeners, err := c.fleetListeners(ctx)
	if err != nil {
		return nil, err
	}
	own, err := egressproxy.Compile(p, listeners)
	if err != nil {
		return nil, err
	}
	return policies.New(own, listeners, log), nil
}

// startUpkeep removes what dead workers of this host left, now and again, keeps
// browsers warm, and opens one to see that it can be. The returned function ends both and waits.
func startUpkeep(ctx context.Context, cfg WorkerConfig, browsers *chrome.Launcher, log *slog.Logger) func() {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { runSweeps(ctx, cfg.ScratchDir, log) })
	done.Go(func() { browsers.RunPool(ctx) })
	return func() {
		stop()
		done.Wait()
	}
}

func runSweeps(ctx context.Context, scratch string, log *slog.Logger) {
	for {
		report, err := chromium.Sweep(ctx, scratch)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error("sweep after dead workers", "error", err)
		case report.Killed > 0 || report.Swept > 0:
			log.Info("swept after dead workers", "processes_killed", report.Killed, "records_removed", report.Swept)
		}
		if pause(ctx, sweepEvery) != nil {
			return
		}
	}
}
