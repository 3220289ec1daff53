package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/browserfleet/browserfleet/protocol"
)

// memory is what client verbs remember between two runs. It is private to the
// user: it says which pages an agent was at.
type memory struct{ dir string }

// remembered is the last observation of an owner.
type remembered struct {
	Observation protocol.ObservationID `json:"observation_id"`
	Generation  protocol.Generation    `json:"generation"`
	URL         string                 `json:"url"`
	At          protocol.Time          `json:"at"`
	// Continuation shows more of it.
	Continuation protocol.Continuation `json:"continuation,omitempty"`
}

// lastOwner is the owner that was used last; empty when there is none.
func (m memory) lastOwner() protocol.Owner {
	text, err := os.ReadFile(filepath.Join(m.dir, "owner"))
	if err != nil {
		return ""
	}
	owner, err := protocol.ParseOwner(string(text))
	if err != nil {
		return ""
	}
	return owner
}

// observation is what is remembered of an owner; the zero value is nothing.
// owner was checked: it is no path.
func (m memory) observation(owner protocol.Owner) remembered {
	var r remembered
	text, err := os.ReadFile(m.file(owner))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return remembered{}
	}
	return r
}

func (m memory) file(owner protocol.Owner) string {
	return filepath.Join(m.dir, "observations", string(owner)+".json")
}

// remember keeps an owner's newest observation.
func (m memory) remember(owner protocol.Owner, o *protocol.Observation) error {
	if err := os.MkdirAll(filepath.Join(m.dir, "observations"), 0o700); err != nil {
		return fmt.Errorf("remember the observation: %w", err)
	}
	if err := replaceFile(filepath.Join(m.dir, "owner"), []byte(owner)); err != nil {
		return err
	}
	if o == nil {
		return nil
	}
	text, err := json.Marshal(remembered{Observation: o.ID, Generation: o.Generation, URL: o.URL, At: o.At, Continuation: o.Continuation})
	if err != nil {
		return fmt.Errorf("remember the observation: %w", err)
	}
	return replaceFile(m.file(owner), text)
}

// forget drops what a restored environment made meaningless.
func (m memory) forget(owner protocol.Owner) {
	if err := os.Remove(m.file(owner)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
}

// replaceFile writes a file as a whole, 0600: two verbs at once leave one of
// their two states.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // mode 0600
	if err != nil {
		return fmt.Errorf("remember the observation: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("remember the observation: %w", err)
	}
	return os.Rename(tmp.Name(), path)
}
