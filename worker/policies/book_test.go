package policies_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/policies"
)

const wait = time.Minute

func TestMain(m *testing.M) { testkit.Main(m) }

// bench is a book that follows a real server.
type bench struct {
	t        *testing.T
	operator *natsx.Conn
	book     *policies.Book
}

func start(t *testing.T) *bench {
	t.Helper()
	s := testkit.NATS(t)
	own, err := egressproxy.Compile(egressproxy.Policy{Mode: egressproxy.ModeUnrestricted}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, operator: s.Operator(t), book: policies.New(own, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.9:4222")}, slog.New(slog.DiscardHandler))}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	worker := s.Worker(t)
	done.Go(func() { b.book.Run(ctx, worker) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
	return b
}

func (b *bench) put(key, document string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	bucket, err := b.operator.JS.KeyValue(ctx, protocol.PolicyBucket)
	if err != nil {
		b.t.Fatal(err)
	}
	if document == "" {
		err = bucket.Delete(ctx, key)
	} else {
		_, err = bucket.PutString(ctx, key, document)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// held are the versions that somebody was given.
func (b *bench) hold(tenant protocol.Tenant, name string) (versions chan policies.Effective, release func(), err error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	versions = make(chan policies.Effective, 16)
	release, err = b.book.Hold(ctx, tenant, name, func(e policies.Effective) { versions <- e })
	return versions, release, err
}

func (b *bench) next(versions chan policies.Effective) policies.Effective {
	b.t.Helper()
	select {
	case e := <-versions:
		return e
	case <-time.After(wait):
		b.t.Fatal("no version came")
		return policies.Effective{}
	}
}

func codeOf(err error) protocol.Code {
	var failed *protocol.Error
	if errors.As(err, &failed) {
		return failed.Code
	}
	return ""
}

func opens(e policies.Effective, url string) bool {
	_, err := e.Egress.CheckNavigation(url)
	return err == nil
}

const only = `{"v":1,"egress":{"mode":"allowlist","public":false,"allow_hosts":["%"]},"popups":"adopt","dialog_policy":"auto_accept"}`

func allowing(host string) string { return strings.Replace(only, "%", host, 1) }

func TestANamedPolicyHoldsWithEachVersion(t *testing.T) {
	t.Parallel()
	b := start(t)
	// Followed in the order of writing: once the last is there, all are.
	b.put(protocol.PolicyKey("a", "shop"), allowing("one.example"))
	var versions chan policies.Effective
	var release func()
	for deadline := time.Now().Add(wait); ; {
		var err error
		if versions, release, err = b.hold("a", "shop"); err == nil {
			break
		}
		if codeOf(err) != protocol.CodePolicyDenied || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	e := b.next(versions)
	if !opens(e, "http://one.example/") || opens(e, "http://two.example/") || e.Popups != "adopt" || e.Dialogs != protocol.DialogAutoAccept {
		t.Errorf("the first version: %+v", e)
	}
	b.put(protocol.PolicyKey("a", "shop"), `{"v":1,"egres":{}}`) // a slip changes nothing
	b.put(protocol.PolicyKey("a", "shop"), allowing("two.example"))
	if e = b.next(versions); opens(e, "http://one.example/") || !opens(e, "http://two.example/") {
		t.Error("the second version is not in force")
	}
	b.put(protocol.PolicyKey("a", "shop"), "")
	if e = b.next(versions); opens(e, "http://two.example/") || e.Egress != nil {
		t.Error("a deleted policy still allows")
	}
	release()
	b.put(protocol.PolicyKey("a", "shop"), allowing("three.example"))
	again, _, err := b.hold("b", "shop")
	if codeOf(err) != protocol.CodePolicyDenied {
		t.Errorf("another tenant has it: %v %v", again, err)
	}
	select {
	case e := <-versions:
		t.Errorf("after the release came %+v", e)
	default:
	}
}

func TestADefaultPolicyIsForOwnersThatNameNone(t *testing.T) {
	t.Parallel()
	b := start(t)
	versions, _, err := b.hold("a", "")
	if err != nil {
		t.Fatal(err)
	}
	if e := b.next(versions); !opens(e, "http://192.168.1.1/") {
		t.Error("the worker's own policy does not hold")
	}
	other, _, err := b.hold("b", "")
	if err != nil {
		t.Fatal(err)
	}
	b.next(other)
	b.put(protocol.PolicyKey("a", protocol.DefaultPolicy), `{"v":1}`)
	if e := b.next(versions); opens(e, "http://192.168.1.1/") || !opens(e, "http://one.example/") {
		t.Error("the tenant's default is not the strict one that was written")
	}
	b.put(protocol.PolicyKey("a", protocol.DefaultPolicy), "")
	if e := b.next(versions); !opens(e, "http://192.168.1.1/") {
		t.Error("without a default the worker's own does not hold again")
	}
	select {
	case e := <-other:
		t.Errorf("another tenant was given %+v", e)
	default:
	}
}

func TestNoPolicyOpensTheFleet(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.put(protocol.PolicyKey("a", protocol.DefaultPolicy), `{"v":1,"egress":{"mode":"unrestricted"}}`)
	versions, _, err := b.hold("a", "")
	if err != nil {
		t.Fatal(err)
	}
	e := b.next(versions)
	for opens(e, "http://192.0.2.9:4222/") {
		e = b.next(versions) // until the document was read
	}
	if !opens(e, "http://192.0.2.9:4223/") {
		t.Error("its neighbour port is not open")
	}
}

func TestBadDocumentsAreNamed(t *testing.T) {
	t.Parallel()
	for document, says := range map[string]string{
		``:                                       "EOF",
		`[]`:                                     "cannot unmarshal",
		`{"egress":{}}`:                          "v is 0",
		`{"v":1} {}`:                             "after the document",
		`{"v":1,"popup":"deny"}`:                 `"popup"`,
		`{"v":1,"popups":"allow"}`:               "popups",
		`{"v":1,"dialog_policy":"ask"}`:          "dialog_policy",
		`{"v":1,"egress":{"allow_host":[]}}`:     "allow_host",
		`{"v":1,"egress":{"deny_cidrs":["10"]}}`: "deny_cidrs[0]",
	} {
		if _, err := policies.Compile([]byte(document), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", document, err, says)
		}
	}
}
