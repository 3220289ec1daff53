package natsx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

const (
	actOne  = "bf.act.0.a.one.q"
	pushOne = "bf.push.0.a.one.q"
)

func TestReadPushTellsWhatTheServerStored(t *testing.T) {
	t.Parallel()
	s, agent := owner(t)
	sub := subscribe(t, s.Worker(t), "bf.push.>")
	for i, want := range []protocol.Seq{0, 1, 2} {
		publish(t, agent, "act.one.q", fmt.Sprint(i), nats.Header{"traceparent": {"00-x"}})
		m, err := natsx.ReadPush(next(t, sub))
		if err != nil {
			t.Fatal(err)
		}
		if m.Time.IsZero() {
			t.Error("no store time")
		}
		m.Time = m.Time.UTC().Truncate(0)
		got := natsx.Message{
			Subject: m.Subject, Seq: m.Seq, LastSeq: m.LastSeq, Data: m.Data, Header: m.Header,
		}
		expect := natsx.Message{
			Subject: actOne, Seq: protocol.Seq(i + 1), LastSeq: want,
			Data: fmt.Append(nil, i), Header: nats.Header{"traceparent": {"00-x"}},
		}
		if d := cmp.Diff(expect, got); d != "" {
			t.Errorf("push %d (-want +got):\n%s", i, d)
		}
	}
}

func TestLastSeqIsZeroAfterAPurge(t *testing.T) {
	t.Parallel()
	s, agent := owner(t)
	coordinator := s.Fleet(t)
	sub := subscribe(t, s.Worker(t), "bf.push.>")
	publish(t, agent, "act.one.q", "1", nil)
	next(t, sub)
	if err := coordinator.PurgeTo(within(t), "BF_ACT_0", actOne, 1); err != nil {
		t.Fatal(err)
	}
	publish(t, agent, "act.one.q", "2", nil)
	m, err := natsx.ReadPush(next(t, sub))
	if err != nil || m.Seq != 2 || m.LastSeq != 0 {
		t.Fatalf("got %+v, %v; want sequence 2 after 0", m, err)
	}
}

// forged is what an agent sends to be taken for the server.
var forged = nats.Header{
	"Nats-Stream":        {"BF_RES_0"},
	"Nats-Subject":       {"bf.act.0.b.victim.q"},
	"Nats-Sequence":      {"999999"},
	"Nats-Last-Sequence": {"999998"},
	"Nats-Time-Stamp":    {"2001-01-01T00:00:00Z"},
	"Nats-Num-Pending":   {"7"},
	"Status":             {"404"},
	"Description":        {"Message Not Found"},
	"traceparent":        {"00-y"},
}

func TestForgedServerHeadersAreNeverRead(t *testing.T) {
	t.Parallel()
	s, agent := owner(t)
	worker := s.Worker(t)
	sub := subscribe(t, worker, "bf.push.>")
	publish(t, agent, "act.one.q", "body", forged)

	pushed, err := natsx.ReadPush(next(t, sub))
	if err != nil {
		t.Fatal(err)
	}
	direct, err := worker.DirectNext(within(t), "BF_ACT_0", actOne, 1)
	if err != nil {
		t.Fatal(err)
	}
	leader, err := worker.LeaderLast(within(t), "BF_ACT_0", actOne)
	if err != nil {
		t.Fatal(err)
	}
	multi, err := worker.DirectLastMulti(within(t), "BF_ACT_0", []string{actOne})
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]natsx.Message{"push": pushed, "direct": direct, "leader": leader, "multi": multi[actOne]} {
		want := natsx.Message{Subject: actOne, Seq: 1, Time: m.Time, Data: []byte("body"), Header: nats.Header{"traceparent": {"00-y"}}}
		if d := cmp.Diff(want, m); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if m.Time.Year() < 2020 {
			t.Errorf("%s: store time %v is the forger's", name, m.Time)
		}
	}
}

// hiding is a header block that ends before it ends: what the server appends is
// behind the empty line, where a parser does not look.
func hiding(seq int, visible string) string {
	return "NATS/1.0\r\n" + visible +
		"Nats-Stream: BF_ACT_0\r\nNats-Subject: " + actOne + "\r\n" +
		fmt.Sprintf("Nats-Sequence: %d\r\n", seq) +
		"Nats-Last-Sequence: 0\r\nNats-Time-Stamp: 2001-01-01T00:00:00Z\r\n\r\nx: y\r\n\r\n"
}

