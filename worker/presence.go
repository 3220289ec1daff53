package worker

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

const (
	heartbeatEvery = 250 * time.Millisecond
	// loadEvery is how many heartbeats share one reading of the host's load.
	loadEvery = 4
)

// runHeartbeats says that the worker lives, and what it holds.
func (w *Worker) runHeartbeats(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		hb := w.heartbeat()
		w.meter.OwnersHeld(hb.Owners)
		if data, err := json.Marshal(hb); err == nil {
			// Core NATS: a lost heartbeat is what the next one is for.
			_ = w.cfg.Conn.NC.Publish(protocol.HeartbeatSubject(w.cfg.ID), data)
		}
		if !next(ctx, tick) {
			return
		}
		if n%loadEvery == 0 {
			w.readLoad()
		}
	}
}

func (w *Worker) readLoad() {
	l := w.cfg.HostLoad()
	w.load.Store(&l)
}

// unready is why no environment can be opened here; empty if one can.
func (w *Worker) unready() string {
	if !w.contact.ok() {
		return "it has no contact with the servers"
	}
	if w.cfg.Ready != nil {
		if err := w.cfg.Ready(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// maxWhy bounds the reason in a heartbeat, in characters.
const maxWhy = 300

// oneLine is text for a table: errors of a browser may be long, and hold lines.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
	if runes := []rune(text); len(runes) > maxWhy {
		return string(runes[:maxWhy]) + "…"
	}
	return text
}

// why is why the worker takes no owner now, slots apart; empty if it does.
func (w *Worker) why() string {
	if why := w.unready(); why != "" {
		return why
	}
	return w.cfg.Admission.refusal(*w.load.Load())
}

func (w *Worker) heartbeat() protocol.Heartbeat {
	load, unready := *w.load.Load(), w.unready()
	hb := protocol.Heartbeat{
		V: protocol.Version, Worker: w.cfg.ID, Host: w.cfg.Host, PID: w.cfg.PID, Started: protocol.At(w.started),
		Slots: w.cfg.Slots, Draining: w.draining.Load(), Ready: unready == "", Browser: w.cfg.Browser,
		FreeMemoryMB: max(0, load.FreeMemory), CPULoad: max(0, load.PerCPU), Labels: w.cfg.Labels,
		Full: w.cfg.Admission.refusal(load) != "", Why: oneLine(w.why()),
		Capabilities: w.cfg.Capabilities,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beats++
	hb.Number, hb.Owners = w.beats, len(w.held)
	hb.OwnersHash, hb.Shards = digest(w.held)
	return hb
}

// nextBeat is the number of the next heartbeat that looks at what is held.
func (w *Worker) nextBeat() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beats + 1
}

// listen serves bf.ctl.WORKER.*.
func (w *Worker) listen(ctx context.Context) (*nats.Subscription, error) {
	return w.cfg.Conn.NC.Subscribe(protocol.ControlSubject(w.cfg.ID, "*"), func(m *nats.Msg) {
		if w.startLife(ctx, m) {
			return // it answers by itself, later
		}
		if strings.HasSuffix(m.Subject, "."+protocol.VerbHeld) {
			w.respondHeld(m)
			return
		}
		reply := protocol.ControlReply{V: protocol.Version, OK: true}
		if err := w.serve(ctx, m); err != nil {
			reply.OK, reply.Error = false, err
		}
		reply.CountedFrom = w.nextBeat()
		if data, err := json.Marshal(reply); err == nil && m.Reply != "" {
			_ = m.Respond(data)
		}
	})
}

func (w *Worker) serve(ctx context.Context, m *nats.Msg) *protocol.Error {
	switch verb := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]; verb {
	case protocol.VerbPing:
		return nil
	case protocol.VerbDrain:
		w.Drain("an operator's command")
		return nil
	case protocol.VerbAssign, protocol.VerbRelease:
		var a protocol.Assignment
		if err := json.Unmarshal(m.Data, &a); err != nil || a.V != protocol.Version {
			return protocol.Errorf(protocol.CodeInvalidRequest, "not an assignment of version %d", protocol.Version)
		}
		if verb == protocol.VerbRelease {
			return w.release(a.Key)
		}
		return w.assign(ctx, a)
	case protocol.VerbConfirm:
		return w.confirm(m.Data)
	default:
		return protocol.Errorf(protocol.CodeUnknownAction, "control verb %q is unknown", verb)
	}
}
