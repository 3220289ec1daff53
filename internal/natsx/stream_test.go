package natsx_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func TestPurgeToRemovesTheAnsweredPartOfOneQueue(t *testing.T) {
	t.Parallel()
	s, agent := owner(t)
	coordinator := s.Fleet(t)
	for i := range 5 {
		publish(t, agent, "act.one.q", fmt.Sprint(i), nil)
	}
	publish(t, agent, "act.one.c", "control", nil)
	for range 2 { // twice is harmless
		if err := coordinator.PurgeTo(within(t), "BF_ACT_0", actOne, 3); err != nil {
			t.Fatal(err)
		}
	}
	got, err := coordinator.SubjectCounts(within(t), "BF_ACT_0", "bf.act.0.a.*.>")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]uint64{actOne: 2, "bf.act.0.a.one.c": 1}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	m, err := coordinator.LeaderNext(within(t), "BF_ACT_0", actOne, 1)
	if err != nil || m.Seq != 4 {
		t.Errorf("the first of what is left: %+v, %v", m, err)
	}
	for _, upto := range []protocol.Seq{0, math.MaxUint64} {
		if err := coordinator.PurgeTo(within(t), "BF_ACT_0", actOne, upto); err == nil {
			t.Errorf("purge up to %d was done", upto)
		}
	}
}

// A raw client can store the literal token "*". Purging "its" subject would
// purge whatever the wildcard matches.
func TestAStoredAsteriskEmptiesNoQueue(t *testing.T) {
	t.Parallel()
	s, agent := owner(t)
	coordinator := s.Fleet(t)
	publish(t, agent, "act.one.q", "keep me", nil)
	s.RawPublish(t, "tenant.a", "act.*.q", "", "", "trap")
	counts, err := coordinator.SubjectCounts(within(t), "BF_ACT_0", "bf.act.0.>")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("stored: %v", counts)
	for subject := range counts {
		_, parseErr := protocol.ParseActSubject(subject)
		purgeErr := coordinator.PurgeTo(within(t), "BF_ACT_0", subject, 2)
		if parseErr != nil && !errors.Is(purgeErr, natsx.ErrToken) {
			t.Errorf("purge of %q: %v", subject, purgeErr)
		}
	}
	publish(t, agent, "act.one.q", "and me", nil)
	for _, subject := range []string{"bf.act.0.a.*.q", "bf.act.0.>", ">", "", "bf.act.0.a..q", "bf.act.0.a.one.q ", "$KV.x.*"} {
		if err := coordinator.PurgeTo(within(t), "BF_ACT_0", subject, 9); !errors.Is(err, natsx.ErrToken) {
			t.Errorf("purge of %q: %v", subject, err)
		}
	}
	if _, err := coordinator.LeaderNext(within(t), "BF_ACT_0", actOne, 1); err != nil {
		t.Errorf("the neighbour's queue: %v", err)
	}
}

