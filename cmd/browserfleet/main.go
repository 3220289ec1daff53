package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// app is what every command gets.
type app struct {
	out    io.Writer
	err    io.Writer
	parser *kong.Kong
}

// commands is the command line.
type commands struct {
	Dev  devCmd  `cmd:"" group:"fleet" help:"Run a whole fleet on this machine until Ctrl-C."`
	Demo demoCmd `cmd:"" group:"fleet" help:"Start a fleet, drive a browser through it, kill a worker, show what survives."`

	Open           openCmd           `cmd:"" group:"agent" help:"Open a page."`
	Observe        observeCmd        `cmd:"" group:"agent" help:"Look at the page."`
	Click          clickCmd          `cmd:"" group:"agent" help:"Click an element."`
	Hover          hoverCmd          `cmd:"" group:"agent" help:"Move the pointer over an element."`
	Drag           dragCmd           `cmd:"" group:"agent" help:"Drag an element to another one, or by a distance."`
	Fill           fillCmd           `cmd:"" group:"agent" help:"Replace the text of a field. Not for secrets."`
	FillCredential fillCredentialCmd `cmd:"" group:"agent" help:"Fill a secret that the fleet knows by name."`
	Press          pressCmd          `cmd:"" group:"agent" help:"Press a key."`
	Type           typeCmd           `cmd:"" group:"agent" help:"Type a text key by key."`
	Select         selectCmd         `cmd:"" group:"agent" help:"Choose options of a select."`
	Check          checkCmd          `cmd:"" group:"agent" help:"Tick a checkbox, radio or switch."`
	Uncheck        uncheckCmd        `cmd:"" group:"agent" help:"Untick a checkbox or switch."`
	Scroll         scrollCmd         `cmd:"" group:"agent" help:"Scroll the page."`
	Wait           waitCmd           `cmd:"" group:"agent" help:"Wait for something on the page."`
	Back           backCmd           `cmd:"" group:"agent" help:"Go back in the history."`
	Forward        forwardCmd        `cmd:"" group:"agent" help:"Go forward in the history."`
	Reload         reloadCmd         `cmd:"" group:"agent" help:"Load the page again."`
	Batch          batchCmd          `cmd:"" group:"agent" help:"Perform several actions as one effect."`
	Screenshot     screenshotCmd     `cmd:"" group:"agent" help:"Take a picture of the page."`
	Extract        extractCmd        `cmd:"" group:"agent" help:"Read a table, a list, the links or the article of the page."`
	Tabs           tabsCmd           `cmd:"" group:"agent" help:"List, open, show or close tabs."`
	Dialog         dialogCmd         `cmd:"" group:"agent" help:"Answer a dialog of the page, past the queue."`
	Emulate        emulateCmd        `cmd:"" group:"agent" help:"Pretend another device, language, place or network."`
	CDP            cdpCmd            `cmd:"" group:"agent" help:"Call a method of the Chrome DevTools Protocol that the operator allows."`
	Ping           pingCmd           `cmd:"" group:"agent" help:"Ask the environment whether it is there, past its queue."`
	Cancel         cancelCmd         `cmd:"" group:"agent" help:"Cancel a request that waits, or stop it."`
	Interrupt      interruptCmd      `cmd:"" group:"agent" help:"Stop the request that runs, if it is the named one."`
	Evidence       evidenceCmd       `cmd:"" group:"agent" help:"Show what was stored of the owner's actions."`
	Watch          watchCmd          `cmd:"" group:"agent" help:"Show the owner's events as they happen."`
	Result         resultCmd         `cmd:"" group:"agent" help:"Wait for the result of a request that was sent earlier."`

	MCP mcpCmd `cmd:"" name:"mcp" group:"agent" help:"Serve the owner's browser to a model, by the Model Context Protocol on standard input and output."`

	Acquire acquireCmd `cmd:"" group:"agent" help:"Open the environment and take a lease on it."`
	Release releaseCmd `cmd:"" group:"agent" help:"Give a lease up; after the last one the environment hibernates."`
	Close   closeCmd   `cmd:"" group:"agent" help:"Save and end the environment; the next action opens it again."`
	Delete  deleteCmd  `cmd:"" group:"agent" help:"Remove the environment's state for good."`
	Reset   resetCmd   `cmd:"" group:"agent" help:"Bring the environment back after it failed too often."`

	Owners   ownersCmd   `cmd:"" group:"operator" help:"List owners, or explain one."`
	Workers  workersCmd  `cmd:"" group:"operator" help:"List or drain workers."`
	Policies policiesCmd `cmd:"" group:"operator" help:"Read, write and explain the policies of tenants."`
	Doctor   doctorCmd   `cmd:"" group:"operator" help:"Check what a fleet on this machine needs."`
	Loadtest loadtestCmd `cmd:"" group:"operator" help:"Put load on a fleet and check its promises."`
	Bench    benchCmd    `cmd:"" group:"operator" help:"Measure what a fleet on this machine can do, with its bars."`
	Chaos    chaosCmd    `cmd:"" group:"operator" help:"Hurt a fleet of its own for a while and check its promises."`

	Nats        natsCmd        `cmd:"" group:"service" help:"Run, configure or provision NATS."`
	Store       storeCmd       `cmd:"" group:"service" help:"Run the embedded S3 store."`
	Coordinator coordinatorCmd `cmd:"" group:"service" help:"Run a coordinator."`
	Worker      workerCmd      `cmd:"" group:"service" help:"Run a worker."`

	Version versionCmd `cmd:"" help:"Print the version."`
}

