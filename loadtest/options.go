package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/loadtest/check"
	"github.com/browserfleet/browserfleet/protocol"
)

// Access is how one user reaches NATS.
type Access struct {
	URL      string
	User     string
	Password natsx.Secret
	// CredsFile replaces User and Password where the server uses JWTs.
	CredsFile string
	// InboxPrefix must be the one that the user may subscribe.
	InboxPrefix string
}

func (a Access) natsx(name string) natsx.Options {
	return natsx.Options{
		URL: a.URL, Name: name, User: a.User, Password: a.Password,
		CredsFile: a.CredsFile, InboxPrefix: a.InboxPrefix,
	}
}

func (a Access) client(name string) client.Options {
	return client.Options{
		URL: a.URL, Name: name, User: a.User, Password: client.Secret(a.Password),
		CredsFile: a.CredsFile, InboxPrefix: a.InboxPrefix,
	}
}

// Defaults.
const (
	DefaultOwners   = 8
	DefaultDuration = 20 * time.Second
	// DefaultGrace is how long requests are waited for at the end. A worker's
	// loss takes about three seconds to be mended, an election nine.
	DefaultGrace = 30 * time.Second
	// DefaultTimeout is how long an agent waits for one answer.
	DefaultTimeout = 60 * time.Second
)

// Options say what to do to which fleet.
type Options struct {
	// Tenant, and the user that speaks for all of its owners.
	Tenant protocol.Tenant
	Agent  Access
	// Operator is a user of the fleet's own account that may read the streams
	// and hear what is pushed.
	Operator Access

	Owners int
	// The run ends after Duration, or, if Steps is set, when each owner has taken
	// so many steps, whichever is first.
	Duration time.Duration
	Steps    int
	// Warmup is the first part of Duration. What happens in it is judged, but
	// counts for neither latencies nor rates.
	Warmup time.Duration
	// Rate is the most steps a second, of all owners together; 0: as fast as they
	// are answered.
	Rate float64
	// Mix says how often which step is taken; nil is DefaultMix.
	Mix Mix
	// SiteURL is the bundled site, driven with real browsers; empty: the made-up
	// page of simulated browsers.
	SiteURL string
	// Timeout is how long an agent waits for one answer.
	Timeout time.Duration
	Grace   time.Duration
	// Seed makes the owners take the same steps again; 0 takes a random one,
	// which the report names.
	Seed uint64
	// DispatchLogs are the workers' dispatch logs: files, or folders of *.jsonl.
	// They are listed at the end of the run: workers may start meanwhile.
	DispatchLogs []string
	// Orphans counts processes that outlived their owners. It is called last, so
	// it may stop the fleet first. nil: nobody looks, and the report says so.
	Orphans func(context.Context) (int, error)
	// Skew is how far the clocks of workers and servers may differ.
	Skew time.Duration
	// Progress gets a line a second; nil is quiet.
	Progress io.Writer
}

// withDefaults fills in and checks.
func (o Options) withDefaults() (Options, error) {
	if o.Owners == 0 {
		o.Owners = DefaultOwners
	}
	if o.Duration == 0 {
		o.Duration = DefaultDuration
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Mix == nil {
		o.Mix = DefaultMix()
	}
	return o, o.check()
}

func (o *Options) check() error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if _, err := protocol.ParseTenant(string(o.Tenant)); err != nil {
		wrong = append(wrong, err)
	}
	if o.Agent.URL == "" || o.Operator.URL == "" {
		bad("NATS: want the URL of a server for the agents and for the operator")
	}
	if o.Owners < 1 || o.Owners > 100_000 {
		bad("%d owners: want 1 to 100000", o.Owners)
	}
	if o.Duration < 0 || o.Warmup < 0 || o.Warmup >= o.Duration {
		bad("duration %s with a warm-up of %s: want the warm-up shorter", o.Duration, o.Warmup)
	}
	if o.Rate < 0 || o.Steps < 0 || o.Skew < 0 {
		bad("rate, steps and skew cannot be negative")
	}
	if o.SiteURL != "" {
		if u, err := url.Parse(o.SiteURL); err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") {
			bad("site %q: want an http URL", o.SiteURL)
		}
	}
	if err := o.Mix.check(); err != nil {
		wrong = append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("load test: %w", err)
	}
	return nil
}

// dispatchFiles lists the logs: a folder stands for its *.jsonl.
func (o *Options) dispatchFiles() ([]string, error) {
	var files []string
	for _, path := range o.DispatchLogs {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("dispatch logs: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		inside, err := check.DispatchFiles(path)
		if err != nil {
			return nil, err
		}
		if len(inside) == 0 {
			return nil, fmt.Errorf("dispatch logs: %s has no *.jsonl", path)
		}
		files = append(files, inside...)
	}
	return files, nil
}