// hostileHeaders are blocks that a raw client gets stored.
var hostileHeaders = map[string]struct {
	header, body string
}{
	"an empty line hides the server's headers": {header: hiding(999999, ""), body: "body"},
	"a hidden block behind short lines":        {header: hiding(999999, strings.Repeat("a:b\n", 200)), body: "body"},
	"a hidden block behind the allowed lines":  {header: hiding(999999, strings.Repeat("a:b\n", 40)), body: "body"},
	"a status that hides the server's headers": {header: "NATS/1.0 404 Message Not Found\r\n\r\nx: y\r\n\r\n"},
	"no responders, hiding the headers":        {header: "NATS/1.0 503\r\n\r\nx: y\r\n\r\n"},
	"end of batch, hiding the headers":         {header: "NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: 0\r\n\r\nx: y\r\n\r\n"},
	"no responders in a header":                {header: "NATS/1.0\r\nStatus: 503\r\n\r\n"},
	"an inline status":                         {header: "NATS/1.0 404 Message Not Found\r\n\r\n"},
	"a line without a colon":                   {header: "NATS/1.0\r\ngarbage\r\n\r\n", body: "body"},
	"not a header block at all":                {header: "garbage", body: "body"},
	"no end of the block":                      {header: "NATS/1.0\r\nfoo: bar", body: "body"},
	"too many lines":                           {header: "NATS/1.0\r\n" + strings.Repeat("a: b\r\n", 100) + "\r\n", body: "body"},
}

func TestAStoredRequestCannotHideFromItsHolder(t *testing.T) {
	t.Parallel()
	for name, tc := range hostileHeaders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, agent := owner(t)
			worker := s.Worker(t)
			sub := subscribe(t, worker, "bf.push.>")
			said := s.RawPublish(t, "agent.a.one", "act.one.q", "", tc.header, tc.body)
			publish(t, agent, "act.one.q", "after", nil)
			checkHostile(t, worker, sub, tc.body, said)
		})
	}
}

// checkHostile: either the server refused the message, or every read finds it
// as sequence 1 and no push of it is taken for anything else.
func checkHostile(t *testing.T, worker *natsx.Conn, sub chan *nats.Msg, body, said string) {
	t.Helper()
	last, err := worker.LeaderLast(within(t), "BF_ACT_0", actOne)
	if err != nil {
		t.Fatal(err)
	}
	if last.Seq == 1 {
		t.Logf("the server did not store it: %q", said)
		return
	}
	pushed, pushErr := natsx.ReadPush(next(t, sub))
	direct, err := worker.DirectNext(within(t), "BF_ACT_0", actOne, 1)
	if err != nil {
		t.Fatalf("DirectNext: %v", err)
	}
	leader, err := worker.LeaderNext(within(t), "BF_ACT_0", actOne, 1)
	if err != nil {
		t.Fatalf("LeaderNext: %v", err)
	}
	reads := []natsx.Message{direct, leader}
	if pushErr == nil {
		reads = append(reads, pushed)
	}
	for _, m := range reads {
		if m.Seq != 1 || m.Subject != actOne || string(m.Data) != body || m.Time.Year() < 2020 {
			t.Errorf("read %+v", m)
		}
	}
}

