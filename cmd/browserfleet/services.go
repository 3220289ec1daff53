package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
)

// Services have no flags: their configuration is the environment.

type storeCmd struct{}

func (*storeCmd) Help() string { return variables(&service.StoreConfig{}) }

func (*storeCmd) Run(*app) error {
	return serviceError(service.RunStore(context.Background(), version()))
}

type coordinatorCmd struct{}

func (*coordinatorCmd) Help() string { return variables(&service.CoordinatorConfig{}) }

func (*coordinatorCmd) Run(*app) error {
	return serviceError(service.RunCoordinator(context.Background(), version()))
}

type workerCmd struct{}

func (*workerCmd) Help() string { return variables(&service.WorkerConfig{}) }

func (*workerCmd) Run(*app) error {
	return serviceError(service.RunWorker(context.Background(), version()))
}

type natsServeCmd struct{}

func (*natsServeCmd) Help() string { return variables(&service.NATSConfig{}) }

func (*natsServeCmd) Run(*app) error { return serviceError(service.RunNATS(context.Background())) }

// variables is the table of a service's variables, for its help.
func variables(cfg any) string {
	var b strings.Builder
	b.WriteString("Variables:\n\n")
	if err := service.Usage(&b, cfg); err != nil {
		return err.Error()
	}
	return b.String()
}

func serviceError(err error) error {
	var config *service.ConfigError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &config):
		return usageError(err)
	}
	return fmt.Errorf("the service ended: %w", err)
}
