package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDispatchLogs(t *testing.T) {
	t.Parallel()
	const line = `{"at":"2026-01-02T03:04:05.000Z","key":{"tenant":"a","owner":"one"},"request":"r1","seq":1,"kind":"open","effect":"write","worker":"w1","epoch":10,"generation":1,"attempt":1}`
	for _, tc := range []struct {
		name, text  string
		lines, torn int
		bad         bool
	}{
		{"empty", "", 0, 0, false},
		{"two lines", line + "\n" + line + "\n", 2, 0, false},
		{"the last line is complete but for its end", line + "\n" + line, 2, 0, false},
		{"the last line is torn", line + "\n" + line[:40], 1, 1, false},
		{"a line in the middle is torn", line[:40] + "\n" + line + "\n", 0, 0, true},
		{"the last line is complete and no entry", line + "\nnonsense\n", 0, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "w1.jsonl")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			files, err := DispatchFiles(dir)
			if err != nil || cmp.Diff([]string{path}, files) != "" {
				t.Fatalf("%v, %v", files, err)
			}
			ds, torn, err := ReadDispatches(files)
			if (err != nil) != tc.bad || len(ds) != tc.lines || torn != tc.torn {
				t.Fatalf("%d lines, %d torn, %v", len(ds), torn, err)
			}
			if len(ds) > 0 && (ds[0].Key != owner || ds[0].Line != 1 || ds[0].File != path || ds[0].Epoch != 10) {
				t.Errorf("%+v", ds[0])
			}
		})
	}
	if _, _, err := ReadDispatches([]string{filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing log is no error")
	}
}
