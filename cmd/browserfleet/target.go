package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/deploy"
)

// connectTimeout bounds finding the fleet.
const connectTimeout = 5 * time.Second

// reach says which fleet is meant: the one that dev runs on the data folder, or
// a server that the flags name.
type reach struct {
	dataFlag
	Nats         string `group:"connection" help:"URL of NATS, in place of the fleet that dev runs here." env:"BROWSERFLEET_NATS_URL" placeholder:"URL"`
	NatsContext  string `group:"connection" help:"NATS context file with URL and credentials." env:"BROWSERFLEET_NATS_CONTEXT" type:"existingfile"`
	User         string `group:"connection" help:"NATS user (with --nats)." placeholder:"NAME"`
	PasswordFile string `group:"connection" help:"File with the user's password (with --nats)." type:"existingfile"`
	Creds        string `group:"connection" help:"NATS credentials file (with --nats)." type:"existingfile"`
}

// format is how the answer is written.
type format struct {
	Output string `short:"o" help:"text or json." enum:"text,json" default:"text"`
}

func (f *format) json() bool { return f.Output == "json" }

// explicit tells whether flags name the server.
func (r *reach) explicit() bool { return r.Nats != "" || r.NatsContext != "" }

// agent is how to connect as a tenant's user.
func (r *reach) agent() (client.Options, error) {
	if r.explicit() {
		return r.named()
	}
	folder, running, err := r.running()
	if err != nil {
		return client.Options{}, err
	}
	return folder.Agent(running)
}

// operator is how to connect as a user of the fleet's own account.
func (r *reach) operator() (client.Options, error) {
	if r.explicit() {
		return r.named()
	}
	folder, running, err := r.running()
	if err != nil {
		return client.Options{}, err
	}
	return folder.Operator(running)
}

func (r *reach) running() (devfleet.Folder, *devfleet.Running, error) {
	folder, err := r.folder()
	if err != nil {
		return "", nil, err
	}
	running, err := folder.Running()
	return folder, running, err
}

func (r *reach) named() (client.Options, error) {
	o := client.Options{URL: r.Nats, ContextFile: r.NatsContext, User: r.User, CredsFile: r.Creds, Name: "browserfleet"}
	if r.User != "" {
		o.InboxPrefix = deploy.Inbox(r.User)
	}
	if r.PasswordFile != "" {
		text, err := os.ReadFile(r.PasswordFile)
		if err != nil {
			return o, usageError(err)
		}
		o.Password = client.Secret(strings.TrimSpace(string(text)))
	}
	return o, nil
}

func connectAgent(ctx context.Context, r *reach) (*client.Client, error) {
	o, err := r.agent()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := client.Connect(ctx, o)
	if err != nil {
		return nil, unreachableError(err)
	}
	return c, nil
}

func connectOperator(ctx context.Context, r *reach) (*client.Operator, error) {
	o, err := r.operator()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := client.ConnectOperator(ctx, o)
	if err != nil {
		return nil, unreachableError(fmt.Errorf("as operator: %w", err))
	}
	return c, nil
}
