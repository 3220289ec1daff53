package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const natsReady = 20 * time.Second

// RunNATS runs a NATS server from its configuration file.
func RunNATS(ctx context.Context) error {
	var cfg NATSConfig
	if err := load(&cfg); err != nil {
		return err
	}
	ctx, stop := startLife(ctx, cfg.ExitWithStdin)
	defer stop()
	opts, err := server.ProcessConfigFile(cfg.NatsConfigFile)
	if err != nil {
		return fmt.Errorf("NATS configuration: %w", err)
	}
	opts.NoSigs = true
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("NATS: %w", err)
	}
	srv.ConfigureLogger()
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(natsReady) {
		return errors.New("NATS is not ready for connections: see its log")
	}
	<-ctx.Done()
	return nil
}
