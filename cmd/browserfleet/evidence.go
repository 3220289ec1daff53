package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"syscall"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

type evidenceCmd struct {
	agentFlags
	format
	After uint64 `help:"Only events after this sequence." placeholder:"SEQ"`
	Limit int    `help:"Events at most, 1-50." default:"20"`
}

// Run shows what was stored of the owner's actions.
func (c *evidenceCmd) Run(a *app) error {
	var reply *protocol.EvidenceReply
	err := c.live(a, c.json(), func(ctx context.Context, o *client.Owner) (err error) {
		reply, err = o.Evidence(ctx, protocol.Seq(c.After), c.Limit)
		return err
	})
	if err != nil {
		return err
	}
	if c.json() {
		return view.JSON(a.out, reply)
	}
	view.Evidence(a.out, reply)
	return nil
}

type watchCmd struct {
	agentFlags
	format
	After uint64 `help:"Begin after this sequence (default: what comes from now on)." placeholder:"SEQ"`
}

// Run shows the owner's events until it is interrupted.
func (c *watchCmd) Run(a *app) error {
	ctx, stop := untilInterrupt()
	defer stop()
	s, err := c.open(ctx, a, c.json())
	if err != nil {
		return err
	}
	defer s.client.Close()
	err = s.owner.Watch(ctx, protocol.Seq(c.After), func(e protocol.EvidenceEntry) error {
		var line bytes.Buffer
		if c.json() {
			if err := json.NewEncoder(&line).Encode(e); err != nil {
				return err
			}
		} else {
			view.Event(&line, e.Seq, &e.Event)
		}
		_, err := a.out.Write(line.Bytes()) // watch | head ends here
		return err
	})
	if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) {
		return nil // interrupted, or nobody reads on: that is how it ends
	}
	return err
}