const exitHelp = `Exit status: 0 it worked; 1 the action failed; 2 wrong usage; 3 the fleet cannot be reached; 4 no answer, the request may have been stored; 130 interrupted.`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program but for the process around it.
func run(args []string, out, errOut io.Writer) int {
	a := &app{out: out, err: errOut}
	exited := -1
	parser, err := kong.New(&commands{},
		kong.Name("browserfleet"),
		kong.Vars{"figures": figureNames()},
		kong.Description("Real browsers for agents, with durable state.\n\n"+exitHelp),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { exited = code; panic(exiting{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "fleet", Title: "A fleet on this machine"},
			{Key: "agent", Title: "What an agent does"},
			{Key: "operator", Title: "What an operator does"},
			{Key: "connection", Title: "Which fleet (default: the one that dev runs here)"},
			{Key: "service", Title: "Services (configured by BROWSERFLEET_* variables)"},
		}),
	)
	if err != nil {
		return a.fail(err)
	}
	a.parser = parser
	if len(args) == 0 {
		// What there is, but not a success: a script forgot its command.
		parser.Stdout = errOut
		_, _ = parse(parser, []string{"--help"})
		return exitUsage
	}
	command, err := parse(parser, args)
	switch {
	case exited >= 0: // --help
		return exited
	case err != nil:
		return a.fail(usageError(err))
	}
	return a.fail(command.Run(a))
}

type exiting struct{}

// parse parses; kong's exit (after --help) comes here as a panic, since what
// follows it must not run.
func parse(parser *kong.Kong, args []string) (ctx *kong.Context, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exiting); !ok {
				panic(r)
			}
		}
	}()
	return parser.Parse(args)
}

var errInterrupted = errors.New("interrupted")

// startInterrupts is a context that ends with the first Ctrl-C, SIGTERM or SIGHUP, and a
// channel that the second one closes. stop ends both.
func startInterrupts() (ctx context.Context, hurry <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that went away (dev | head) must not end a fleet without a clean stop.
	signal.Ignore(syscall.SIGPIPE)
	second, ended := make(chan struct{}), make(chan struct{})
	go func() {
		for _, do := range []func(){func() { cancel(errInterrupted) }, func() { close(second) }} {
			select {
			case <-signals:
				do()
			case <-ended:
				return
			}
		}
	}()
	return ctx, second, func() {
		signal.Stop(signals)
		close(ended)
		cancel(nil)
	}
}

// untilInterrupt is for what one signal ends.
func untilInterrupt() (context.Context, context.CancelFunc) {
	ctx, _, stop := startInterrupts()
	return ctx, stop
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }
