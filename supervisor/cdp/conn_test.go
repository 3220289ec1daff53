package cdp_test

import (
	"testing"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/cdp/cdptest"
	protocol "github.com/chromedp/cdproto/cdp"
)

var _ protocol.Session = (*cdp.Session)(nil)

func TestPipe(t *testing.T) {
	t.Parallel()
	cdptest.Run(t, cdptest.Pipe)
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	cdptest.Run(t, cdptest.WebSocket)
}

// The pairs of the tests in bubbles are carriers like the two that count.
func TestMemory(t *testing.T) {
	t.Parallel()
	cdptest.Run(t, cdptest.Memory)
}

func TestBubbleSocket(t *testing.T) {
	t.Parallel()
	cdptest.Run(t, cdptest.BubbleSocket)
}
