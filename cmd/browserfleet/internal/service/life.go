package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/browserfleet/browserfleet/telemetry"
)

// Why a service ends.
var (
	errSignal = errors.New("asked to stop by a signal")
	errParent = errors.New("the parent process is gone")
)

const (
	// stopGrace is how long a service may take to end after its parent died. Its
	// NATS and its store die at the same moment, so there is little to save.
	stopGrace = 3 * time.Second
	// exitForced is the exit status of a process that did not end in time.
	exitForced = 70
)

// startLife is a context that ends with the first signal, or with standard
// input. A second signal ends the process at once.
func startLife(parent context.Context, exitWithStdin bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(errSignal)
		<-signals
		os.Exit(exitForced)
	}()
	if exitWithStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel(errParent)
			time.Sleep(stopGrace)
			os.Exit(exitForced)
		}()
	}
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// instance is a running service's logger and telemetry.
type instance struct {
	log   *slog.Logger
	told  *telemetry.Telemetry
	count *telemetry.Metrics
	page  *http.Server
	done  sync.WaitGroup
}

// startInstance sets up what every service tells of itself. metrics is the
// address of the Prometheus page, or empty.
func startInstance(ctx context.Context, p Process, role, version, id, metrics string) (*instance, error) {
	log, err := telemetry.NewLogger(os.Stderr, p.LogFormat, p.LogLevel)
	if err != nil {
		return nil, err
	}
	slog.SetDefault(log)
	told, err := telemetry.Setup(ctx, telemetry.FromEnv(role, version, id))
	if err != nil {
		return nil, err
	}
	i := &instance{log: log, told: told}
	if i.count, err = telemetry.NewMetrics(told.Meter()); err != nil {
		return nil, errors.Join(err, told.Shutdown(ctx))
	}
	if metrics == "" {
		return i, nil
	}
	l, err := net.Listen("tcp", metrics)
	if err != nil {
		return nil, errors.Join(err, told.Shutdown(ctx))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", told.Handler())
	i.page = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	i.done.Go(func() { _ = i.page.Serve(l) })
	return i, nil
}

// close flushes, at most a few seconds.
func (i *instance) close() {
	if i.page != nil {
		_ = i.page.Close()
	}
	i.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := i.told.Shutdown(ctx); err != nil {
		i.log.Warn("not everything was told", "error", err)
	}
}

// pause waits, or reports that ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
