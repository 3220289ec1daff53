package figures

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWhenTheCoordinatorNoticed(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "coordinator.log")
	before := `time=2026-01-01T10:00:00.000Z level=WARN msg="a worker is gone; its owners move" worker=w-1` + "\n"
	after := `time=2026-01-01T10:00:01.000Z level=INFO msg=assigned` + "\n" +
		`time=2026-01-01T10:00:02.125Z level=WARN msg="a worker is gone; its owners move" worker=w-2` + "\n"
	if err := os.WriteFile(log, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := noticed(log, int64(len(before))); err == nil {
		t.Error("the one of an earlier repeat was taken")
	}
	if err := os.WriteFile(log, []byte(before+after), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := noticed(log, int64(len(before)))
	if want := time.Date(2026, 1, 1, 10, 0, 2, 125e6, time.UTC); err != nil || !at.Equal(want) {
		t.Errorf("%s %v, want %s", at, err, want)
	}
}
