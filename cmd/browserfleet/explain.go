package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

type ownersCmd struct {
	List    ownersListCmd    `cmd:"" default:"withargs" help:"List owners (the default)."`
	Explain ownersExplainCmd `cmd:"" help:"Tell why an owner is where it is, or why it waits."`
	Reset   ownersResetCmd   `cmd:"" help:"Bring back an owner that failed too often."`
	Take    ownersTakeCmd    `cmd:"" help:"Take an environment over for a person: its agent's actions wait."`
	Give    ownersGiveCmd    `cmd:"" help:"Hand an environment back to its agent."`
}

// ownerTarget is an owner as operators name it.
type ownerTarget struct {
	reach
	Owner string `arg:"" help:"TENANT/OWNER; the tenant may be left out where dev runs."`
}

type ownersExplainCmd struct {
	ownerTarget
	format
}

// Run explains an owner.
func (c *ownersExplainCmd) Run(a *app) error {
	key, err := c.key()
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupt()
	defer stop()
	op, err := connectOperator(ctx, &c.reach)
	if err != nil {
		return err
	}
	defer op.Close()
	reply, err := op.Explain(ctx, key)
	if err != nil {
		return err
	}
	if c.json() {
		return view.JSON(a.out, reply)
	}
	writeExplanation(a.out, reply)
	return nil
}

// key is the owner that is meant.
func (c *ownerTarget) key() (protocol.OwnerKey, error) {
	if tenant, owner, named := strings.Cut(c.Owner, "/"); named {
		return protocol.OwnerKey{Tenant: protocol.Tenant(tenant), Owner: protocol.Owner(owner)}, nil
	}
	if c.explicit() {
		return protocol.OwnerKey{}, usageError(fmt.Errorf("owner %q: want TENANT/OWNER", c.Owner))
	}
	_, running, err := c.running()
	if err != nil {
		return protocol.OwnerKey{}, err
	}
	return protocol.OwnerKey{Tenant: running.Tenant, Owner: protocol.Owner(c.Owner)}, nil
}

func writeExplanation(w io.Writer, r *protocol.ExplainReply) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	if o := r.Owner; o != nil {
		line("state", "%s since %s, epoch %d, generation %d, shard %d", o.State, ago(o.Since), o.Epoch, o.Generation, o.Shard)
		line("worker", "%s", or(string(o.Worker)))
		line("running", "%s", or(string(o.Running)))
		for _, l := range o.Leases {
			line("lease", "%s until %s", view.Line(string(l.ID), protocol.MaxIDLen), l.Expires.Format(time.RFC3339))
		}
		if o.Control != nil {
			line("drives", "%s until %s; the agent's actions wait", drives(o), o.Control.Expires.Format(time.RFC3339))
		}
	} else {
		line("state", "no record yet")
	}
	if h := r.Holder; h != nil {
		line("its life", "%s, last heard %s, %d of %d slots taken", h.State, ago(h.LastSeen), h.Owners, h.Slots)
	}
	line("queued", "%d actions, %d control", r.QueueQ, r.QueueC)
	switch {
	case r.Waits == "":
		line("waits for", "nothing")
	case r.Position > 0:
		line("waits for", "%s; number %d in the line", r.Waits, r.Position)
	default:
		line("waits for", "%s", view.Line(r.Waits, 200))
	}
	writeDecision(t, r)
	_ = t.Flush()
}

func writeDecision(w io.Writer, r *protocol.ExplainReply) {
	d := r.Decision
	if d == nil {
		fmt.Fprintf(w, "decision\tnone by the present leader, %s\n", or(string(r.Leader)))
		return
	}
	fmt.Fprintf(w, "decision\t%s for %s, by %s %s\n", or(string(d.Worker)), d.Reason, r.Leader, ago(d.At))
	for _, s := range d.Scores {
		if s.Excluded != "" {
			fmt.Fprintf(w, "\t%s: %s\n", s.Worker, view.Line(s.Excluded, 120))
			continue
		}
		parts := make([]string, 0, len(s.Parts))
		for name, n := range s.Parts {
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
		slices.Sort(parts)
		fmt.Fprintf(w, "\t%s: %d points (%s)\n", s.Worker, s.Points, strings.Join(parts, ", "))
	}
}
