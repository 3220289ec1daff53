package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
)

const (
	verifyEvery   = 2 * time.Second
	verifyTimeout = 5 * time.Second
)

// connect connects as the role's user and waits until the streams are what they
// must be. It says what it waits for.
func connect(ctx context.Context, m *Messaging, role string, log *slog.Logger) (*natsx.Conn, error) {
	o, err := m.options(role)
	if err != nil {
		return nil, err
	}
	o.Logger = log
	c, err := natsx.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	for {
		once, cancel := context.WithTimeout(ctx, verifyTimeout)
		err := c.Verify(once, m.Shards)
		if err == nil && role == deploy.UserCoordinator {
			err = c.VerifyMapping(once, m.Shards)
		}
		cancel()
		if err == nil {
			return c, nil
		}
		log.Warn("waiting for the streams", "error", err)
		if err := pause(ctx, verifyEvery); err != nil {
			c.Close()
			return nil, err
		}
	}
}
