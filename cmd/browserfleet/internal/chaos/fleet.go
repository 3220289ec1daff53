package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/loadtest"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// readyTimeout bounds the start of the whole fleet: about ten seconds on an
	// idle machine.
	readyTimeout = 5 * time.Minute
	// beginTimeout bounds the wait for the agents' first answers.
	beginTimeout = 2 * time.Minute
	// askEvery spaces questions whether something is ready; askTimeout bounds one.
	askEvery   = 100 * time.Millisecond
	askTimeout = 5 * time.Second
	// drainTimeout is how long a worker may take to hand over its owners;
	// stopGrace is how long any process may take beyond that, which is a second
	// unless the machine is busy.
	drainTimeout = 10 * time.Second
	stopGrace    = time.Minute
	// actionTakes is about what an action of a real page takes. With the simulated
	// browser's default of 2 ms hardly any is in flight when its worker dies.
	actionTakes = 120 * time.Millisecond
)

// fleet is the running processes. One goroutine, the conductor, uses it.
type fleet struct {
	program   string // of the members
	folder    folder
	network   network
	slots     int
	passwords deploy.Passwords
	operator  *natsx.Conn
	processes []*process
	stdin     *os.File // its end is the children's end
	pipe      *os.File
}

// startFleet starts everything and waits until it can work.
func startFleet(ctx context.Context, f *fleet) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("the fleet took too long to start"))
	defer cancel()
	if err = f.folder.prepare(); err != nil {
		return err
	}
	if f.passwords, err = f.folder.writeServers(f.network); err != nil {
		return err
	}
	if f.stdin, f.pipe, err = os.Pipe(); err != nil {
		return fmt.Errorf("pipe to the processes: %w", err)
	}
	for _, m := range members {
		if m.role == roleCoordinator && f.operator == nil {
			if err := f.provision(ctx); err != nil {
				return err
			}
		}
		if err := f.startMember(m); err != nil {
			return err
		}
	}
	return f.awaitWorkers(ctx)
}

func (f *fleet) startMember(m member) error {
	env, err := f.settings(m)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(f.folder.Log(m.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", m.name, err)
	}
	argv := []string{f.program, string(m.role)}
	if m.role == roleServer {
		argv = []string{f.program, "nats", "serve"}
	}
	p := &process{member: m, argv: f.network.command(m.host, argv), stdin: f.stdin, log: log}
	p.env = func(life int) []string {
		if m.role == roleWorker {
			env["DISPATCH_LOG"] = f.folder.Path("dispatches", fmt.Sprintf("%s-%d.jsonl", m.name, life))
		}
		return environ(env)
	}
	f.processes = append(f.processes, p)
	return p.startLife()
}

// environ is this process' environment without our own variables, and env.
func environ(env map[string]string) []string {
	var out []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, service.Prefix+"_") {
			out = append(out, v)
		}
	}
	for name, v := range env {
		out = append(out, service.Prefix+"_"+name+"="+v)
	}
	return out
}

// settings are a member's variables.
func (f *fleet) settings(m member) (map[string]string, error) {
	env := map[string]string{"EXIT_WITH_STDIN": "true"}
	if m.role == roleServer {
		env["NATS_CONFIG_FILE"] = f.folder.config(m.name)
		return env, nil
	}
	if m.role != roleCoordinator {
		if err := f.storeSettings(m, env); err != nil {
			return nil, err
		}
	}
	if m.role == roleStore {
		return env, nil
	}
	url, err := f.natsURL(m.host, m.servers)
	if err != nil {
		return nil, err
	}
	env["NATS_URL"], env["NATS_PASSWORD_FILE"] = url, f.folder.PasswordFile(string(m.role))
	if m.role == roleCoordinator {
		env["COORDINATOR_NAME"] = m.name
		return env, nil
	}
	env["WORKER_NAME"], env["SLOTS"], env["BROWSER"] = m.name, fmt.Sprint(f.slots), service.BrowserSimulated
	// Who is frozen or cut off while it saves has not answered: schedules are about that.
	env["CHECKPOINT_WAIT"] = "1m"
	env["SIMULATED_LATENCY"] = actionTakes.String()
	env["MAX_CPU_LOAD"] = "0" // all share this host: nobody is better off elsewhere
	env["KEYRING_FILE"], env["DRAIN_TIMEOUT"] = f.folder.Path("secrets", "keyring"), drainTimeout.String()
	return env, nil
}

func (f *fleet) storeSettings(m member, env map[string]string) (err error) {
	if m.role == roleStore {
		env["STORE_DIR"] = f.folder.Path("store")
		env["STORE_ENDPOINT"], err = f.network.listen(hub, portStore)
	} else {
		env["STORE_ENDPOINT"], err = f.network.reach(m.host, hub, portStore)
	}
	env["STORE_ACCESS_KEY_FILE"] = f.folder.Path("secrets", "store-access")
	env["STORE_SECRET_KEY_FILE"] = f.folder.Path("secrets", "store-secret")
	return err
}