func TestEverySubjectIsCheckedTokenByToken(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	c := s.Operator(t)
	calls := map[string]func(ctx context.Context, stream, subject string) error{
		"LeaderLast": func(ctx context.Context, st, su string) error { _, err := c.LeaderLast(ctx, st, su); return err },
		"LeaderNext": func(ctx context.Context, st, su string) error { _, err := c.LeaderNext(ctx, st, su, 1); return err },
		"DirectNext": func(ctx context.Context, st, su string) error { _, err := c.DirectNext(ctx, st, su, 1); return err },
		"DirectLastMulti": func(ctx context.Context, st, su string) error {
			_, err := c.DirectLastMulti(ctx, st, []string{actOne, su})
			return err
		},
		"LastMulti": func(ctx context.Context, st, su string) error {
			_, err := c.LastMulti(ctx, st, []string{actOne, su}, 1)
			return err
		},
		"PurgeTo": func(ctx context.Context, st, su string) error { return c.PurgeTo(ctx, st, su, 1) },
		"CAS":     func(ctx context.Context, _, su string) error { _, err := c.CAS(ctx, su, nil, nil, 0); return err },
		"Create":  func(ctx context.Context, _, su string) error { _, err := c.Create(ctx, su, nil, nil); return err },
		"Publish": func(ctx context.Context, _, su string) error { _, err := c.Publish(ctx, su, nil, nil); return err },
	}
	subjects := []string{"", "*", ">", "bf.act.0.a.*.q", "bf.act.0.a.>", "bf..q", "bf.act.0.a.o e.q", "bf.act.0.a.ö.q", "bf.$KV.x", "$JS.API.STREAM.PURGE.BF_ACT_0"}
	for name, call := range calls {
		for _, subject := range subjects {
			if err := call(within(t), "BF_ACT_0", subject); !errors.Is(err, natsx.ErrToken) {
				t.Errorf("%s(%q): %v", name, subject, err)
			}
		}
	}
	for _, stream := range []string{"", "BF_ACT_*", "BF_ACT_0.x", ">"} {
		for _, name := range []string{"LeaderLast", "LeaderNext", "DirectNext", "DirectLastMulti", "LastMulti", "PurgeTo"} {
			if err := calls[name](within(t), stream, actOne); !errors.Is(err, natsx.ErrToken) {
				t.Errorf("%s of stream %q: %v", name, stream, err)
			}
		}
		if _, err := c.SubjectCounts(within(t), stream, ">"); !errors.Is(err, natsx.ErrToken) {
			t.Errorf("counts of stream %q: %v", stream, err)
		}
		if _, err := c.StreamCreated(within(t), stream); !errors.Is(err, natsx.ErrToken) {
			t.Errorf("creation of stream %q: %v", stream, err)
		}
	}
	for _, filter := range []string{"", "bf.>.x", "bf..x", "bf.*x", "bf.act 0"} {
		if _, err := c.SubjectCounts(within(t), "BF_ACT_0", filter); !errors.Is(err, natsx.ErrToken) {
			t.Errorf("counts of %q: %v", filter, err)
		}
	}
}

func TestReadsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	c := s.Operator(t)
	_, last := c.LeaderLast(within(t), "BF_ACT_0", actOne)
	_, next := c.LeaderNext(within(t), "BF_ACT_0", actOne, 7)
	_, direct := c.DirectNext(within(t), "BF_ACT_0", actOne, 7)
	for name, err := range map[string]error{"LeaderLast": last, "LeaderNext": next, "DirectNext": direct} {
		if !errors.Is(err, natsx.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	if got, err := c.LastMulti(within(t), "BF_ACT_0", []string{actOne}, 99); err != nil || len(got) != 0 {
		t.Errorf("LastMulti: %v, %v", got, err)
	}
	if got, err := c.DirectLastMulti(within(t), "BF_ACT_0", []string{actOne}); err != nil || len(got) != 0 {
		t.Errorf("DirectLastMulti: %v, %v", got, err)
	}
	// A stream that is not there is another matter: nothing may be concluded.
	// The server does not answer a direct read of it at all.
	short, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	_, last = c.LeaderLast(within(t), "BF_ACT_9", actOne)
	_, direct = c.DirectNext(short, "BF_ACT_9", actOne, 1)
	_, multi := c.DirectLastMulti(short, "BF_ACT_9", []string{actOne})
	for name, err := range map[string]error{"LeaderLast": last, "DirectNext": direct, "DirectLastMulti": multi} {
		if err == nil || errors.Is(err, natsx.ErrNotFound) {
			t.Errorf("%s of no stream: %v", name, err)
		}
	}
}

func TestNextWalksOneSubjectInOrder(t *testing.T) {
	t.Parallel()
	s, one := owner(t)
	two := s.As(t, "agent.a.two")
	worker := s.Worker(t)
	for i := range 3 {
		publish(t, one, "act.one.q", fmt.Sprint(i), nil)
		publish(t, two, "act.two.q", "neighbour", nil)
	}
	for name, read := range map[string]func(context.Context, string, string, protocol.Seq) (natsx.Message, error){
		"leader": worker.LeaderNext, "direct": worker.DirectNext,
	} {
		var got []string
		for from := protocol.Seq(0); ; {
			m, err := read(within(t), "BF_ACT_0", actOne, from)
			if errors.Is(err, natsx.ErrNotFound) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s", m.Seq, m.Data))
			from = m.Seq + 1
		}
		if d := cmp.Diff([]string{"1 0", "3 1", "5 2"}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestLastOfManySubjects(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	c := s.Operator(t)
	var subjects []string
	for i := range 1100 { // more than one batch
		subject := fmt.Sprintf("bf.own.0.a.o%d", i)
		subjects = append(subjects, subject)
		if i%2 == 1 {
			continue
		}
		for range 1 + i%4/2 {
			if err := c.NC.Publish(subject, []byte(subject)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, err := c.Publish(within(t), "bf.own.0.a.last", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.DirectLastMulti(within(t), "BF_OWN_0", subjects)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 550 {
		t.Errorf("got %d subjects, want 550", len(got))
	}
	for subject, m := range got {
		if string(m.Data) != subject || m.Subject != subject {
			t.Errorf("%s: got %q of %s", subject, m.Data, m.Subject)
		}
	}
	if last, err := c.StreamLast(within(t), "BF_OWN_0"); err != nil || last != want {
		t.Errorf("the stream's last sequence is %d, %v; want %d", last, err, want)
	}
}

// More than one answer may hold: the rest is asked for.
func TestLastOfManyLargeMessages(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	c := s.Operator(t)
	var subjects []string
	body := make([]byte, 500<<10)
	for i := range 40 {
		subjects = append(subjects, fmt.Sprintf("bf.res.0.a.one.R%d", i))
		if _, err := c.Create(within(t), subjects[i], body, nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.DirectLastMulti(within(t), "BF_RES_0", subjects)
	if err != nil || len(got) != len(subjects) {
		t.Fatalf("got %d of %d, %v", len(got), len(subjects), err)
	}
}

// A connection was lost in the middle of an answer, and its end with it.
func TestAnAnswerWithoutAnEndIsAskedForAgain(t *testing.T) {
	t.Parallel()
	c := bare(t)
	var asked atomic.Int32
	_, err := c.NC.Subscribe("$JS.API.DIRECT.GET.BF_OWN_0", func(m *nats.Msg) {
		if asked.Add(1) == 1 {
			return
		}
		sendStatus(t, c, m.Reply, "NATS/1.0 404 No Results\r\n\r\n")
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.DirectLastMulti(within(t), "BF_OWN_0", []string{"bf.own.0.a.o1"})
	if err != nil || len(got) != 0 || asked.Load() < 2 {
		t.Fatalf("%v, %v, asked %d times", got, err, asked.Load())
	}
}

// The end of an answer came, but not everything before it: a reconnect in the
// middle does that. What is missing is not taken for empty.
func TestAnAnswerWithAHoleIsCompletedFromTheLeader(t *testing.T) {
	t.Parallel()
	c := bare(t)
	send := func(m *nats.Msg, h string) {
		msg := &nats.Msg{Subject: m.Reply, Header: nats.Header{}}
		for line := range strings.SplitSeq(h, ";") {
			key, value, _ := strings.Cut(line, "=")
			msg.Header[key] = []string{value}
		}
		_ = c.NC.PublishMsg(msg)
	}
	const at = ";Nats-Time-Stamp=2026-01-02T03:04:05Z;Nats-Stream=BF_OWN_0"
	_, err := c.NC.Subscribe("$JS.API.DIRECT.GET.BF_OWN_0", func(m *nats.Msg) {
		send(m, "Nats-Subject=bf.own.0.a.o1;Nats-Sequence=1;Nats-Num-Pending=2;Nats-Last-Sequence=0"+at)
		// bf.own.0.a.o2, sequence 2, is lost.
		send(m, "Nats-Subject=bf.own.0.a.o3;Nats-Sequence=3;Nats-Num-Pending=0;Nats-Last-Sequence=2"+at)
		sendStatus(t, c, m.Reply, "NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: 3\r\nNats-UpTo-Sequence: 3\r\n\r\n")
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 9)
	_, err = c.NC.Subscribe("$JS.API.STREAM.MSG.GET.BF_OWN_0", func(m *nats.Msg) {
		var req struct {
			Last string `json:"last_by_subj"`
		}
		_ = json.Unmarshal(m.Data, &req)
		asked <- struct{}{}
		_ = m.Respond(fmt.Appendf(nil, `{"message":{"subject":%q,"seq":9,"time":"2026-01-02T03:04:05Z"}}`, req.Last))
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.DirectLastMulti(within(t), "BF_OWN_0", []string{"bf.own.0.a.o1", "bf.own.0.a.o2", "bf.own.0.a.o3"})
	if err != nil || len(got) != 3 || got["bf.own.0.a.o1"].Seq != 1 || got["bf.own.0.a.o2"].Seq != 9 {
		t.Errorf("got %v, %v", got, err)
	}
	if len(asked) != 2 { // o2 and, behind the hole, o3
		t.Errorf("the leader was asked %d times", len(asked))
	}
}

// A replica that is behind what its leader had is asked again, and then the leader
// is.
func TestALateReplicaIsNotBelievedWhereItMustBeAsFarAsTheLeaderWas(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		late int // how often it is behind
		want protocol.Seq
	}{
		"it catches up": {1, 3}, "it stays behind": {99, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bare(t)
			var asked atomic.Int32
			_, err := c.NC.Subscribe("$JS.API.DIRECT.GET.BF_OWN_0", func(m *nats.Msg) {
				seq, upTo := 1, 2
				if int(asked.Add(1)) > tc.late {
					seq, upTo = 3, 3
				}
				_ = c.NC.PublishMsg(&nats.Msg{Subject: m.Reply, Header: nats.Header{
					"Nats-Subject": {"bf.own.0.a.o1"}, "Nats-Sequence": {strconv.Itoa(seq)}, "Nats-Num-Pending": {"0"},
					"Nats-Last-Sequence": {"0"}, "Nats-Time-Stamp": {"2026-01-02T03:04:05Z"}, "Nats-Stream": {"BF_OWN_0"},
				}})
				sendStatus(t, c, m.Reply, fmt.Sprintf("NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: %d\r\nNats-UpTo-Sequence: %d\r\n\r\n", seq, upTo))
			})
			if err != nil {
				t.Fatal(err)
			}
			answer(t, c, "$JS.API.STREAM.MSG.GET.BF_OWN_0", `{"message":{"subject":"bf.own.0.a.o1","seq":9,"time":"2026-01-02T03:04:05Z"}}`, nil)
			got, err := c.LastMulti(within(t), "BF_OWN_0", []string{"bf.own.0.a.o1"}, 3)
			if err != nil || got["bf.own.0.a.o1"].Seq != tc.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// sendStatus sends what nats.go cannot write: a status line. Everything that c
// sent comes before it.
func sendStatus(t *testing.T, c *natsx.Conn, subject, header string) {
	_ = c.NC.FlushTimeout(patience)
	conn, err := net.Dial("tcp", c.NC.ConnectedAddr())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT {\"headers\":true,\"verbose\":false}\r\nHPUB %s %d %d\r\n%s\r\nPING\r\n", subject, len(header), len(header), header)
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		if err != nil || line == "PONG\r\n" {
			return
		}
	}
}

func TestAStreamMadeAnewHasAnotherCreationTime(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	c := s.Operator(t)
	before, err := c.StreamCreated(within(t), "BF_ACT_0")
	if err != nil || time.Since(before) > time.Hour {
		t.Fatalf("created %v, %v", before, err)
	}
	if err := c.JS.DeleteStream(within(t), "BF_ACT_0"); err != nil {
		t.Fatal(err)
	}
	if err := c.Provision(within(t), protocol.Shards(1), 1); err != nil {
		t.Fatal(err)
	}
	after, err := c.StreamCreated(within(t), "BF_ACT_0")
	if err != nil || !after.After(before) {
		t.Errorf("created %v then %v, %v", before, after, err)
	}
}

func TestDeletesAreDenied(t *testing.T) {
	t.Parallel()
	s, agent := owner(t)
	publish(t, agent, "act.one.q", "keep me", nil)
	c := s.Operator(t) // who may ask for everything
	for _, stream := range []string{"BF_ACT_0", "BF_OWN_0", "BF_RES_0", "BF_EV_0"} {
		st, err := c.JS.Stream(within(t), stream)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.DeleteMsg(within(t), 1); err == nil {
			t.Errorf("%s: a message was deleted", stream)
		}
		if stream == "BF_OWN_0" || stream == "BF_RES_0" {
			if err := st.Purge(within(t)); err == nil {
				t.Errorf("%s: purged", stream)
			}
		}
	}
}
