package environment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// recorded are the streams of an environment that only takes events.
type recorded struct {
	Streams
	sent []string
}

func (r *recorded) Send(_ string, data []byte) error {
	r.sent = append(r.sent, string(data))
	return nil
}

func TestEventsTellNothingThatAPageSays(t *testing.T) {
	t.Parallel()
	log := &recorded{}
	e := &Environment{cfg: Config{Conn: log, Key: protocol.OwnerKey{Tenant: "a", Owner: "one"}}}
	e.tell(3, protocol.Event{Type: protocol.EventDialogOpened, Dialog: &protocol.Dialog{
		ID: "d-3-1", Type: protocol.DialogPrompt, Message: "private", DefaultPrompt: "private", URL: "http://shop.example/a?private#private",
	}})
	e.tell(3, protocol.Event{Type: protocol.EventDownload, URL: "http://private:private@shop.example/file?private"})
	e.event(&protocol.Result{Tenant: "a", Owner: "one", Transition: &protocol.Transition{
		Prompts: []protocol.Prompt{{Type: "http_auth", URL: "http://shop.example/?private", Detail: "private"}},
	}})
	if len(log.sent) != 3 {
		t.Fatalf("%d events", len(log.sent))
	}
	for _, line := range log.sent {
		var ev protocol.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil || ev.Owner != "one" || strings.Contains(line, "private") {
			t.Errorf("%v: %s", err, line)
		}
	}
	if !strings.Contains(log.sent[0], `"generation":3`) || !strings.Contains(log.sent[0], "shop.example/a") {
		t.Errorf("%s", log.sent[0])
	}
}
