package main

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserfleet/browserfleet/gateway/mcpserver"
)

type mcpCmd struct {
	agentFlags
	Profile string `help:"Which tools: core, or full." enum:"core,full" default:"core"`
}

// Run serves the Model Context Protocol on standard input and output, which are the
// protocol's alone: what there is to say besides goes to standard error.
func (c *mcpCmd) Run(a *app) error {
	ctx, stop := untilInterrupt()
	defer stop()
	s, err := c.open(ctx, a, true)
	if err != nil {
		return err
	}
	defer s.client.Close()
	server := mcpserver.New(s.owner, mcpserver.Profile(c.Profile), release)
	defer server.Close()
	err = server.Run(ctx, &mcp.StdioTransport{})
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil // its client has gone, which is how it ends
	}
	return err
}
