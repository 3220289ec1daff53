package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

// live asks a service for the owner's life.
func (f *agentFlags) live(a *app, asJSON bool, ask func(ctx context.Context, o *client.Owner) error) error {
	ctx, stop := untilInterrupt()
	defer stop()
	s, err := f.open(ctx, a, asJSON)
	if err != nil {
		return err
	}
	defer s.client.Close()
	if f.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.Timeout)
		defer cancel()
	}
	done := view.StartProgress(os.Stderr, "waiting for the fleet")
	err = ask(ctx, s.owner)
	done()
	return err
}

type acquireCmd struct {
	agentFlags
	format
	Lease     string        `help:"Id of the lease; the same one again renews it (default: a new one)." placeholder:"ID"`
	Ephemeral bool          `help:"Keep no state: what the browser has ends with it."`
	Viewport  string        `help:"Size of the page in CSS pixels, and device pixels for one." placeholder:"WxH[@SCALE]"`
	Locale    string        `help:"Language of the pages." placeholder:"de-DE"`
	Timezone  string        `help:"Time zone of the pages." placeholder:"Europe/Berlin"`
	Isolation string        `help:"What keeps it from its neighbours; process is the only one." placeholder:"process"`
	Policy    string        `help:"Named policy of its traffic." placeholder:"NAME"`
	Requires  []string      `help:"Capabilities without which it is refused." placeholder:"NAME"`
	TTL       time.Duration `help:"How long the lease lives without being used (default 10m)." placeholder:"10m"`
}

// Run acquires an environment.
func (c *acquireCmd) Run(a *app) error {
	viewport, err := viewportOf(c.Viewport)
	if err != nil {
		return err
	}
	q := protocol.AcquireQuery{
		Lease: protocol.LeaseID(c.Lease), TTLMS: c.TTL.Milliseconds(), Policy: c.Policy, Isolation: protocol.Isolation(c.Isolation),
		Setting: protocol.Setting{Viewport: viewport, Locale: c.Locale, Timezone: c.Timezone},
	}
	if c.Ephemeral {
		q.Persistence = protocol.PersistEphemeral
	}
	for _, r := range c.Requires {
		q.Requires = append(q.Requires, protocol.Capability(r))
	}
	var reply *protocol.AcquireReply
	err = c.live(a, c.json(), func(ctx context.Context, o *client.Owner) (err error) {
		reply, err = o.Acquire(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	if c.json() {
		return view.JSON(a.out, reply)
	}
	can := make([]string, len(reply.Capabilities))
	for i, c := range reply.Capabilities {
		can[i] = string(c)
	}
	a.printf("lease %s, generation %d, %s; it can: %s\n", reply.Lease.ID, reply.Generation, reply.Persistence, strings.Join(can, ", "))
	if reply.Control != nil {
		a.printf("%s has control until %s: actions wait\n", view.Line(reply.Control.Holder, protocol.MaxIDLen), reply.Control.Expires.Format(time.RFC3339))
	}
	return nil
}

// viewportOf reads WxH or WxH@SCALE; nil for nothing.
func viewportOf(text string) (*protocol.Viewport, error) {
	if text == "" {
		return nil, nil
	}
	wrong := protocol.Errorf(protocol.CodeInvalidArgument, "viewport: want WIDTHxHEIGHT or WIDTHxHEIGHT@SCALE, such as 390x844@3")
	size, scale, scaled := strings.Cut(text, "@")
	width, height, both := strings.Cut(size, "x")
	var v protocol.Viewport
	var errs [3]error
	v.Width, errs[0] = strconv.ParseInt(width, 10, 64)
	v.Height, errs[1] = strconv.ParseInt(height, 10, 64)
	if scaled {
		v.Scale, errs[2] = strconv.ParseFloat(scale, 64)
	}
	if err := errors.Join(errs[:]...); err != nil || !both {
		return nil, wrong
	}
	return &v, nil
}

type releaseCmd struct {
	agentFlags
	Lease string `arg:"" help:"Id of the lease."`
}

// Run gives a lease up.
func (c *releaseCmd) Run(a *app) error {
	err := c.live(a, false, func(ctx context.Context, o *client.Owner) error { return o.Release(ctx, protocol.LeaseID(c.Lease)) })
	return a.said(err, "released")
}

type closeCmd struct{ agentFlags }

// Run ends an environment.
func (c *closeCmd) Run(a *app) error {
	err := c.live(a, false, func(ctx context.Context, o *client.Owner) error { return o.Close(ctx) })
	return a.said(err, "closed; the next action opens it again")
}

type deleteCmd struct {
	agentFlags
	Yes bool `help:"Really: the state cannot be brought back, nor the id be used again." required:""`
}

// Run removes an owner's state.
func (c *deleteCmd) Run(a *app) error {
	err := c.live(a, false, func(ctx context.Context, o *client.Owner) error { return o.Delete(ctx) })
	return a.said(err, "deleted")
}

type resetCmd struct{ agentFlags }

// Run brings a failed owner back.
func (c *resetCmd) Run(a *app) error {
	err := c.live(a, false, func(ctx context.Context, o *client.Owner) error { return o.Reset(ctx) })
	return a.said(err, "reset; the next action opens it again")
}

// said prints what was done, unless it was not.
func (a *app) said(err error, what string) error {
	if err == nil {
		a.printf("%s\n", what)
	}
	return err
}

// operate asks an operator's service about an owner.
func (c *ownerTarget) operate(ask func(ctx context.Context, op *client.Operator, key protocol.OwnerKey) error) error {
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
	return ask(ctx, op, key)
}

type ownersResetCmd struct{ ownerTarget }

// Run brings a failed owner back.
func (c *ownersResetCmd) Run(a *app) error {
	err := c.operate(func(ctx context.Context, op *client.Operator, key protocol.OwnerKey) error { return op.Reset(ctx, key) })
	return a.said(err, "reset; its next action opens it again")
}

// person is who takes control.
type person struct {
	As string `help:"Who takes it (default: the user of this machine)." placeholder:"NAME"`
}

func (p *person) name() string {
	if p.As != "" {
		return p.As
	}
	if u, err := user.Current(); err == nil && protocol.ValidToken(u.Username, protocol.MaxIDLen) {
		return u.Username
	}
	return "operator"
}

type ownersTakeCmd struct {
	ownerTarget
	person
	For time.Duration `help:"For how long, if it is not given back before." default:"10m"`
}

// Run takes an environment over.
func (c *ownersTakeCmd) Run(a *app) error {
	err := c.operate(func(ctx context.Context, op *client.Operator, key protocol.OwnerKey) error {
		return op.TakeControl(ctx, key, c.name(), c.For)
	})
	return a.said(err, fmt.Sprintf("%s has control for %s; the agent's actions wait", c.name(), c.For))
}

type ownersGiveCmd struct {
	ownerTarget
	person
}

// Run hands an environment back.
func (c *ownersGiveCmd) Run(a *app) error {
	err := c.operate(func(ctx context.Context, op *client.Operator, key protocol.OwnerKey) error {
		return op.GiveControl(ctx, key, c.name())
	})
	return a.said(err, "given back; the agent's actions go on")
}
