package environment

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

// dead is a browser that has died; whatever is run in it is noted.
type dead struct {
	lost chan struct{}
	ran  chan protocol.Kind
}

func (d *dead) Run(_ context.Context, a *protocol.Action, _ func() error) *Outcome {
	d.ran <- a.Kind
	return &Outcome{Err: protocol.Errorf(protocol.CodeBrowserLost, "")}
}

func (d *dead) Capture(context.Context) (checkpoints.State, error) { return checkpoints.State{}, nil }
func (d *dead) Suspend()                                           {}
func (d *dead) Resume()                                            {}
func (d *dead) Lost() <-chan struct{}                              { return d.lost }
func (d *dead) Close(context.Context) error                        { return nil }

// A browser dies and a request arrives in the same moment: the loop may hear of
// the request first.
func TestNothingBeginsInABrowserThatIsDead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s := testkit.NATS(t)
	key := protocol.OwnerKey{Tenant: "a", Owner: "one"}
	conn := s.Worker(t)
	h, err := ownerlog.Claim(ctx, conn, 0, key, func(*protocol.OwnerRecord, protocol.Seq) (*protocol.OwnerRecord, error) {
		return &protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "w", Since: protocol.At(time.Now())}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := protocol.NewRequest(protocol.KindObserve, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tenant(t, "a").Request(protocol.AgentActSubject(key.Owner, protocol.LaneQueue), body, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	e := New(Config{Conn: conn, Worker: "w", Key: key, Tracer: noop.NewTracerProvider().Tracer(""), Logger: slog.New(slog.DiscardHandler)})
	e.holder, e.queue, e.control = h, h.NewLane(protocol.LaneQueue), h.NewLane(protocol.LaneControl)
	b := &dead{lost: make(chan struct{}), ran: make(chan protocol.Kind, 1)}
	close(b.lost)
	e.setBrowser(b)
	e.state = Idle
	if err := e.advance(ctx); err != nil {
		t.Fatal(err)
	}
	e.work.Wait()
	if in := h.Record().InflightQ; in != nil || len(b.ran) > 0 || e.queue.Len() != 1 {
		t.Errorf("START %+v, %d actions begun, %d wait", in, len(b.ran), e.queue.Len())
	}
	if e.state != Opening || !e.wantOpen {
		t.Errorf("%s, to be opened %v", e.state, e.wantOpen)
	}
}
