package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

type natsCmd struct {
	Serve     natsServeCmd     `cmd:"" default:"1" help:"Run a NATS server from its configuration file (the default)."`
	Config    natsConfigCmd    `cmd:"" help:"Write a NATS server's configuration."`
	Provision natsProvisionCmd `cmd:"" help:"Create the fleet's streams, as an operator."`
}

// natsConfigCmd prints a configuration. It holds passwords: it goes to a file of
// mode 0600, or to standard output when that is asked for.
type natsConfigCmd struct {
	Tenants    []string `help:"Tenants, each an account of its own." required:""`
	Agent      []string `help:"TENANT/OWNER: a user that is bound to one owner. May be repeated." sep:"none"`
	Shards     string   `help:"Shards of the streams, fixed at birth: their number, then TENANT=SHARD for each tenant with one of its own, as 6,acme=4,zed=5." default:"1"`
	Listen     string   `help:"Address for clients." default:"127.0.0.1:4222"`
	StoreDir   string   `help:"Folder of JetStream's files." default:"/var/lib/browserfleet/nats"`
	ServerName string   `help:"Name of the server; unique in a cluster."`
	SyncAlways bool     `help:"Every write waits for the disk: what a single server needs to keep its promises across a power cut."`
	Out        string   `short:"f" help:"File to write, 0600; - is standard output." default:"-"`
	Passwords  string   `help:"Folder with one file a user (nats-USER), 0600. Missing ones are made. Without it, random passwords stand in the configuration alone."`
}

// Run writes the configuration.
func (c *natsConfigCmd) Run(a *app) error {
	o, err := c.options()
	if err != nil {
		return usageError(err)
	}
	if o.Passwords, err = passwords(c.Passwords, o); err != nil {
		return err
	}
	text, err := deploy.Config(o)
	if err != nil {
		return usageError(err)
	}
	if c.Out == "-" {
		a.printf("%s", text)
		return nil
	}
	f, err := os.OpenFile(c.Out, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Chmod(0o600); err != nil { // it may have been there before
		return fmt.Errorf("write the configuration: %w", err)
	}
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

func (c *natsConfigCmd) options() (deploy.Options, error) {
	shards, err := protocol.ParseShards(c.Shards)
	if err != nil {
		return deploy.Options{}, fmt.Errorf("--shards: %w", err)
	}
	o := deploy.Options{
		Shards: shards, Listen: c.Listen, StoreDir: c.StoreDir, ServerName: c.ServerName, SyncAlways: c.SyncAlways,
	}
	agents := map[string][]protocol.Owner{}
	for _, a := range c.Agent {
		tenant, owner, ok := strings.Cut(a, "/")
		if !ok {
			return o, fmt.Errorf("--agent %q: want TENANT/OWNER", a)
		}
		agents[tenant] = append(agents[tenant], protocol.Owner(owner))
	}
	for _, t := range c.Tenants {
		o.Tenants = append(o.Tenants, deploy.Tenant{Name: protocol.Tenant(t), Agents: agents[t]})
		delete(agents, t)
	}
	for t := range agents {
		return o, fmt.Errorf("--agent %s/…: there is no tenant %q in --tenants", t, t)
	}
	return o, nil
}

// passwords reads a folder of passwords and makes the missing ones.
func passwords(dir string, o deploy.Options) (deploy.Passwords, error) {
	made := deploy.GeneratePasswords(o)
	if dir == "" {
		return made, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("passwords: %w", err)
	}
	for user, password := range made {
		path := dir + "/nats-" + user
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			made[user] = natsx.Secret(strings.TrimSpace(string(text)))
		case os.IsNotExist(err):
			if err := os.WriteFile(path, []byte(string(password)+"\n"), 0o600); err != nil {
				return nil, fmt.Errorf("passwords: %w", err)
			}
		default:
			return nil, fmt.Errorf("passwords: %w", err)
		}
	}
	return made, nil
}

// natsProvisionCmd creates the streams.
type natsProvisionCmd struct {
	URL          string        `name:"nats" help:"URL of the server." default:"nats://127.0.0.1:4222" env:"BROWSERFLEET_NATS_URL"`
	User         string        `help:"User with the operator's rights." default:"operator"`
	PasswordFile string        `help:"File with the user's password." required:"" type:"existingfile"`
	Shards       string        `help:"Shards of the streams, fixed at birth: their number, then TENANT=SHARD for each tenant with one of its own, as 6,acme=4,zed=5." default:"1" env:"BROWSERFLEET_SHARDS"`
	Replicas     int           `help:"Replicas of each stream: 3 in a cluster." default:"1"`
	Timeout      time.Duration `help:"How long to try." default:"30s"`
}

// Run provisions; doing it twice changes nothing.
func (c *natsProvisionCmd) Run(a *app) error {
	shards, err := protocol.ParseShards(c.Shards)
	if err != nil {
		return usageError(fmt.Errorf("--shards: %w", err))
	}
	text, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return usageError(err)
	}
	ctx, stop := untilInterrupt()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := natsx.Connect(ctx, natsx.Options{
		URL: c.URL, Name: "browserfleet nats provision", User: c.User,
		Password: natsx.Secret(strings.TrimSpace(string(text))), InboxPrefix: deploy.Inbox(c.User),
	})
	if err != nil {
		return unreachableError(err)
	}
	defer conn.Close()
	if err := conn.Provision(ctx, shards, c.Replicas); err != nil {
		return err
	}
	a.printf("the streams of %d shards are there\n", shards.Total)
	return nil
}
