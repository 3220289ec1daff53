package devstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

const (
	// DefaultAddr lets the kernel choose a free loopback port.
	DefaultAddr = "127.0.0.1:0"

	healthPath = "/browserfleet-health" // longer than a bucket name of ours
	startTime  = 20 * time.Second       // measured: 0.1 s idle, 0.5 s under load
	portTries  = 3

	// Concurrent connections: a dev fleet has a few processes, a test 50 writers.
	maxConnections = 2048
	maxRequests    = 1024
)

// Config is one store.
type Config struct {
	Dir       string // made when missing; private to this store
	Addr      string // host:port; port 0 or empty: a free one
	AccessKey string
	SecretKey objectstore.Secret
	Bucket    string // made when missing
	// Ready is called once with the address, when the store answers and the
	// bucket exists.
	Ready func(addr string)
}

// Run serves the store until ctx ends (nil) or it fails. One at a time in a
// process, and the process's working directory changes: see the package comment.
func Run(ctx context.Context, cfg Config) error {
	root, metadata, err := prepare(cfg.Dir)
	if err != nil {
		return fmt.Errorf("dev store folder: %w", err)
	}
	if cfg.Addr == "" {
		cfg.Addr = DefaultAddr
	}
	_, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return fmt.Errorf("dev store address: %w", err)
	}
	tries := 1
	if port == "0" {
		tries = portTries // a chosen port may be taken before the gateway binds it
	}
	for range tries {
		var addr string
		if addr, err = pickAddr(cfg.Addr); err != nil {
			return fmt.Errorf("dev store address: %w", err)
		}
		var served bool
		if served, err = runGateway(ctx, cfg, addr, root, metadata); served || ctx.Err() != nil {
			break
		}
	}
	return err
}

// prepare makes the folders and says where metadata goes.
func prepare(dir string) (root string, m meta.MetadataStorer, err error) {
	if dir == "" {
		return "", nil, errors.New("no folder given")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	root = filepath.Join(dir, "objects")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", nil, err
	}
	xattr := meta.XattrMeta{}
	if xattr.Test(root) == nil {
		return root, xattr, nil
	}
	side := filepath.Join(dir, "meta")
	if err := os.MkdirAll(side, 0o700); err != nil {
		return "", nil, err
	}
	m, err = meta.NewSideCar(side)
	return root, m, err
}

// pickAddr replaces port 0: versitygw does not say which port it was given.
func pickAddr(addr string) (string, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// runGateway serves on addr until ctx ends or the gateway fails. served says
// that it had been ready, so that another port would not help.
func runGateway(ctx context.Context, cfg Config, addr, root string, m meta.MetadataStorer) (served bool, err error) {
	opts := posix.PosixOpts{Concurrency: maxRequests}
	opts.SetNewDirPerm(0o700) // the setters: a plain field counts as unset
	opts.SetNewFilePerm(0o600)
	if _, ok := m.(meta.SideCar); ok {
		opts.SideCarDir = filepath.Join(filepath.Dir(root), "meta")
	}
	backend, err := posix.New(root, m, opts)
	if err != nil {
		return false, fmt.Errorf("dev store backend: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- embedgw.RunVersityGW(ctx, backend, gatewayConfig(cfg, addr)) }()

	if err := awaitReady(ctx, cfg, addr, ended); err != nil {
		cancel()
		return false, errors.Join(err, <-ended)
	}
	if cfg.Ready != nil {
		cfg.Ready(addr)
	}
	err = <-ended
	if ctx.Err() != nil {
		return true, nil // asked to stop
	}
	return true, fmt.Errorf("dev store ended: %w", err)
}

func gatewayConfig(cfg Config, addr string) *embedgw.Config {
	return &embedgw.Config{
		RootUserAccess:    cfg.AccessKey,
		RootUserSecret:    cfg.SecretKey.Reveal(),
		Region:            objectstore.DefaultRegion,
		Ports:             []string{addr},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: 10000, // S3's own limit; zero is refused
		Quiet:             true,
		KeepAlive:         true,
		DisableACLs:       true,
		HealthPath:        healthPath,
	}
}

// awaitReady waits until the gateway answers, then makes the bucket.
func awaitReady(ctx context.Context, cfg Config, addr string, ended chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !healthy(ctx, client, addr) {
		select {
		case <-tick.C:
		case err := <-ended:
			ended <- nil // the caller waits for it too
			return fmt.Errorf("dev store did not start: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("dev store did not answer: %w", context.Cause(ctx))
		}
	}
	return makeBucket(ctx, cfg, addr)
}

func healthy(ctx context.Context, client *http.Client, addr string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+healthPath, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1024))
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// makeBucket also proves that the credentials are this store's: a stranger on
// the same port fails it.
func makeBucket(ctx context.Context, cfg Config, addr string) error {
	store, err := objectstore.Open(objectstore.Config{
		Endpoint: addr, AccessKey: cfg.AccessKey, SecretKey: cfg.SecretKey, Bucket: cfg.Bucket,
	})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.EnsureBucket(ctx); err != nil {
		return fmt.Errorf("dev store bucket: %w", err)
	}
	return nil
}
