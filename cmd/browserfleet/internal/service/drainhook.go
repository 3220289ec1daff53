package service

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// startDrainHook serves POST /drain, for a machine's own agent that is told of
// its end. The returned function ends it.
func startDrainHook(ctx context.Context, c *Draining, log *slog.Logger, drain func(why string)) (stop func(), err error) {
	if c.DrainListen == "" {
		return func() {}, nil
	}
	token, err := readSecret("BROWSERFLEET_DRAIN_TOKEN_FILE", c.DrainTokenFile)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", c.DrainListen)
	if err != nil {
		return nil, fmt.Errorf("BROWSERFLEET_DRAIN_LISTEN: %w", err)
	}
	server := &http.Server{Handler: drainHook(token, drain), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10}
	var done sync.WaitGroup
	done.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the drain hook ended", "error", err)
		}
	})
	return func() { _ = server.Close(); done.Wait() }, nil
}

// drainHook answers 202 and does not wait: whoever asks may be killed first.
func drainHook(token string, drain func(why string)) http.Handler {
	want := sha256.Sum256([]byte(token))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /drain", func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		// Of equal length, so that the time tells nothing.
		sum := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want the token of BROWSERFLEET_DRAIN_TOKEN_FILE", http.StatusUnauthorized)
			return
		}
		drain("a request to POST /drain")
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}
