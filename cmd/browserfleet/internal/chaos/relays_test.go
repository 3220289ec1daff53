package chaos

import "testing"

func TestCutsOfRelaysHoldTheRightLinks(t *testing.T) {
	t.Parallel()
	n := newRelays()
	t.Cleanup(func() { _ = n.close() })
	for _, to := range []string{"n1", "n2"} {
		for _, from := range []string{"n1", "n2", "w3"} {
			if _, err := n.reach(from, to, portNATS); err != nil {
				t.Fatal(err)
			}
		}
	}
	held := func() (out int) {
		for _, r := range n.links {
			out += r.Held()
		}
		return out
	}
	for _, tc := range []struct {
		name string
		do   func(on bool) error
		want int
	}{
		{"a worker alone", func(on bool) error { return n.cut("w3", on) }, 2},
		{"a server with its worker", func(on bool) error { return n.cut("n1", on) }, 3},
		{"two hosts", func(on bool) error { return n.part("n1", "w3", on) }, 1},
		{"two servers", func(on bool) error { return n.part("n1", "n2", on) }, 2},
	} {
		if err := tc.do(true); err != nil || held() != tc.want {
			t.Errorf("%s: %d links are held, want %d (%v)", tc.name, held(), tc.want, err)
		}
		if err := tc.do(false); err != nil || held() != 0 {
			t.Errorf("%s, mended: %d links are held (%v)", tc.name, held(), err)
		}
	}
}
