package natsx_test

import (
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/nats-io/nats.go"
)

// Whatever a push says, what is read of it names legal subjects only, and the
// subject on which it came.
func FuzzReadPush(f *testing.F) {
	f.Add(pushOne, actOne, "BF_ACT_0", "1", "0", "2026-01-02T03:04:05Z")
	f.Add("done.one.R", "bf.res.0.a.one.R", "BF_RES_0", "2", "0", "2026-01-02T03:04:05Z")
	f.Add("events.one", "bf.ev.0.a.one", "BF_EV_0", "2", "1", "2026-01-02T03:04:05.1Z")
	f.Add("bf.push.0.a.*.q", "bf.act.0.a.*.q", "BF_ACT_0", "2", "1", "x")
	f.Fuzz(func(t *testing.T, push, subject, stream, seq, last, at string) {
		m, err := natsx.ReadPush(&nats.Msg{Subject: push, Header: nats.Header{
			"Nats-Stream": {"forged", stream}, "Nats-Subject": {"forged", subject}, "Nats-Sequence": {"7", seq},
			"Nats-Last-Sequence": {"6", last}, "Nats-Time-Stamp": {"forged", at},
		}})
		if err != nil {
			return
		}
		if m.Subject != subject || m.Seq == 0 || len(m.Header) != 0 || strings.ContainsAny(push+subject, "*> \r\n") {
			t.Errorf("push %q is taken for %+v", push, m)
		}
	})
}
