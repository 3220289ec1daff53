package cdp

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMayHaveExecuted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nil":          {nil, false},
		"unknown":      {errors.New("x"), true},
		"not sent":     {fmt.Errorf("wrap: %w", &LostError{Cause: ErrBusy}), false},
		"sent":         {&LostError{Cause: ErrClosed, MayHaveExecuted: true}, true},
		"no such":      {&Error{Code: -32601}, false},
		"bad params":   {&Error{Code: -32602}, false},
		"server error": {&Error{Code: -32000}, true},
	} {
		if got := MayHaveExecuted(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzRoute(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{}}`))
	f.Add([]byte(`{"method":"A.b","params":{},"sessionId":"S"}`))
	f.Add([]byte(`{"id":1,"error":{"code":-1,"message":"x"}}`))
	f.Add([]byte("{\"id\":1e99}\x00"))
	f.Fuzz(func(t *testing.T, message []byte) {
		c := &Conn{events: newQueue(Options{}.withDefaults()), pending: map[int64]*Pending{}, done: make(chan struct{})}
		p := &Pending{conn: c, id: 1, done: make(chan struct{})}
		c.pending[1] = p
		c.route(message)
		if p.settled != (c.pending[1] == nil) {
			t.Error("table and call disagree")
		}
	})
}
