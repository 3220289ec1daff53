package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/coordinator"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/telemetry"
)

const patience = time.Minute

// TestWhatACoordinatorDoesIsOnItsPrometheusPage makes everything happen once, and
// reads the page until it says so.
func TestWhatACoordinatorDoesIsOnItsPrometheusPage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	told, err := telemetry.Setup(ctx, telemetry.Config{Service: "coordinator", Version: "test", Instance: "c-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = told.Shutdown(context.Background()) })
	count, err := telemetry.NewMetrics(told.Meter())
	if err != nil {
		t.Fatal(err)
	}
	s := testkit.NATS(t)
	var running sync.WaitGroup
	c := coordinator.New(coordinator.Config{
		ID: "c-1", Shards: s.Map, Conn: s.Fleet(t), Observer: placements{count}, Meter: newStandings(count), Logger: slog.New(slog.DiscardHandler),
	})
	serving, stop := context.WithCancel(ctx)
	running.Go(func() { _ = c.Run(serving) })
	t.Cleanup(func() { stop(); running.Wait() })
	beating, die := context.WithCancel(serving)
	nc := s.Worker(t).NC
	running.Go(func() { // a full worker: it takes nobody
		for n := uint64(1); pause(beating, 100*time.Millisecond) == nil; n++ {
			data, err := json.Marshal(protocol.Heartbeat{V: protocol.Version, Worker: "w-1", Ready: true, Number: n})
			if err == nil {
				_ = nc.Publish(protocol.HeartbeatSubject("w-1"), data)
			}
		}
	})
	eventually := func(want ...string) {
		t.Helper()
		for {
			page := httptest.NewRecorder()
			told.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
			missing := lacks(page.Body.String(), want)
			if missing == "" {
				return
			}
			if pause(ctx, 50*time.Millisecond) != nil {
				t.Fatalf("the page has no %s:\n%s", missing, page.Body)
			}
		}
	}
	sleeper := protocol.OwnerKey{Tenant: "a", Owner: "sleeper"}
	fence := protocol.Seq(0)
	write := func(rec protocol.OwnerRecord) {
		t.Helper()
		fence = put(t, ctx, s.Fleet(t), sleeper, rec, fence)
	}
	lease := []protocol.ClientLease{{ID: "l", TTLMS: 3_600_000, Expires: protocol.At(time.Now().Add(time.Hour))}}
	write(protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "w-1", Leases: lease})
	eventually(`browserfleet_client_leases{shard="0"} 1`)
	write(protocol.OwnerRecord{State: protocol.RecordHibernated})
	eventually(`browserfleet_client_leases{shard="0"} 0`, `browserfleet_hibernations_total 1`)
	write(protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "w-1"})
	eventually(`browserfleet_wakes_total 1`)
	write(protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "w-1", Failures: []protocol.Time{protocol.At(time.Now())}})
	eventually(`browserfleet_strikes_total 1`)

	agent := s.Tenant(t, "a")
	ask := func(subject string, change func(*protocol.Request)) {
		t.Helper()
		req, err := protocol.NewRequest(protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		change(&req)
		body, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Request(subject, body, patience); err != nil {
			t.Fatal(err)
		}
	}
	ask(protocol.AgentActSubject("waits", protocol.LaneQueue), func(*protocol.Request) {})
	eventually(`browserfleet_line{shard="0",tenant="a"} 1`)
	ask(protocol.AgentActSubject("late", protocol.LaneQueue), func(r *protocol.Request) { r.QueueDeadlineMS = 1 })
	eventually(`browserfleet_answered_by_coordinator_total{code="no_capacity"} 1`)
	ask("act.no!owner.q", func(*protocol.Request) {})
	eventually(`browserfleet_requests_unroutable_total 1`)
	die()
	eventually(`browserfleet_workers_gone_total 1`)
	stop()
	eventually(`browserfleet_line{shard="0",tenant="a"} 0`)
}

func put(t *testing.T, ctx context.Context, conn *natsx.Conn, key protocol.OwnerKey, rec protocol.OwnerRecord, fence protocol.Seq) protocol.Seq {
	t.Helper()
	rec.V, rec.Since, rec.Nonce = protocol.Version, protocol.At(time.Now()), ownerlog.NewNonce()
	data, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	seq, err := conn.CAS(ctx, protocol.OwnSubject(0, key), data, nil, fence)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// lacks is the first line that the page does not have, labels of the process apart.
func lacks(page string, want []string) string {
	has := map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		has[lines.Text()] = true
	}
	for _, line := range want {
		if !has[line] {
			return fmt.Sprintf("%q", line)
		}
	}
	return ""
}
