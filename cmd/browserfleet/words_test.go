package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestAFailureSaysItsReasonInTheFirstLine(t *testing.T) {
	t.Parallel()
	failed := func(code protocol.Code, text string, denied ...protocol.Denial) *protocol.Result {
		return &protocol.Result{
			Status: protocol.StatusError, Error: protocol.Errorf(code, "%s", text), Transition: &protocol.Transition{Denied: denied},
		}
	}
	dns := protocol.Denial{Host: "nosuch.invalid", Port: 443, Reason: "dns_failed", Count: 1}
	for name, tc := range map[string]struct {
		res    *protocol.Result
		waited string
		want   string
	}{
		"a tunnel that was refused": {
			failed(protocol.CodeNavigationFailed, "net::ERR_TUNNEL_CONNECTION_FAILED", dns), "",
			"navigation_failed: nosuch.invalid:443: dns_failed (net::ERR_TUNNEL_CONNECTION_FAILED)",
		},
		"a reason that is told already": {
			failed(protocol.CodeNavigationFailed, "the page could not be loaded: dns_failed", dns), "",
			"navigation_failed: the page could not be loaded: dns_failed",
		},
		"another failure":           {failed(protocol.CodeNavigationFailed, "net::ERR_ABORTED"), "", "navigation_failed: net::ERR_ABORTED"},
		"a click with denied hosts": {failed(protocol.CodeStaleControl, "gone", dns), "", "stale_control: gone"},
		"a wait":                    {failed(protocol.CodeWaitTimeout, ""), `text "Paid"`, `wait_timeout: text "Paid" did not come in time`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.res.Error.Message
			if got := (&session{waited: tc.waited}).failure(tc.res); got == nil || got.Error() != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
			if tc.res.Error.Message != before {
				t.Error("the result itself was changed: -o json shows it")
			}
		})
	}
}

func TestAVerbIsCalledWhatThePersonTyped(t *testing.T) {
	t.Parallel()
	res := &protocol.Result{Status: protocol.StatusOK, Kind: protocol.KindCheck, Verdict: protocol.VerdictNoneYet}
	if got := (&session{as: "uncheck"}).called(res); got.Kind != "uncheck" || res.Kind != protocol.KindCheck {
		t.Errorf("%s", got.Kind)
	}
	wait := &waitCmd{Until: "text", What: "Paid"}
	if got := (&session{waited: wait.waitedFor()}).called(res); got.Verdict != `text "Paid" came` {
		t.Errorf("%s", got.Verdict)
	}
	for _, tc := range []struct {
		wait *waitCmd
		want string
	}{{&waitCmd{Until: "load"}, "load"}, {&waitCmd{Until: "element-visible", What: "e3"}, "element-visible e3"}} {
		if got := tc.wait.waitedFor(); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

func TestWhatIsNoURLIsRefusedHere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://a.test/x": "", "http://localhost:3000": "", "about:blank": "", "data:text/html,x": "",
		"foo": "such as https://foo", "a.test/x": "such as https://a.test/x", "//a.test": "such as https://a.test",
		"localhost:3000": "such as https://localhost:3000", "a.test:80": "such as https://a.test:80",
		"http://a b/": "cannot be read", "": "no scheme",
	} {
		err := absolute(text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || status(err) != exitUsage):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestOwnersShowLeasesAndWhoDrives(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeOwners(&b, &protocol.OwnersReply{Owners: []protocol.OwnerInfo{
		{Key: protocol.OwnerKey{Tenant: "a", Owner: "one"}, State: protocol.RecordAssigned, Worker: "w-1", Generation: 2, Leases: make([]protocol.ClientLease, 2)},
		{Key: protocol.OwnerKey{Tenant: "a", Owner: "two"}, State: protocol.RecordHibernated, Control: &protocol.ControlLease{Holder: "anna"}},
	}})
	want := `OWNER  STATE       WORKER  GENERATION  SINCE  LEASES  DRIVES  RUNNING
a/one  assigned    w-1     2           -      2       agent   -
a/two  hibernated  -       0           -      0       anna    -
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	until := protocol.At(time.Date(2026, 12, 1, 2, 3, 4, 0, time.UTC))
	writeExplanation(&b, &protocol.ExplainReply{Owner: &protocol.OwnerInfo{
		State: protocol.RecordAssigned, Leases: []protocol.ClientLease{{ID: "mine", Expires: until}}, Control: &protocol.ControlLease{Holder: "anna", Expires: until},
	}})
	for _, want := range []string{"lease      mine until 2026-12-01T02:03:04Z", "drives     anna until 2026-12-01T02:03:04Z; the agent's actions wait"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestGoneWorkersAreCountedAndNotListed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := writeWorkers(&b, []protocol.WorkerInfo{{State: "up", Eligible: true, Heartbeat: protocol.Heartbeat{Worker: "w-1"}}}, 2)
	if err != nil || !strings.Contains(b.String(), "w-1") || !strings.Contains(b.String(), "(2 gone; --all shows them)") {
		t.Errorf("%v\n%s", err, b.String())
	}
	left, gone := withoutGone([]protocol.WorkerInfo{{State: "gone"}, {State: "up"}, {State: "draining"}, {State: "suspect"}})
	if len(left) != 3 || gone != 1 {
		t.Errorf("%d left, %d gone", len(left), gone)
	}
}

// What was never sent is not asked for.
func TestNothingSentIsNothingToAskFor(t *testing.T) {
	t.Parallel()
	r := program(t, nil, "observe", "--nats", "nats://127.0.0.1:1", "--user", "tenant.dev")
	if r.code != exitUnreachable || strings.Contains(r.err, "fleet.result") || !strings.Contains(r.err, "next: ") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if advice(errors.Join(context.Canceled)) != "" {
		t.Error("advice for nothing")
	}
}
