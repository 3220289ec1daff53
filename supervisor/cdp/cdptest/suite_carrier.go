package cdptest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// ends makes a pair that ends with the test.
func ends(t *testing.T, pair Pair) (client, browser cdp.Carrier) {
	t.Helper()
	client, browser = pair(t)
	t.Cleanup(func() {
		_ = client.Close()
		_ = browser.Close()
	})
	return client, browser
}

// sized is a message of n bytes that says which one it is.
func sized(n int) []byte {
	head := fmt.Sprintf(`{"id":%d,"x":"`, n)
	return append(append([]byte(head), bytes.Repeat([]byte{'x'}, max(0, n-len(head)-2))...), `"}`...)
}

// The sizes are those at which buffers of 4 and 64 KiB are full.
func wholeMessages(t *testing.T, pair Pair) {
	client, browser := ends(t, pair)
	var messages [][]byte
	for _, n := range []int{20, 4095, 4096, 4097, 65535, 65536, 65537, 131072, 1 << 20} {
		messages = append(messages, sized(n), []byte("{}"))
	}
	for name, way := range map[string]struct{ from, to cdp.Carrier }{"up": {client, browser}, "down": {browser, client}} {
		var writer sync.WaitGroup
		writer.Go(func() {
			for _, m := range messages {
				if err := way.from.WriteMessage(m); err != nil {
					t.Errorf("%s: %v", name, err)
					_ = way.to.Close()
					return
				}
			}
		})
		for i, want := range messages {
			got, err := way.to.ReadMessage()
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: message %d: %d bytes instead of %d, %v", name, i, len(got), len(want), err)
				break
			}
		}
		writer.Wait()
	}
}

func ownedMessages(t *testing.T, pair Pair) {
	client, browser := ends(t, pair)
	var writer sync.WaitGroup
	writer.Go(func() {
		message := []byte(`{"n":1}`)
		_ = browser.WriteMessage(message)
		message[5] = '2' // the carrier does not keep it
		_ = browser.WriteMessage(message)
	})
	first, err1 := client.ReadMessage()
	second, err2 := client.ReadMessage()
	writer.Wait()
	if err := errors.Join(err1, err2); err != nil || string(first) != `{"n":1}` || string(second) != `{"n":2}` {
		t.Errorf("%s then %s, %v", first, second, err)
	}
}

func closeEndsBoth(t *testing.T, pair Pair) {
	client, _ := ends(t, pair)
	var workers sync.WaitGroup
	workers.Go(func() {
		if message, err := client.ReadMessage(); err == nil {
			t.Errorf("read %q from nobody", message)
		}
	})
	workers.Go(func() {
		for big := sized(1 << 20); client.WriteMessage(big) == nil; { // the peer never reads
		}
	})
	for range 3 {
		workers.Go(func() { _ = client.Close() })
	}
	workers.Wait()
	if err := client.WriteMessage([]byte("{}")); err == nil {
		t.Error("a closed carrier takes a message")
	}
	if message, err := client.ReadMessage(); err == nil {
		t.Errorf("a closed carrier gives %q", message)
	}
}

func peerEndsRead(t *testing.T, pair Pair) {
	client, browser := ends(t, pair)
	var writer sync.WaitGroup
	writer.Go(func() {
		_ = browser.WriteMessage([]byte(`{"last":1}`))
		_ = browser.Close()
	})
	if message, err := client.ReadMessage(); err != nil || string(message) != `{"last":1}` {
		t.Errorf("%q, %v", message, err)
	}
	if message, err := client.ReadMessage(); err == nil {
		t.Errorf("%q after the end", message)
	}
	writer.Wait()
}
