package figures

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	manyOwners = 50_000
	manyActive = 5_000
	fewOwners  = 100
	// manyRate is what both act at: a quarter of what one server carries.
	manyRate = 250.0 // actions a second, of all owners together
	// manyReconciles is how long the coordinator has to look at all of them: it
	// reconciles every 5 s.
	manyReconciles = 12 * time.Second
)

// many: 50,000 owners, of which 5,000 act, beside 100 that act at the same rate.
func many(ctx context.Context, b *bench) ([]Row, error) {
	m := &manyRun{bench: b, owners: manyOwners, active: manyActive}
	if b.o.Owners > 0 {
		m.owners = b.o.Owners
	}
	if b.o.Active > 0 {
		m.active = b.o.Active
	}
	m.active = min(m.active, m.owners)
	o := devfleet.Options{
		Workers: 2, Slots: m.active + fewOwners, Browser: service.BrowserSimulated,
		CoordinatorSettings: map[string]string{"QUOTA_OWNERS": "-1", "QUOTA_ENVIRONMENTS": "-1"},
	}
	if err := b.withFleet(ctx, o, func(f *fleet) error { return m.run(ctx, f) }); err != nil {
		return nil, err
	}
	var ratio series
	for i := range m.few50 {
		ratio = append(ratio, m.many50[i]/m.few50[i])
	}
	return []Row{
		ratio.row(fmt.Sprintf("p50 with %d owners, %d active, over p50 with %d, both at %.0f actions a second", m.owners, m.active, fewOwners, manyRate), "times", m.count, 1.5),
		m.few50.row(fmt.Sprintf("an action, %d owners, p50", fewOwners), "ms", m.count/2, 0),
		m.many50.row(fmt.Sprintf("an action, %d owners, %d active, p50", m.owners, m.active), "ms", m.count/2, 0),
		m.many99.row(fmt.Sprintf("an action, %d owners, %d active, p99", m.owners, m.active), "ms", m.count/2, 0),
		m.resident.row(fmt.Sprintf("coordinator's resident memory, %d owners", m.owners), "MiB", len(m.resident), 150),
		m.peak.row("coordinator's peak memory", "MiB", len(m.peak), 0),
	}, nil
}

// manyRun is one run of it.
type manyRun struct {
	*bench
	owners, active                        int
	few50, many50, many99, resident, peak series
	count                                 int
}

func (m *manyRun) run(ctx context.Context, f *fleet) error {
	few := f.newOwners(fewOwners)
	if err := openAll(ctx, few, page); err != nil {
		return err
	}
	for n := range m.repeats {
		s, err := m.act(ctx, few)
		if err != nil {
			return err
		}
		m.few50 = append(m.few50, milliseconds(s.quantile(0.5)))
		m.say("%d owners, %d of %d: p50 %.2f ms", fewOwners, n+1, m.repeats, m.few50[n])
	}
	begun := time.Now()
	if err := m.sleepers(ctx, f, m.owners-m.active); err != nil {
		return err
	}
	m.say("%d sleeping owners written in %s", m.owners-m.active, time.Since(begun).Round(time.Second))
	begun = time.Now()
	active := append(few, f.newOwners(m.active-min(fewOwners, m.active))...)[:m.active]
	if err := openEphemeral(ctx, active[min(fewOwners, m.active):]); err != nil {
		return err
	}
	m.say("%d active owners opened in %s", m.active, time.Since(begun).Round(time.Second))
	if m.owners >= manyOwners {
		if err := pause(ctx, manyReconciles); err != nil {
			return err
		}
	}
	for n := range m.repeats {
		s, err := m.act(ctx, active)
		if err != nil {
			return err
		}
		now, peak, err := f.memory(devfleet.NameCoordinator)
		if err != nil {
			return err
		}
		m.many50, m.many99 = append(m.many50, milliseconds(s.quantile(0.5))), append(m.many99, milliseconds(s.quantile(0.99)))
		m.resident, m.peak = append(m.resident, now), append(m.peak, peak)
		m.say("%d owners, %d of %d: p50 %.2f ms, p99 %.2f ms, coordinator %.0f MiB", m.owners, n+1, m.repeats, m.many50[n], m.many99[n], now)
	}
	return nil
}

// openEphemeral opens environments of which no checkpoint is written: 5,000 at
// once would measure the object store (two conditional writes each).
func openEphemeral(ctx context.Context, owners []*client.Owner) error {
	t := runEach(ctx, len(owners), 64, func(ctx context.Context, n int) error {
		wait, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		if _, err := owners[n].Acquire(wait, protocol.AcquireQuery{Persistence: protocol.PersistEphemeral}); err != nil {
			return err
		}
		return open(ctx, owners[n], page)
	})
	return t.check("open")
}

func (m *manyRun) act(ctx context.Context, owners []*client.Owner) (samples, error) {
	t := runPaced(ctx, manyRate, m.window(15*time.Second), clickOne(owners))
	s := t.samples()
	m.count += len(s)
	return s, t.check("click")
}

// sleepers writes the records of owners that hibernated, each with a full ring of
// finished requests.
func (m *manyRun) sleepers(ctx context.Context, f *fleet, n int) error {
	o, err := f.folder.Operator(&f.Running)
	if err != nil {
		return err
	}
	conn, err := natsx.Connect(ctx, natsx.Options{
		URL: o.URL, User: o.User, Password: natsx.Secret(o.Password), InboxPrefix: deploy.Inbox(o.User), Name: "browserfleet bench",
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	created, err := conn.StreamCreated(ctx, protocol.ActStream(0))
	if err != nil {
		return err
	}
	t := runEach(ctx, n, 64, func(ctx context.Context, n int) error { return writeSleeper(ctx, conn, n, created) })
	return t.check("write a sleeping owner")
}

// writeTimeout bounds one record.
const writeTimeout = 10 * time.Second

func writeSleeper(ctx context.Context, conn *natsx.Conn, n int, created time.Time) error {
	key := protocol.OwnerKey{Tenant: tenant, Owner: protocol.Owner(fmt.Sprintf("asleep-%d", n))}
	now := time.Now()
	rec := protocol.OwnerRecord{
		V: protocol.Version, State: protocol.RecordHibernated, Generation: 1, ActStreamCreated: created.Unix(),
		Slept: true, Since: protocol.At(now), Nonce: ownerlog.NewNonce(),
	}
	for range protocol.DoneRing {
		rec.Done = append(rec.Done, protocol.NewRequestID(now))
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = conn.CAS(ctx, protocol.OwnSubject(0, key), data, nil, 0)
	return err
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
