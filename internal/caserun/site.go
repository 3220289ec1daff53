package caserun

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxHang bounds a route that hangs: the server's end waits for it.
const maxHang = 2 * time.Minute

// Site serves one case on its three sites.
type Site struct {
	file   *File
	server *httptest.Server
	ended  chan struct{}

	mu       sync.Mutex // protects requests
	requests []*http.Request
}

// Serve starts the case's server, which ends with the test.
func Serve(t testing.TB, f *File) *Site {
	t.Helper()
	s := &Site{file: f, ended: make(chan struct{})}
	s.server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.ended)
		s.server.Close()
	})
	return s
}

func (s *Site) port() string { return s.server.URL[strings.LastIndexByte(s.server.URL, ':'):] }

// Main is where the case's own pages are.
func (s *Site) Main() string { return s.base("127.0.0.1") }

func (s *Site) base(host string) string { return "http://" + host + s.port() + "/" + s.file.ID }

// Hosts are what a policy has to allow.
func (s *Site) Hosts() []string {
	return []string{"127.0.0.1" + s.port(), "alt.localhost" + s.port(), "third.localhost" + s.port()}
}

// Received are the requests for a path so far.
func (s *Site) Received(path string) []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*http.Request
	for _, r := range s.requests {
		if r.URL.Path == "/"+s.file.ID+path {
			found = append(found, r)
		}
	}
	return found
}

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	at := slices.IndexFunc(s.file.Server.Routes, func(t Route) bool { return "/"+s.file.ID+t.Path == r.URL.Path })
	if at < 0 {
		s.answerFile(w, path.Base(r.URL.Path))
		return
	}
	s.answer(w, r, &s.file.Server.Routes[at])
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request, route *Route) {
	wait := time.Duration(route.DelayMS) * time.Millisecond
	if route.Hang {
		wait = maxHang
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return
	case <-s.ended:
		return
	}
	for name, raw := range route.Headers {
		var several []string
		if json.Unmarshal(raw, &several) != nil {
			var one string
			_ = json.Unmarshal(raw, &one)
			several = []string{one}
		}
		for _, value := range several {
			w.Header().Add(name, value)
		}
	}
	if route.File != "" {
		s.answerFile(w, route.File)
		return
	}
	if route.Status != 0 {
		w.WriteHeader(route.Status)
	}
	body := []byte(route.Body)
	if route.BodyBase64 != "" {
		body, _ = base64.StdEncoding.DecodeString(route.BodyBase64)
	}
	_, _ = w.Write(body)
}

// answerFile serves a page of the case with its sites put in.
func (s *Site) answerFile(w http.ResponseWriter, name string) {
	body, err := os.ReadFile(filepath.Join(s.file.folder, name))
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", mime.TypeByExtension(filepath.Ext(name)))
	}
	sites := strings.NewReplacer("{{MAIN}}", s.Main(), "{{ALT}}", s.base("alt.localhost"), "{{THIRD}}", s.base("third.localhost"))
	_, _ = sites.WriteString(w, string(body))
}
