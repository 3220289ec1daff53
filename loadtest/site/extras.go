package site

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// MaxSlow is the longest that /slow waits; a larger ms is cut to it.
const MaxSlow = 10 * time.Second

func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, "ok\n") // a client that hung up needs no answer
}

// slow waits before its first byte, so the browser's navigation waits too.
func (s *Site) slow(w http.ResponseWriter, r *http.Request) {
	ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
	if err != nil || ms < 0 {
		s.fail(w, r, http.StatusBadRequest, "The parameter ms is a whole number of milliseconds from 0.")
		return
	}
	wait := MaxSlow
	if ms < int(MaxSlow/time.Millisecond) {
		wait = time.Duration(ms) * time.Millisecond
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		s.render(w, r, http.StatusOK, "slow", "A slow page", wait.Milliseconds())
	case <-r.Context().Done(): // the client hung up or the server closes
	}
}

// plain shows a page that has no data of its own.
func (s *Site) plain(name, title string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.render(w, r, http.StatusOK, name, title, nil)
	}
}

type store struct {
	Slug, City, Street, Hours string
	X, Y                      int // on the map, in its own units
}

var stores = []store{
	{"bergen", "Bergen", "Skuteviksboder 14", "Monday to Saturday, 10:00 to 18:00", 70, 60},
	{"lisbon", "Lisbon", "Rua da Boavista 67", "Every day, 11:00 to 19:00", 40, 190},
	{"edinburgh", "Edinburgh", "12 St Stephen Street", "Tuesday to Sunday, 09:30 to 17:30", 150, 95},
	{"utrecht", "Utrecht", "Oudegracht 231", "Monday to Saturday, 09:00 to 18:00", 240, 130},
}

type mapBody struct {
	Stores []store
	Chosen *store
}

// storeMap is the document inside the iframe of /stores.
func (s *Site) storeMap(w http.ResponseWriter, r *http.Request) {
	body := mapBody{Stores: stores}
	for i := range stores {
		if stores[i].Slug == r.URL.Query().Get("city") {
			body.Chosen = &stores[i]
		}
	}
	s.render(w, r, http.StatusOK, "storemap", "Store map", body)
}
