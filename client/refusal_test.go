package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestRequestsThatAreNotStored(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	newFleet(t, s, nil)
	c := connect(t, s, "tenant.a")
	fill := func(n int) error {
		_, err := c.Owner("one").Fill(testContext(t), "e1", strings.Repeat("x", n))
		return err
	}
	for name, test := range map[string]struct {
		run  func() error
		want protocol.Code
	}{
		"over the stream's limit": {func() error { return fill(300 << 10) }, protocol.CodeRequestTooLarge},
		"over the server's limit": {func() error { return fill(2 << 20) }, protocol.CodeRequestTooLarge},
		"owner with a dot": {func() error {
			_, err := c.Owner("a.b").Observe(testContext(t))
			return err
		}, protocol.CodeInvalidArgument},
		"owner that is a wildcard": {func() error {
			_, err := c.Owner("*").Observe(testContext(t))
			return err
		}, protocol.CodeInvalidArgument},
		"id that is none": {func() error {
			_, err := c.Owner("one").Observe(testContext(t), WithID("mine"))
			return err
		}, protocol.CodeInvalidRequest},
		"describe of a wildcard": {func() error {
			_, err := c.Describe(testContext(t), ">")
			return err
		}, protocol.CodeInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.run()
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != test.want || e.Dispatched != protocol.DispatchedNo {
				t.Errorf("got %#v, want %s", err, test.want)
			}
		})
	}
}

func TestAFullQueueIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	c := connect(t, s, "tenant.a")
	for range protocol.QueueDepth {
		if _, err := c.nc.Request("act.one.q", []byte("{}"), testTimeout); err != nil {
			t.Fatal(err)
		}
		<-f.stored
	}
	_, err := c.Owner("one").Observe(testContext(t))
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.CodeQueueFull || !e.Retryable || e.RecommendedAction == "" {
		t.Errorf("got %#v", err)
	}
}

func TestNobodyTakesRequests(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t, testkit.WithoutStreams())
	c := connect(t, s, "tenant.a")
	c.patience = 300 * time.Millisecond
	_, err := c.Owner("one").Observe(testContext(t))
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.CodeUnavailable || e.Dispatched != protocol.DispatchedNo || !e.Retryable {
		t.Errorf("got %#v", err)
	}
	if _, err := c.List(testContext(t)); Code(err) != protocol.CodeUnavailable || !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("list: got %v", err)
	}
}

func TestAnotherOwnersRequestsAreNotThisUsers(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, answerOK)
	c := connect(t, s, "agent.a.one")
	_, err := c.Owner("two").Observe(testContext(t))
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.CodeUnavailable || !strings.Contains(e.Message, "may not") {
		t.Errorf("got %v", err)
	}
	if ids := f.ids(); len(ids) > 0 {
		t.Errorf("stored %v", ids)
	}
}

func TestWrongPasswordEndsConnectAtOnce(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	_, err := Connect(testContext(t), Options{URL: s.URL, User: "tenant.a", Password: "not the password"})
	if Code(err) != protocol.CodeUnavailable || !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("got %v", err)
	}
	if strings.Contains(fmt.Sprint(err), "not the password") {
		t.Error("the error shows the password")
	}
}

func TestContextFile(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	newFleet(t, s, answerOK)
	o := s.Options("agent.a.one")
	path := filepath.Join(t.TempDir(), "context.json")
	text, err := json.Marshal(map[string]string{
		"url": o.URL, "user": o.User, "password": string(o.Password), "inbox_prefix": o.InboxPrefix, "description": "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(testContext(t), Options{ContextFile: path})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Owner("one").Observe(testContext(t)); err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]string{"no JSON": `{"password": "s3cret`, "no url": `{"user":"x"}`} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Connect(testContext(t), Options{ContextFile: path}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	o := Options{User: "u", Password: "hidden"}
	data, err := json.Marshal(o.Password)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(o), fmt.Sprintf("%+v %#v %q", o, o, o.Password), string(data), o.Password.LogValue().String()} {
		if strings.Contains(text, "hidden") {
			t.Errorf("shown in %q", text)
		}
	}
	if got := (&Options{URL: "nats://u:hidden@h:1, nats://h:2"}).shownURL(); got != "nats://h:1,nats://h:2" {
		t.Errorf("got %q", got)
	}
}
