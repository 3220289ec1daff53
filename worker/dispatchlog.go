package worker

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/browserfleet/browserfleet/protocol"
)

// DispatchLog is a file of JSON lines, one before each dispatch. One write call
// a line: what a killed worker dispatched is in it.
type DispatchLog struct {
	mu   sync.Mutex // one line at a time
	file *os.File   // nil: nothing is logged
}

// OpenDispatchLog appends to path; an empty path logs nothing.
func OpenDispatchLog(path string) (*DispatchLog, error) {
	if path == "" {
		return &DispatchLog{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("dispatch log: %w", err)
	}
	return &DispatchLog{file: f}, nil
}

// Dispatch writes a line. What cannot be logged must not be dispatched.
func (d *DispatchLog) Dispatch(e protocol.DispatchEntry) error {
	if d.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.file.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (d *DispatchLog) Close() error {
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}
