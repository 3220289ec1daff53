package service

import (
	"context"

	"github.com/browserfleet/browserfleet/internal/devstore"
)

// RunStore runs the embedded S3 store.
func RunStore(ctx context.Context, version string) error {
	var cfg StoreConfig
	if err := load(&cfg); err != nil {
		return err
	}
	ctx, stop := startLife(ctx, cfg.ExitWithStdin)
	defer stop()
	i, err := startInstance(ctx, cfg.Process, "store", version, "", "")
	if err != nil {
		return err
	}
	defer i.close()
	access, secret, err := cfg.keys()
	if err != nil {
		return err
	}
	return devstore.Run(ctx, devstore.Config{
		Dir: cfg.StoreDir, Addr: cfg.StoreEndpoint, AccessKey: access, SecretKey: secret, Bucket: cfg.StoreBucket,
		Ready: func(addr string) { i.log.Info("store is up", "address", addr) },
	})
}
