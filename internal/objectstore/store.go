package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// MaxObject is the largest object that Put, PutNew and Get handle, in bytes.
	// Everything is in memory while it is written or verified.
	MaxObject = 64 << 20
	// DefaultRegion is used when none is set; without one minio-go asks the
	// store for the bucket's location first.
	DefaultRegion = "us-east-1"

	// maxRetries: minio-go sends a request at most this often (jittered, 200 ms
	// doubling up to 1 s). Its default of 10 takes 5 s to see a refused port;
	// 3 take about 0.8 s (measured).
	maxRetries = 3

	callBase    = 5 * time.Second // every call, plus:
	bytesPerSec = 1 << 20         // the slowest link that is still served
)

// Config names a bucket and how to reach it.
type Config struct {
	Endpoint  string // host:port, no scheme
	Secure    bool   // https
	Region    string // DefaultRegion when empty
	AccessKey string
	SecretKey Secret
	Bucket    string
	Prefix    string // put before every key, without slashes at its ends; may be empty
}

// Store is a client for one bucket and prefix. Safe for concurrent use.
type Store struct {
	cfg       Config
	client    *minio.Client
	core      minio.Core
	transport *http.Transport
}

// Open makes a client. It does not talk to the store: see Probe.
func Open(cfg Config) (*Store, error) {
	cfg.Prefix = strings.Trim(cfg.Prefix, "/")
	if cfg.Region == "" {
		cfg.Region = DefaultRegion
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("object store configuration: %w", err)
	}
	transport, err := newTransport(cfg.Secure)
	if err != nil {
		return nil, fmt.Errorf("object store transport: %w", err)
	}
	client, err := minio.New(cfg.Endpoint, &minio.Options{
		Creds:        credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey.Reveal(), ""),
		Secure:       cfg.Secure,
		Region:       cfg.Region,
		Transport:    transport,
		BucketLookup: minio.BucketLookupAuto,
		MaxRetries:   maxRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("object store client: %w", err)
	}
	return &Store{cfg: cfg, client: client, core: minio.Core{Client: client}, transport: transport}, nil
}

func (c Config) validate() error {
	var errs []error
	for _, f := range []struct{ name, value string }{
		{"endpoint", c.Endpoint},
		{"access key", c.AccessKey},
		{"secret key", c.SecretKey.Reveal()},
		{"bucket", c.Bucket},
	} {
		if f.value == "" {
			errs = append(errs, errors.New(f.name+" is empty"))
		}
	}
	return errors.Join(append(errs, checkPrefix(c.Prefix))...)
}

// newTransport is minio-go's own, with dial time-outs that leave room for a
// retry inside callBase.
func newTransport(secure bool) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	t.DialContext = (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 3 * time.Second
	return t, nil
}

// Close drops idle connections. Calls in flight end by their deadlines.
func (s *Store) Close() { s.transport.CloseIdleConnections() }

// Bucket is the bucket's name, for messages.
func (s *Store) Bucket() string { return s.cfg.Bucket }

// EnsureBucket creates the bucket when it is missing (dev and tests; in
// production the operator makes it).
func (s *Store) EnsureBucket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callBase)
	defer cancel()
	have, err := s.client.BucketExists(ctx, s.cfg.Bucket)
	if err != nil {
		return classify(ctx, "head bucket", s.cfg.Bucket, false, err)
	}
	if have {
		return nil
	}
	err = s.client.MakeBucket(ctx, s.cfg.Bucket, minio.MakeBucketOptions{Region: s.cfg.Region})
	if err != nil && minio.ToErrorResponse(err).Code != minio.BucketAlreadyOwnedByYou {
		return classify(ctx, "make bucket", s.cfg.Bucket, true, err)
	}
	return nil
}

// full is the key as the bucket sees it.
func (s *Store) full(key string) string {
	if s.cfg.Prefix == "" {
		return key
	}
	return s.cfg.Prefix + "/" + key
}

// budget is how long a transfer of size bytes may take.
func budget(size int64) time.Duration {
	return callBase + time.Duration(size)*time.Second/bytesPerSec
}
