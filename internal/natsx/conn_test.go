package natsx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// logged collects log lines; connections log from their own goroutines.
type logged struct {
	mu sync.Mutex // protects b
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestConnectWaitsForTheServerAndSaysSo(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	s.Stop(t)
	var log logged
	o := s.Options(deploy.UserCoordinator)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))

	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := natsx.Connect(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if out := log.String(); strings.Count(out, "waiting for NATS") != 1 || strings.Contains(out, string(o.Password)) {
		t.Errorf("log: %s", out)
	}

	connected := startConnect(within(t), o)
	s.Restart(t)
	c := <-connected
	if c == nil {
		t.Fatal("not connected after the server came")
	}
	defer c.Close()
	if err := c.Verify(within(t), protocol.Shards(1)); err != nil {
		t.Error(err)
	}
}

func startConnect(ctx context.Context, o natsx.Options) <-chan *natsx.Conn {
	out := make(chan *natsx.Conn, 1)
	go func() {
		c, _ := natsx.Connect(ctx, o)
		out <- c
	}()
	return out
}

func TestAnOutageFailsAtOnceAndEndsByItself(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	o := s.Options(deploy.UserWorker)
	lost, back := make(chan struct{}, 9), make(chan struct{}, 9)
	o.OnDisconnect = func() { lost <- struct{}{} }
	o.OnReconnect = func() { back <- struct{}{} }
	c, err := natsx.Connect(within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seq, err := c.Create(within(t), ownOne, []byte("before"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	await(t, lost)
	// Nothing is kept to be sent later: a write that its caller gave up must
	// not be made when the server comes back.
	if _, err := c.CAS(within(t), ownOne, []byte("during"), nil, seq); !errors.Is(err, natsx.ErrUnavailable) {
		t.Errorf("write: %v, want ErrUnavailable", err)
	}
	if _, err := c.LeaderLast(within(t), "BF_OWN_0", ownOne); !errors.Is(err, natsx.ErrUnavailable) {
		t.Errorf("read: %v, want ErrUnavailable", err)
	}
	s.Restart(t)
	await(t, back)
	m, err := c.LeaderLast(within(t), "BF_OWN_0", ownOne)
	if err != nil || string(m.Data) != "before" {
		t.Errorf("after the outage: %q, %v", m.Data, err)
	}
}

func await(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatal("it did not happen")
	}
}

// bare is a server without JetStream: the test plays the streams.
func bare(t *testing.T) *natsx.Conn {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("not ready")
	}
	c, err := natsx.Connect(within(t), natsx.Options{URL: srv.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answer answers every request so; where body is empty it says nothing, and
// calls heard.
func answer(t *testing.T, c *natsx.Conn, subject, body string, heard func()) {
	t.Helper()
	_, err := c.NC.Subscribe(subject, func(m *nats.Msg) {
		if body != "" {
			_ = m.Respond([]byte(body))
		} else {
			heard()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatAFailedWriteMeans(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string // "" is silence, "none" nobody
		want   error
	}{
		"nobody is there":           {"none", natsx.ErrUnavailable},
		"no answer":                 {"", natsx.ErrUncertain},
		"an answer that is none":    {"hello", natsx.ErrUncertain},
		"an empty acknowledgement":  {"{}", natsx.ErrUncertain},
		"another sequence":          {`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 4"}}`, natsx.ErrConflict},
		"the subject is taken":      {`{"error":{"code":503,"err_code":10077,"description":"maximum messages per subject exceeded"}}`, natsx.ErrConflict},
		"the stream is full":        {`{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}}`, natsx.ErrUnavailable},
		"the disk is full":          {`{"error":{"code":503,"err_code":10077,"description":"no space left on device"}}`, natsx.ErrUnavailable},
		"the cluster has no leader": {`{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`, natsx.ErrUnavailable},
		"insufficient resources":    {`{"error":{"code":503,"err_code":10023,"description":"insufficient resources"}}`, natsx.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bare(t)
			ctx, cancel := context.WithCancel(within(t))
			defer cancel()
			if tc.answer != "none" {
				answer(t, c, "bf.res.0.a.one.R1", tc.answer, cancel) // who gets no answer gives up
			}
			_, err := c.Create(ctx, "bf.res.0.a.one.R1", nil, nil)
			for _, known := range []error{natsx.ErrUnavailable, natsx.ErrUncertain, natsx.ErrConflict, natsx.ErrNotFound} {
				if errors.Is(err, known) != (known == tc.want) {
					t.Errorf("got %v, want %v alone", err, tc.want)
				}
			}
		})
	}
}

// A replicated stream refuses a write while it still counts the holder's last
// one, already acknowledged, as in flight. That is no reason to lose an owner.
func TestAWriteInFlightIsNoConflict(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		finally string
		want    error
	}{
		"it was our own last write": {`{"stream":"BF_OWN_0","seq":7}`, nil},
		"it was somebody else's":    {`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 6"}}`, natsx.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bare(t)
			asked := 0
			_, err := c.NC.Subscribe(ownOne, func(m *nats.Msg) {
				asked++
				body := `{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"}}`
				if asked > 3 {
					body = tc.finally
				}
				_ = m.Respond([]byte(body))
			})
			if err != nil {
				t.Fatal(err)
			}
			seq, err := c.CAS(within(t), ownOne, nil, nil, 5)
			if !errors.Is(err, tc.want) || (err == nil) != (seq == 7) {
				t.Errorf("got %d, %v; want %v", seq, err, tc.want)
			}
		})
	}
}

func TestAWriteInFlightForEverIsNoConflictEither(t *testing.T) {
	t.Parallel()
	c := bare(t)
	answer(t, c, ownOne, `{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"}}`, nil)
	ctx, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	if _, err := c.CAS(ctx, ownOne, nil, nil, 5); err == nil || errors.Is(err, natsx.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestACallWithoutDeadlineEnds(t *testing.T) {
	t.Parallel()
	c := bare(t)
	answer(t, c, ">", "", func() {})
	if _, err := c.LeaderLast(context.Background(), "BF_OWN_0", ownOne); !errors.Is(err, natsx.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestCountsOfManySubjectsComeInPages(t *testing.T) {
	t.Parallel()
	c := bare(t)
	_, err := c.NC.Subscribe("$JS.API.STREAM.INFO.BF_ACT_0", func(m *nats.Msg) {
		var req struct {
			Offset int `json:"offset"`
		}
		_ = json.Unmarshal(m.Data, &req)
		page := map[string]int{}
		for i := req.Offset; i < min(req.Offset+3, 7); i++ {
			page[fmt.Sprint("s", i)] = i
		}
		body, _ := json.Marshal(map[string]any{"total": 7, "offset": req.Offset, "limit": 3, "state": map[string]any{"subjects": page}})
		_ = m.Respond(body)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.SubjectCounts(within(t), "BF_ACT_0", ">")
	if err != nil || len(got) != 7 || got["s6"] != 6 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestASecretDoesNotPrint(t *testing.T) {
	t.Parallel()
	const value = "hunter2hunter2"
	o := natsx.Options{User: "u", Password: value}
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "o", o, "p", o.Password)
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "o", o, "p", o.Password)
	fmt.Fprintf(&b, "%v %+v %#v %s %q %x", o, o, o, o.Password, o.Password, o.Password)
	j, err := json.Marshal(map[string]any{"p": o.Password})
	if err != nil {
		t.Fatal(err)
	}
	b.Write(j)
	if strings.Contains(b.String(), "hunter2") || strings.Contains(b.String(), fmt.Sprintf("%x", value)) {
		t.Errorf("printed: %s", b.String())
	}
	if string(o.Password) != value {
		t.Error("lost")
	}
}

func TestTraceContextTravelsInLowerCaseHeaders(t *testing.T) {
	t.Parallel()
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	h := nats.Header{}
	var p propagation.TraceContext
	p.Inject(trace.ContextWithSpanContext(context.Background(), sc), natsx.HeaderCarrier(h))
	if len(h["traceparent"]) != 1 {
		t.Fatalf("headers %v", h)
	}
	got := trace.SpanContextFromContext(p.Extract(context.Background(), natsx.HeaderCarrier(h)))
	if got.TraceID() != sc.TraceID() || got.SpanID() != sc.SpanID() {
		t.Errorf("got %v", got)
	}
	if keys := natsx.HeaderCarrier(h).Keys(); len(keys) != 1 {
		t.Errorf("keys %v", keys)
	}
	if natsx.HeaderCarrier(nats.Header{"Traceparent": {"x"}}).Get("traceparent") != "" {
		t.Error("another spelling was read")
	}
}
