package devfleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserfleet/browserfleet/protocol"
)

// Folder is a data folder.
type Folder string

// DefaultFolder is ~/.local/share/browserfleet, or where XDG_DATA_HOME says.
func DefaultFolder() (Folder, error) {
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return Folder(filepath.Join(base, "browserfleet")), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w (name one with --data)", err)
	}
	return Folder(filepath.Join(home, ".local", "share", "browserfleet")), nil
}

// Path is a path in the folder.
func (f Folder) Path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// Scratch is where running browsers keep their profiles.
func (f Folder) Scratch() string { return f.Path("scratch") }

// Log is a child's log.
func (f Folder) Log(name string) string { return f.Path("logs", name+".log") }

// make makes the folder and what is in it.
func (f Folder) make() error {
	for _, dir := range []string{"", "secrets", "nats", "store", "scratch", "logs"} {
		if err := os.MkdirAll(f.Path(dir), 0o700); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	// A folder that was there before may be open to others.
	if err := os.Chmod(f.Path("secrets"), 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}

// ErrLocked: another dev runs on the folder.
var ErrLocked = errors.New("another fleet runs on this data folder")

// lock takes the folder for this process. The kernel lets go of it when the
// process dies.
func (f Folder) lock() (*os.File, error) {
	file, err := os.OpenFile(f.Path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s; stop it, or name another folder with --data", ErrLocked, f)
		}
		return nil, fmt.Errorf("lock %s: %w", f, err)
	}
	return file, nil
}

// Locked reports whether a dev runs on the folder.
func (f Folder) Locked() bool {
	file, err := os.Open(f.Path("lock"))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
	return false
}

// Running is what fleet.json says of a running fleet. Secrets stand in files
// only.
type Running struct {
	V       int             `json:"v"`
	PID     int             `json:"pid"`
	Started protocol.Time   `json:"started"`
	NATS    string          `json:"nats"`  // URL
	Store   string          `json:"store"` // host:port
	Site    string          `json:"site"`  // URL of the bundled site
	Tenant  protocol.Tenant `json:"tenant"`
	Shards  int             `json:"shards"`
	Browser string          `json:"browser"`
}

// ErrNotRunning: no fleet was started on the folder.
var ErrNotRunning = errors.New("no fleet runs here")

const runningVersion = 1

// Running reads fleet.json.
func (f Folder) Running() (*Running, error) {
	text, err := os.ReadFile(f.Path("fleet.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w (%s)", ErrNotRunning, f)
	}
	if err != nil {
		return nil, fmt.Errorf("read what runs: %w", err)
	}
	var r Running
	if err := json.Unmarshal(text, &r); err != nil || r.V != runningVersion {
		return nil, fmt.Errorf("%s is not of this version: start the fleet again", f.Path("fleet.json"))
	}
	if err := syscall.Kill(r.PID, 0); errors.Is(err, syscall.ESRCH) {
		// It was killed, and could not take its word back.
		return nil, fmt.Errorf("%w (%s)", ErrNotRunning, f)
	}
	return &r, nil
}

func (f Folder) writeRunning(r Running) error {
	r.V, r.PID, r.Started = runningVersion, os.Getpid(), protocol.At(time.Now())
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write what runs: %w", err)
	}
	return writeFile(f.Path("fleet.json"), append(text, '\n'))
}

// writeFile replaces a file as a whole, 0600: a reader never sees half of it.
func writeFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(tmp.Name(), path)
}
