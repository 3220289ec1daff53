package objectstore

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a store in memory with Store's contract: for tests, and for the
// fleet of simulated browsers that needs no durability.
type Memory struct {
	// Fault, when set, is asked before each call with its name ("put new",
	// "put", "get", "list", "delete") and key; an error it returns is the
	// call's. Set it before the first call.
	Fault func(op, key string) error

	mu      sync.Mutex // protects objects
	objects map[string]memoryObject
}

type memoryObject struct {
	body     []byte
	modified time.Time
}

// NewMemory makes an empty store.
func NewMemory() *Memory { return &Memory{objects: map[string]memoryObject{}} }

// Probe implements the start-up check.
func (m *Memory) Probe(ctx context.Context) error { return probe(ctx, m) }

// PutNew implements Store's contract.
func (m *Memory) PutNew(ctx context.Context, key string, body []byte) error {
	return m.put(ctx, "put new", key, body, false)
}

// Put implements Store's contract.
func (m *Memory) Put(ctx context.Context, key string, body []byte, _ string) error {
	return m.put(ctx, "put", key, body, true)
}

func (m *Memory) put(ctx context.Context, op, key string, body []byte, replace bool) error {
	if err := m.enter(ctx, op, key, checkKey); err != nil {
		return err
	}
	if len(body) > MaxObject {
		return &Error{Op: op, Key: key, Kind: ErrTooLarge}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, have := m.objects[key]; have && !replace {
		return &Error{Op: op, Key: key, Kind: ErrExists}
	}
	m.objects[key] = memoryObject{body: bytes.Clone(body), modified: time.Now()}
	return nil
}

// Get implements Store's contract.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := m.enter(ctx, "get", key, checkKey); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, have := m.objects[key]
	if !have {
		return nil, &Error{Op: "get", Key: key, Kind: ErrNotFound}
	}
	return append([]byte{}, o.body...), nil
}

// List implements Store's contract.
func (m *Memory) List(ctx context.Context, prefix, startAfter string) ([]Entry, error) {
	if err := m.enter(ctx, "list", prefix, checkPrefix); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var entries []Entry
	for key, o := range m.objects {
		if strings.HasPrefix(key, prefix) && key > startAfter {
			entries = append(entries, Entry{Key: key, Size: int64(len(o.body)), Modified: o.modified})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return entries, nil
}

// Delete implements Store's contract.
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := m.enter(ctx, "delete", key, checkKey); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
	return nil
}

// enter is what every call does first: context, key, injected fault.
func (m *Memory) enter(ctx context.Context, op, key string, check func(string) error) error {
	if err := context.Cause(ctx); err != nil {
		return &Error{Op: op, Key: key, Kind: ErrUnavailable, Lost: op != "get" && op != "list", Cause: err}
	}
	if err := check(key); err != nil {
		return &Error{Op: op, Key: key, Kind: err}
	}
	if m.Fault != nil {
		return m.Fault(op, key)
	}
	return nil
}
