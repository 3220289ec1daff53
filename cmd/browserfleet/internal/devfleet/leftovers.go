package devfleet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Leftovers names what a stopped fleet left behind: processes that were started
// with the folder in their arguments or environment, and profiles of browsers.
func (f Folder) Leftovers() ([]string, error) {
	var left []string
	for _, pattern := range []string{"profiles", "records"} {
		found, err := filepath.Glob(filepath.Join(f.Scratch(), pattern, "*"))
		if err != nil {
			return nil, err
		}
		left = append(left, found...)
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, dir := range processes {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !f.mentioned(dir) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		left = append(left, fmt.Sprintf("process %d (%s)", pid, bytes.TrimSpace(name)))
	}
	return left, nil
}

// mentioned reports whether a process was started for this folder. What cannot
// be read is another user's, or gone.
func (f Folder) mentioned(dir string) bool {
	for _, file := range []string{"cmdline", "environ"} {
		for item := range bytes.SplitSeq(read(filepath.Join(dir, file)), []byte{0}) {
			name, value, _ := bytes.Cut(item, []byte("="))
			// A shell that was told of the folder is not a process of the fleet.
			if bytes.Equal(name, []byte("BROWSERFLEET_DATA")) {
				continue
			}
			if bytes.Contains(value, []byte(string(f)+"/")) || bytes.HasPrefix(item, []byte(string(f)+"/")) {
				return file == "cmdline" || bytes.HasPrefix(name, []byte("BROWSERFLEET_")) || bytes.Equal(name, []byte("HOME"))
			}
		}
	}
	return false
}

func read(path string) []byte {
	text, _ := os.ReadFile(path)
	return text
}
