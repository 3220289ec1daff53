package check

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Watch writes every stored request and every pushed result into the ledger, as
// they happen, until stop. The connection is an operator's: agents see their own
// tenant only, and a client hides what it did not wait for.
//
// Pushes are sent at most once: what is missed while the connection is away is
// missed. Requests are then found in BF_ACT or by their results; second pushes
// are not, so tests that cut the network watch from outside the cut.
func Watch(ctx context.Context, conn *natsx.Conn, l *Ledger) (stop func(), err error) {
	w := &watch{ledger: l, conn: conn, before: conn.NC.Stats().Reconnects}
	for subject, heard := range map[string]nats.MsgHandler{"bf.push.>": w.request, "bf.done.>": w.result} {
		sub, err := conn.NC.Subscribe(subject, heard)
		if err == nil {
			// Nothing may be dropped; the memory is the harness's own.
			err = sub.SetPendingLimits(-1, -1)
		}
		if err != nil {
			w.stop()
			return nil, fmt.Errorf("watch %s: %w", subject, err)
		}
		w.subs = append(w.subs, sub)
	}
	if err := conn.NC.FlushWithContext(ctx); err != nil {
		w.stop()
		return nil, fmt.Errorf("watch: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watches = append(l.watches, w)
	return w.stop, nil
}

type watch struct {
	ledger *Ledger
	conn   *natsx.Conn
	subs   []*nats.Subscription
	before uint64 // reconnects of the connection before the watch
}

func (w *watch) stop() {
	for _, s := range w.subs {
		_ = s.Unsubscribe() // fails only when the connection is closed
	}
}

// gaps says what the watch may not have seen.
func (w *watch) gaps() (notes []string) {
	for _, s := range w.subs {
		if n, err := s.Dropped(); err == nil && n > 0 {
			notes = append(notes, fmt.Sprintf("%d messages on %s were dropped: second pushes among them are not counted", n, s.Subject))
		}
	}
	if n := w.conn.NC.Stats().Reconnects - w.before; n > 0 {
		notes = append(notes, fmt.Sprintf("the watch lost its connection %d times: second pushes meanwhile are not counted", n))
	}
	return notes
}

// request takes a stored request that is pushed to its holder.
func (w *watch) request(m *nats.Msg) {
	msg, err := natsx.ReadPush(m)
	if err != nil {
		return // BF_ACT or the result will show it, if it is real
	}
	at, err := protocol.ParseActSubject(msg.Subject)
	if err != nil {
		return // a raw publish under an illegal owner is counted and ages out
	}
	w.ledger.stored(protocol.Stored{Key: at.Key, Lane: at.Lane, Seq: msg.Seq, StoredAt: msg.Time, Data: msg.Data})
}

// result takes a push of a result, the first or a repeated one.
func (w *watch) result(m *nats.Msg) {
	id, err := doneID(m.Subject)
	if err != nil || !w.ledger.mine(id.Key) {
		return
	}
	repeat := len(m.Header[protocol.HeaderRepeat]) > 0
	if _, err := natsx.ReadPush(m); err != nil && !repeat {
		w.ledger.mu.Lock()
		w.ledger.strange++
		w.ledger.mu.Unlock()
		return
	}
	w.ledger.pushed(id, m.Data, repeat)
}

var errSubject = errors.New("not the subject of a result")

// doneID reads bf.done.T.O.R.
func doneID(subject string) (ID, error) { return resultID(strings.Split(subject, "."), "done", 2) }

// resID reads bf.res.s.T.O.R.
func resID(subject string) (ID, error) { return resultID(strings.Split(subject, "."), "res", 3) }

func resultID(t []string, word string, at int) (ID, error) {
	if len(t) != at+3 || t[0] != "bf" || t[1] != word || !protocol.ValidToken(t[at+2], protocol.MaxIDLen) {
		return ID{}, errSubject
	}
	tenant, err := protocol.ParseTenant(t[at])
	if err != nil {
		return ID{}, err
	}
	owner, err := protocol.ParseOwner(t[at+1])
	if err != nil {
		return ID{}, err
	}
	return ID{protocol.OwnerKey{Tenant: tenant, Owner: owner}, protocol.RequestID(t[at+2])}, nil
}