func TestAHostileNewestMessageDoesNotHideFromTheSweep(t *testing.T) {
	t.Parallel()
	for name, tc := range hostileHeaders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testkit.NATS(t)
			worker := s.Worker(t)
			publish(t, s.As(t, "agent.a.two"), "act.two.q", "neighbour", nil)
			s.RawPublish(t, "agent.a.one", "act.one.q", "", tc.header, tc.body)
			if _, err := worker.LeaderLast(within(t), "BF_ACT_0", actOne); err != nil {
				t.Logf("not stored: %v", err)
				return
			}
			got, err := worker.DirectLastMulti(within(t), "BF_ACT_0", []string{actOne, "bf.act.0.a.two.q", "bf.act.0.a.three.q"})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 2 || got[actOne].Seq != 2 || got["bf.act.0.a.two.q"].Seq != 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReadPushRefusesOtherSources(t *testing.T) {
	t.Parallel()
	server := func(stream, subject string) nats.Header {
		return nats.Header{
			"Nats-Stream": {stream}, "Nats-Subject": {subject}, "Nats-Sequence": {"4"},
			"Nats-Last-Sequence": {"0"}, "Nats-Time-Stamp": {"2026-01-02T03:04:05.6Z"},
		}
	}
	for name, tc := range map[string]struct {
		push    string
		h       nats.Header
		accept  bool
		without string
	}{
		"a request":                   {push: pushOne, h: server("BF_ACT_0", actOne), accept: true},
		"a result":                    {push: "bf.done.a.one.R1", h: server("BF_RES_3", "bf.res.3.a.one.R1"), accept: true},
		"a result as the tenant sees": {push: "done.one.R1", h: server("BF_RES_3", "bf.res.3.a.one.R1"), accept: true},
		"an event":                    {push: "bf.events.a.one", h: server("BF_EV_0", "bf.ev.0.a.one"), accept: true},
		"an event as the tenant sees": {push: "events.one", h: server("BF_EV_0", "bf.ev.0.a.one"), accept: true},
		"another owner's":             {push: pushOne, h: server("BF_ACT_0", "bf.act.0.a.two.q")},
		"another tenant's":            {push: pushOne, h: server("BF_ACT_0", "bf.act.0.b.one.q")},
		"another lane":                {push: pushOne, h: server("BF_ACT_0", "bf.act.0.a.one.c")},
		"another shard":               {push: pushOne, h: server("BF_ACT_1", "bf.act.1.a.one.q")},
		"another stream":              {push: pushOne, h: server("BF_RES_0", actOne)},
		"a request on done":           {push: "done.one.R1", h: server("BF_ACT_0", actOne)},
		"a wildcard in the subject":   {push: "bf.push.0.a.*.q", h: server("BF_ACT_0", "bf.act.0.a.*.q")},
		"a short subject":             {push: "bf.push.0", h: server("BF_ACT_0", "bf.act.0")},
		"no stream":                   {push: pushOne, h: server("BF_ACT_0", actOne), without: "Nats-Stream"},
		"no sequence":                 {push: pushOne, h: server("BF_ACT_0", actOne), without: "Nats-Sequence"},
		"no last sequence":            {push: pushOne, h: server("BF_ACT_0", actOne), without: "Nats-Last-Sequence"},
		"no time":                     {push: pushOne, h: server("BF_ACT_0", actOne), without: "Nats-Time-Stamp"},
		"no subject":                  {push: pushOne, h: server("BF_ACT_0", actOne), without: "Nats-Subject"},
		"an acknowledgement":          {push: "done.one.R1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delete(tc.h, tc.without)
			m, err := natsx.ReadPush(&nats.Msg{Subject: tc.push, Header: tc.h, Data: []byte("{}")})
			if (err == nil) != tc.accept {
				t.Errorf("got %+v, %v; want accepted %v", m, err, tc.accept)
			}
		})
	}
}

func TestAResultPushedAgainReadsLikeTheFirstPush(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	worker, agent := s.Worker(t), s.As(t, "agent.a.one")
	sub := subscribe(t, agent, "done.one.>")
	if _, err := worker.Create(within(t), "bf.res.0.a.one.R1", []byte("{}"), nats.Header{"traceparent": {"00-z"}}); err != nil {
		t.Fatal(err)
	}
	first, err := natsx.ReadPush(next(t, sub))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := worker.LeaderLast(within(t), "BF_RES_0", "bf.res.0.a.one.R1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := natsx.RepeatDone(stored)
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.NC.PublishMsg(again); err != nil {
		t.Fatal(err)
	}
	second, err := natsx.ReadPush(next(t, sub))
	if err != nil {
		t.Fatal(err)
	}
	if second.Header[protocol.HeaderRepeat] == nil {
		t.Error("the second push is not marked")
	}
	delete(second.Header, protocol.HeaderRepeat)
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("(-first +second):\n%s", d)
	}
	for _, subject := range []string{"", actOne, "bf.res.0.a.one", "bf.res.0.a.*.R1"} {
		if _, err := natsx.RepeatDone(natsx.Message{Subject: subject}); err == nil {
			t.Errorf("%q: taken for a result", subject)
		}
	}
}
