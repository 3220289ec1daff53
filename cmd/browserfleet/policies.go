package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"text/tabwriter"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/policies"
)

type policiesCmd struct {
	List    policiesListCmd    `cmd:"" default:"withargs" help:"List the tenants' policies and quotas (the default)."`
	Get     policiesGetCmd     `cmd:"" help:"Print one."`
	Put     policiesPutCmd     `cmd:"" help:"Check and write one; workers apply it at once."`
	Delete  policiesDeleteCmd  `cmd:"" help:"Remove one; environments under it reach nothing any more."`
	Check   policiesCheckCmd   `cmd:"" help:"Check a file without writing it."`
	Explain policiesExplainCmd `cmd:"" help:"Tell what would become of a URL under a policy, and why."`
}

// asked runs a question of an operator.
func (r *reach) asked(do func(ctx context.Context, op *client.Operator) error) error {
	ctx, stop := untilInterrupt()
	defer stop()
	op, err := connectOperator(ctx, r)
	if err != nil {
		return err
	}
	defer op.Close()
	return do(ctx, op)
}

type policiesListCmd struct {
	reach
	format
}

// Run lists documents.
func (c *policiesListCmd) Run(a *app) error {
	return c.asked(func(ctx context.Context, op *client.Operator) error {
		all, err := op.Policies(ctx)
		if err != nil {
			return err
		}
		if c.json() {
			return view.JSON(a.out, all)
		}
		if len(all) == 0 {
			a.printf("no policies: every tenant has the workers' own\n")
			return nil
		}
		t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "TENANT\tNAME\tREVISION\tWRITTEN")
		for _, p := range all {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", p.Tenant, p.Name, p.Revision, p.At.Local().Format(time.DateTime))
		}
		return t.Flush()
	})
}

type policyTarget struct {
	reach
	Tenant string `arg:"" help:"Whose."`
	Name   string `arg:"" help:"Name of the policy; default is for owners that name none, quotas the tenant's quotas."`
}

type policiesGetCmd struct {
	policyTarget
	format
}

// Run prints a document.
func (c *policiesGetCmd) Run(a *app) error {
	return c.asked(func(ctx context.Context, op *client.Operator) error {
		p, err := op.Policy(ctx, protocol.Tenant(c.Tenant), c.Name)
		if err != nil {
			return err
		}
		if c.json() {
			return view.JSON(a.out, p)
		}
		return view.JSON(a.out, p.Document)
	})
}

type policiesPutCmd struct {
	policyTarget
	File string `arg:"" help:"JSON file, or - for standard input."`
}

// Run checks and writes a document.
func (c *policiesPutCmd) Run(a *app) error {
	raw, err := readDocument(c.File)
	if err != nil {
		return err
	}
	if _, err := checkDocument(c.Name, raw); err != nil {
		return usageError(err)
	}
	return c.asked(func(ctx context.Context, op *client.Operator) error {
		revision, err := op.PutPolicy(ctx, protocol.Tenant(c.Tenant), c.Name, raw)
		if err == nil {
			a.printf("%s of %s: revision %d\n", c.Name, c.Tenant, revision)
		}
		return err
	})
}

type policiesDeleteCmd struct{ policyTarget }

// Run removes a document.
func (c *policiesDeleteCmd) Run(a *app) error {
	return c.asked(func(ctx context.Context, op *client.Operator) error {
		err := op.DeletePolicy(ctx, protocol.Tenant(c.Tenant), c.Name)
		if err == nil {
			a.printf("%s of %s is deleted\n", c.Name, c.Tenant)
		}
		return err
	})
}

type policiesCheckCmd struct {
	File   string `arg:"" help:"JSON file, or - for standard input."`
	Quotas bool   `help:"It is a tenant's quotas, not a policy."`
}

// Run checks a file.
func (c *policiesCheckCmd) Run(a *app) error {
	raw, err := readDocument(c.File)
	if err != nil {
		return err
	}
	name := protocol.DefaultPolicy
	if c.Quotas {
		name = client.Quotas
	}
	if _, err := checkDocument(name, raw); err != nil {
		return usageError(err)
	}
	a.printf("%s is valid\n", c.File)
	return nil
}

type policiesExplainCmd struct {
	reach
	format
	URL     string       `arg:"" help:"What a page would open."`
	File    string       `help:"Policy in this file, not one of the fleet's." xor:"which" placeholder:"FILE"`
	Tenant  string       `help:"Whose policy." xor:"which" placeholder:"TENANT"`
	Name    string       `help:"Which of the tenant's." default:"default"`
	Address []netip.Addr `help:"Take these for the answers of the resolver." placeholder:"IP"`
}

// Run explains what would become of a URL. Names are resolved on this machine, and
// the fleet's listeners are not known here.
func (c *policiesExplainCmd) Run(a *app) error {
	var raw []byte
	var err error
	switch {
	case c.File != "":
		raw, err = readDocument(c.File)
	case c.Tenant != "":
		err = c.asked(func(ctx context.Context, op *client.Operator) error {
			p, err := op.Policy(ctx, protocol.Tenant(c.Tenant), c.Name)
			if err == nil {
				raw = p.Document
			}
			return err
		})
	default:
		return usageError(fmt.Errorf("name a policy by --tenant and --name, or a --file"))
	}
	if err != nil {
		return err
	}
	policy, err := checkDocument(protocol.DefaultPolicy, raw)
	if err != nil {
		return usageError(err)
	}
	ctx, stop := untilInterrupt()
	defer stop()
	x := policy.Explain(ctx, c.URL, c.lookup)
	if c.json() {
		return view.JSON(a.out, x)
	}
	verdict := "denied"
	if x.Allow {
		verdict = "allowed"
	}
	a.printf("%s: %s (%s): %s\n", view.Line(x.URL, 200), verdict, x.Reason, x.Why)
	for _, addr := range x.Addresses {
		a.printf("  %s\n", addr)
	}
	return nil
}

func (c *policiesExplainCmd) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if len(c.Address) > 0 {
		return c.Address, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func readDocument(file string) ([]byte, error) {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usageError(err)
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, protocol.MaxPolicyBytes+1))
	if err != nil {
		return nil, usageError(err)
	}
	return raw, nil
}

// checkDocument reads a policy, or quotas, as workers and coordinators do.
func checkDocument(name string, raw []byte) (*egressproxy.Compiled, error) {
	if name == client.Quotas {
		var q protocol.Quotas
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&q); err != nil {
			return nil, fmt.Errorf("quotas: %w", err)
		}
		if q.V != protocol.Version {
			return nil, fmt.Errorf("quotas: v is %d, want %d", q.V, protocol.Version)
		}
		return nil, nil
	}
	p, err := policies.Compile(raw, nil)
	if err != nil {
		return nil, err
	}
	return p.Egress, nil
}
