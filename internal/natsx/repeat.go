package natsx

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
)

// RepeatDone makes the message that pushes a stored result once more, as the
// server's own push of it looks, marked with protocol.HeaderRepeat. m comes
// from a read of BF_RES. Publish it with core NATS.
func RepeatDone(m Message) (*nats.Msg, error) {
	t := strings.Split(m.Subject, ".")
	if len(t) != 6 || t[0] != "bf" || t[1] != "res" || checkSubject(m.Subject) != nil {
		return nil, fmt.Errorf("repeat %.120q: not the subject of a result", m.Subject)
	}
	h := maps.Clone(m.Header)
	if h == nil {
		h = nats.Header{}
	}
	h[protocol.HeaderRepeat] = []string{"1"}
	h[headerStream] = []string{"BF_RES_" + t[2]}
	h[headerSubject] = []string{m.Subject}
	h[headerSequence] = []string{strconv.FormatUint(uint64(m.Seq), 10)}
	h[headerTime] = []string{m.Time.UTC().Format(time.RFC3339Nano)}
	h[headerLastSequence] = []string{"0"} // a result is its subject's only message
	return &nats.Msg{Subject: "bf.done." + strings.Join(t[3:], "."), Data: m.Data, Header: h}, nil
}
