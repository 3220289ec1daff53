package checkpoints

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/testkit"
)

// faultProxy stands between client and store. fault sees every answer before
// the client does; it may change it, or return an error, on which the client's
// connection is reset although the store has done what it was asked.
func faultProxy(t *testing.T, fault func(*http.Response) error) (through, direct *Store, objects *objectstore.Store) {
	t.Helper()
	cfg := testkit.Store(t).Config()
	target := &url.URL{Scheme: "http", Host: cfg.Endpoint}
	transport := &http.Transport{DisableKeepAlives: true}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the signature covers it
		},
		ModifyResponse: fault,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	t.Cleanup(transport.CloseIdleConnections)

	objects = openObjects(t, cfg)
	cfg.Endpoint = strings.TrimPrefix(srv.URL, "http://")
	return New(openObjects(t, cfg), keyring(t, keyOne)), New(objects, keyring(t, keyOne)), objects
}

var errReset = errors.New("reset by the test")

// slotPut is the answer to the PUT of the slot with the given sequence.
func slotPut(r *http.Response, env EnvID, seq uint64) bool {
	return r.Request.Method == http.MethodPut && strings.HasSuffix(r.Request.URL.Path, slotKey(env, seq))
}

func TestACommitWhoseAnswerIsLostSucceedsOnce(t *testing.T) {
	t.Parallel()
	env := envOf("reset")
	for name, losses := range map[string]int32{"once": 1, "on every try of the client": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Int32
			through, direct, objects := faultProxy(t, func(r *http.Response) error {
				if slotPut(r, env, 2) && lost.Add(1) <= losses {
					return errReset
				}
				return nil
			})
			h := mustTake(t, through, env)
			m := mustCommit(t, h, stateNamed("kept"))
			if lost.Load() < losses {
				t.Fatalf("only %d answers were lost", lost.Load())
			}
			entries, err := objects.List(t.Context(), slotPrefix(env), "")
			if err != nil || len(entries) != 2 {
				t.Fatalf("%d manifests, %v", len(entries), err)
			}
			l := mustLoad(t, direct, env)
			if nameOf(l.State) != "kept" || l.Manifest.CommitNonce != m.CommitNonce {
				t.Errorf("loaded %q", nameOf(l.State))
			}
			mustCommit(t, h, stateNamed("next"))
		})
	}
}

func TestASealWhoseAnswerIsLostSucceedsOnce(t *testing.T) {
	t.Parallel()
	env := envOf("reset-seal")
	var lost atomic.Int32
	through, direct, _ := faultProxy(t, func(r *http.Response) error {
		if slotPut(r, env, 1) && lost.Add(1) <= 3 {
			return errReset
		}
		return nil
	})
	h := mustTake(t, through, env)
	if l := mustLoad(t, direct, env); l.NewestSeq != 1 || l.Manifest.CommitNonce != h.Last().CommitNonce {
		t.Errorf("loaded %+v", l)
	}
}

// The answer is lost and the store cannot be asked either: the commit fails,
// and the next one finds out that it had been stored.
func TestACommitThatCouldNotBeReadBackIsAdoptedByTheNext(t *testing.T) {
	t.Parallel()
	env := envOf("dark")
	var dark atomic.Bool
	through, direct, _ := faultProxy(t, func(*http.Response) error {
		if dark.Load() {
			return errReset
		}
		return nil
	})
	h := mustTake(t, through, env)
	dark.Store(true)
	_, err := h.Commit(t.Context(), stateNamed("unsure"), Meta{})
	wantErr(t, err, ErrUnavailable)
	dark.Store(false)
	m := mustCommit(t, h, stateNamed("sure"))
	l := mustLoad(t, direct, env)
	if m.Seq != 3 || nameOf(l.State) != "sure" || l.Manifest.ParentSeq != 2 || len(l.Skipped) != 0 {
		t.Errorf("loaded %q at %d, parent %d, skipped %v", nameOf(l.State), l.Manifest.Seq, l.Manifest.ParentSeq, l.Skipped)
	}
}

func TestSlowDownAnswersAreOvercome(t *testing.T) {
	t.Parallel()
	var answers atomic.Int32
	through, _, _ := faultProxy(t, func(r *http.Response) error {
		if answers.Add(1)%2 == 1 { // every other answer, before and after the store acted
			r.StatusCode, r.Status = http.StatusServiceUnavailable, "503 Slow Down"
		}
		return nil
	})
	env := envOf("slow")
	h := mustTake(t, through, env)
	mustCommit(t, h, stateNamed("a"))
	mustCommit(t, h, stateNamed("b"))
	if got := nameOf(mustLoad(t, through, env).State); got != "b" {
		t.Errorf("loaded %q", got)
	}
}

func TestAReadThatIsCutOffOrFlippedOnTheWayIsReadAgain(t *testing.T) {
	t.Parallel()
	env := envOf("cut")
	for name, damage := range map[string]func([]byte) []byte{
		"cut":  func(b []byte) []byte { return b[:len(b)/2] },
		"flip": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reads atomic.Int32
			through, direct, _ := faultProxy(t, func(r *http.Response) error {
				if r.Request.Method == http.MethodGet && strings.HasSuffix(r.Request.URL.Path, slotKey(env, 2)) && reads.Add(1) == 1 {
					r.Body = &damaged{body: r.Body, length: int(r.ContentLength), damage: damage}
				}
				return nil
			})
			mustCommit(t, mustTake(t, direct, env), stateNamed("whole"))
			l := mustLoad(t, through, env)
			if nameOf(l.State) != "whole" || len(l.Skipped) != 0 || reads.Load() != 2 {
				t.Errorf("loaded %q after %d reads, skipped %v", nameOf(l.State), reads.Load(), l.Skipped)
			}
		})
	}
}

func TestWhileTheStoreIsDownNothingIsEmptyAndAfterwardsAllIsThere(t *testing.T) {
	t.Parallel()
	info := testkit.Store(t)
	s := New(openObjects(t, info.Config()), keyring(t, keyOne))
	env := envOf("down")
	h := mustTake(t, s, env)
	mustCommit(t, h, stateNamed("before"))
	info.Kill()

	l, err := s.Load(t.Context(), env)
	wantErr(t, err, ErrUnavailable)
	if l != nil {
		t.Error("a state was returned")
	}
	_, err = h.Commit(t.Context(), stateNamed("meanwhile"), Meta{})
	wantErr(t, err, ErrUnavailable)
	_, err = s.Collect(t.Context(), env, DefaultKeep)
	wantErr(t, err, ErrUnavailable)

	info.Restart()
	if got := nameOf(mustLoad(t, s, env).State); got != "before" {
		t.Errorf("after the restart: %q", got)
	}
	mustCommit(t, h, stateNamed("after"))
	if got := nameOf(mustLoad(t, s, env).State); got != "after" {
		t.Errorf("after the commit: %q", got)
	}
}
