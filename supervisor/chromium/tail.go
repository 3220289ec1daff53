package chromium

import "sync"

const tailRoom = 8 << 10

// tail keeps the end of a stream. mu protects kept.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func newTail() *tail { return &tail{} }

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - tailRoom; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