// natsURL is how a host reaches the named servers, or all of them.
func (f *fleet) natsURL(from string, known []string) (string, error) {
	if len(known) == 0 {
		known = servers
	}
	var urls []string
	for _, name := range known {
		address, err := f.network.reach(from, hostOf(name), portNATS)
		if err != nil {
			return "", err
		}
		urls = append(urls, "nats://"+address)
	}
	return strings.Join(urls, ","), nil
}

// access is how a user reaches the servers from outside the fleet.
func (f *fleet) access(user string) (loadtest.Access, error) {
	url, err := f.natsURL(hub, nil)
	return loadtest.Access{URL: url, User: user, Password: f.passwords[user], InboxPrefix: deploy.Inbox(user)}, err
}

// provision makes the streams when the servers have found each other.
func (f *fleet) provision(ctx context.Context) error {
	a, err := f.access(deploy.UserOperator)
	if err != nil {
		return err
	}
	f.operator, err = natsx.Connect(ctx, natsx.Options{
		URL: a.URL, User: a.User, Password: a.Password, InboxPrefix: a.InboxPrefix, Name: "chaos",
	})
	if err != nil {
		return err
	}
	return f.await(ctx, "the servers", func(ctx context.Context) error {
		return f.operator.Provision(ctx, protocol.Shards(1), len(servers))
	})
}

// await repeats a question until its answer is nil.
func (f *fleet) await(ctx context.Context, what string, ask func(context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, askTimeout)
		err := ask(once)
		cancel()
		if err == nil {
			return nil
		}
		if dead := f.fallen(); len(dead) > 0 {
			return fmt.Errorf("%s: %w", what, errors.Join(dead...))
		}
		if cause := pause(ctx, askEvery); cause != nil {
			return fmt.Errorf("%s: not ready: %w (last: %w)", what, cause, err)
		}
	}
}

// fallen are the processes that ended by themselves.
func (f *fleet) fallen() (dead []error) {
	for _, p := range f.processes {
		if err := p.failed(); err != nil {
			dead = append(dead, fmt.Errorf("%s ended by itself: %w", p.name, err))
		}
	}
	return dead
}

// awaitWorkers waits until a coordinator sees every worker ready.
func (f *fleet) awaitWorkers(ctx context.Context) error {
	a, err := f.access(deploy.UserOperator)
	if err != nil {
		return err
	}
	op, err := client.ConnectOperator(ctx, client.Options{
		URL: a.URL, User: a.User, Password: client.Secret(a.Password), InboxPrefix: a.InboxPrefix, Name: "chaos",
	})
	if err != nil {
		return err
	}
	defer op.Close()
	return f.await(ctx, "the workers", func(ctx context.Context) error {
		list, err := op.Workers(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for _, w := range list {
			if w.Ready && w.State == "up" {
				ready++
			}
		}
		if ready < len(workers) {
			return fmt.Errorf("%d of %d workers are ready", ready, len(workers))
		}
		return nil
	})
}

// awaitAnswers waits until every tenant's agents are at work: faults that come
// before hurt nobody, and on a busy machine that may be most of them.
func (f *fleet) awaitAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, beginTimeout, errors.New("the agents have no answer"))
	defer cancel()
	return f.await(ctx, "the first answers", func(ctx context.Context) error {
		for _, tenant := range tenants {
			results, err := f.operator.SubjectCounts(ctx, protocol.ResStream(0), "bf.res.0."+string(tenant)+".>")
			if err != nil {
				return err
			}
			if len(results) == 0 {
				return fmt.Errorf("tenant %s has none", tenant)
			}
		}
		return nil
	})
}

// leader is the server that leads a stream.
func (f *fleet) leader(ctx context.Context, stream string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s, err := f.operator.JS.Stream(ctx, stream)
	if err != nil {
		return "", fmt.Errorf("leader of %s: %w", stream, err)
	}
	if c := s.CachedInfo().Cluster; c != nil && c.Leader != "" {
		return c.Leader, nil
	}
	return "", fmt.Errorf("%s has no leader", stream)
}

func (f *fleet) process(name string) *process {
	for _, p := range f.processes {
		if p.name == name {
			return p
		}
	}
	return nil
}

// stop ends everything in order, and tells what did not end when asked.
func (f *fleet) stop() (late []string) {
	if f.operator != nil {
		f.operator.Close()
	}
	for _, r := range []role{roleWorker, roleCoordinator, roleStore, roleServer} {
		for _, p := range f.processes {
			if p.role == r {
				p.askToStop()
			}
		}
		for _, p := range f.processes {
			if p.role == r && p.stop(drainTimeout+stopGrace) {
				late = append(late, p.name)
			}
		}
	}
	for _, p := range f.processes {
		_ = p.log.Close()
	}
	for _, end := range []*os.File{f.pipe, f.stdin} {
		if end != nil {
			_ = end.Close()
		}
	}
	return late
}

// pause waits, or tells why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
