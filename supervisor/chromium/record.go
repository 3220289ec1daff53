package chromium

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const recordVersion = 1

// halfSuffix is of a record that is being written.
const halfSuffix = ".new"

// record is what stays on disk about a process; see the package comment. Unknown
// members of later versions are ignored.
type record struct {
	Version    int       `json:"v"`
	Boot       string    `json:"boot"`
	PIDSpace   string    `json:"pid_ns"`
	Profile    string    `json:"profile"`
	PID        int       `json:"pid"`
	PIDStart   uint64    `json:"pid_start"`
	PGID       int       `json:"pgid"`
	OwnerPID   int       `json:"owner_pid"`
	OwnerStart uint64    `json:"owner_start"`
	Created    time.Time `json:"created"`

	path string
}

func recordsFolder(scratch string) string  { return filepath.Join(scratch, "records") }
func profilesFolder(scratch string) string { return filepath.Join(scratch, "profiles") }

// inUse are the records, by path, of processes that this process has not ended
// yet. A record of ours that is not among them was given up: its process or its
// folder did not go in time, and Sweep ends it.
var inUse sync.Map

// newRecord writes the record of a process that is about to start and makes its
// profile folder.
func newRecord(scratch string) (*record, error) {
	if scratch == "" {
		return nil, errors.New("no scratch root given")
	}
	scratch, err := filepath.Abs(scratch)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(scratch, " \t\n") {
		// Command lines of child processes are read back by splitting at spaces.
		return nil, errors.New("the scratch root's path contains white space")
	}
	for _, folder := range []string{recordsFolder(scratch), profilesFolder(scratch)} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	boot, err1 := bootID()
	space, err2 := pidNamespace()
	self, err3 := readStat(os.Getpid())
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	name := strings.ToLower(rand.Text()[:13]) // 65 bits
	r := &record{
		Version: recordVersion, Boot: boot, PIDSpace: space,
		Profile:  filepath.Join(profilesFolder(scratch), name),
		OwnerPID: os.Getpid(), OwnerStart: self.start,
		Created: time.Now().UTC().Truncate(time.Millisecond),
		path:    filepath.Join(recordsFolder(scratch), name+".json"),
	}
	inUse.Store(r.path, struct{}{})
	if err := r.write(); err != nil {
		inUse.Delete(r.path)
		return nil, err
	}
	if err := os.Mkdir(r.Profile, 0o700); err != nil {
		inUse.Delete(r.path)
		return nil, errors.Join(err, os.Remove(r.path))
	}
	return r, nil
}

func readRecord(path string) (*record, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &record{path: path}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("record %s: %w", filepath.Base(path), err)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	// A folder outside of the scratch root is never removed, whatever a file says.
	if r.Profile != filepath.Join(profilesFolder(filepath.Dir(filepath.Dir(path))), name) {
		return nil, fmt.Errorf("record %s names a foreign profile", filepath.Base(path))
	}
	return r, nil
}

// shortTmp is a folder for temporary files where the profile's own would make
// the path of a socket too long. Its name is the profile's, which nobody can
// guess, and it goes with the profile.
func (r *record) shortTmp() string { return filepath.Join("/tmp", "bf-"+filepath.Base(r.Profile)) }

func (r *record) userData() string { return filepath.Join(r.Profile, "user-data") }

func (r *record) started(pid int) error {
	stat, err := readStat(pid)
	if err != nil {
		return err
	}
	r.PID, r.PIDStart, r.PGID = pid, stat.start, stat.pgid
	return r.write()
}

// write replaces the file as a whole, so a reader never sees half of it.
func (r *record) write() error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temporary := r.path + halfSuffix
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, r.path)
}

// remove deletes the profile, then the record; if that fails, Sweep may. Processes that were just killed
// can still create files for a moment, so it tries again.
func (r *record) remove(ctx context.Context) error {
	defer inUse.Delete(r.path)
	var err error
	for range removeTries {
		if err = errors.Join(os.RemoveAll(r.Profile), os.RemoveAll(r.shortTmp())); err == nil {
			break
		}
		pause := time.NewTimer(removePause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("remove profile: %w", err)
		case <-pause.C:
		}
	}
	if err != nil {
		return fmt.Errorf("remove profile: %w", err)
	}
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}
