package check

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// DispatchFiles are the files of a folder that are dispatch logs: *.jsonl.
func DispatchFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("dispatch logs: %w", err)
	}
	slices.Sort(files)
	return files, nil
}

// ReadDispatches reads dispatch logs. A log's last line may be torn: its worker
// was killed while it wrote, so it dispatched nothing; torn counts those. Any
// other line that cannot be read is an error, since a verdict without it would
// be worth nothing.
func ReadDispatches(files []string) (all []Dispatch, torn int, err error) {
	for _, path := range files {
		ds, cut, err := readLog(path)
		if err != nil {
			return nil, 0, fmt.Errorf("dispatch log %s: %w", path, err)
		}
		all = append(all, ds...)
		if cut {
			torn++
		}
	}
	return all, torn, nil
}

func readLog(path string) (all []Dispatch, torn bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, false, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			d := Dispatch{File: path, Line: n}
			switch err := json.Unmarshal(line, &d.DispatchEntry); {
			case err != nil && last:
				return all, true, nil
			case err != nil:
				return nil, false, fmt.Errorf("line %d: %w", n, err)
			}
			all = append(all, d)
		}
		if last {
			return all, false, nil
		}
	}
}
