package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

// defaultOwner is used when none was named before.
const defaultOwner = "me"

// agentFlags are what every verb of an agent has.
type agentFlags struct {
	reach
	Owner   string        `help:"Whose environment (default: the one used last, or me)." env:"BROWSERFLEET_OWNER"`
	Timeout time.Duration `help:"End the wait after this time (default: when the answer comes); the request goes on." placeholder:"DURATION"`
	Budget  time.Duration `help:"How long the action may run (default 60s)." placeholder:"DURATION"`
}

// observeFlags shape the observation in the answer.
type observeFlags struct {
	Mode        string `help:"How much of the page: summary, interactive or document." enum:"summary,interactive,document" default:"summary"`
	MaxText     *int   `help:"Characters of text." placeholder:"N"`
	MaxElements *int   `help:"Elements." placeholder:"N"`
	Since       string `help:"Only what changed since this observation, where that is less." placeholder:"ID"`
}

func (o *observeFlags) options() protocol.ObserveOptions {
	return protocol.ObserveOptions{Mode: protocol.Mode(o.Mode), MaxTextChars: o.MaxText, MaxElements: o.MaxElements, Since: protocol.ObservationID(o.Since)}
}

// session is one verb's connection.
type session struct {
	app    *app
	flags  *agentFlags
	json   bool
	client *client.Client
	owner  *client.Owner
	memory memory
	trace  string
	begun  time.Time
	// as is what the verb is called, where its kind has another name; waited is
	// what a wait was for.
	as, waited string
	// tabs: the tabs are what was asked for.
	tabs bool
}

// act connects, runs the verb's request, and shows its result.
func (f *agentFlags) act(a *app, asJSON bool, do func(ctx context.Context, s *session) (*protocol.Result, error)) error {
	ctx, stop := untilInterrupt()
	defer stop()
	s, err := f.open(ctx, a, asJSON)
	if err != nil {
		return err
	}
	defer s.client.Close()
	if f.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.Timeout)
		defer cancel()
	}
	ctx, told, err := startTelemetry(ctx, "client", "browserfleet")
	if err != nil {
		return err
	}
	defer told()
	ctx, s.trace = client.WithTrace(ctx)
	s.begun = time.Now()
	done := view.StartProgress(os.Stderr, "waiting for the fleet")
	res, err := do(ctx, s)
	done()
	if err != nil {
		return s.noResult(err)
	}
	return s.show(res)
}

func (f *agentFlags) open(ctx context.Context, a *app, asJSON bool) (*session, error) {
	folder, err := f.folder()
	if err != nil {
		return nil, err
	}
	user := "default"
	if f.explicit() {
		user = "named"
	}
	s := &session{app: a, flags: f, json: asJSON, memory: memory{folder.Path("client", user)}}
	owner := protocol.Owner(f.Owner)
	if owner == "" {
		owner = s.memory.lastOwner()
	}
	if owner == "" {
		owner = defaultOwner
	}
	if _, err := protocol.ParseOwner(string(owner)); err != nil {
		return nil, usageError(err)
	}
	if s.client, err = connectAgent(ctx, &f.reach); err != nil {
		return nil, err
	}
	s.owner = s.client.Owner(owner)
	return s, nil
}

// target is an element of the newest observation that this owner was shown.
func (s *session) target(ref string) protocol.Target {
	t := protocol.Target{ElementRef: protocol.Ref(ref)}
	if ref != "" {
		t.ObservationID = s.memory.observation(s.owner.ID()).Observation
	}
	return t
}

// do sends a request. Arguments are checked here too: what cannot be right needs
// no fleet.
func (s *session) do(ctx context.Context, kind protocol.Kind, args protocol.Args, opts ...client.Option) (*protocol.Result, error) {
	if args != nil {
		if err := args.Validate(); err != nil {
			return nil, usageError(err)
		}
	}
	if s.flags.Budget > 0 {
		opts = append(opts, client.WithBudget(s.flags.Budget))
	}
	return s.owner.Do(ctx, kind, args, opts...)
}

// answer is what -o json prints.
type answer struct {
	TraceID string             `json:"trace_id"`
	Request protocol.RequestID `json:"request,omitempty"`
	Result  *protocol.Result   `json:"result,omitempty"`
	Error   *protocol.Error    `json:"error,omitempty"`
}

// show writes a result. A status other than ok is an error for the shell.
func (s *session) show(res *protocol.Result) error {
	s.keep(res)
	failure := s.failure(res)
	if s.json {
		if err := view.JSON(s.app.out, answer{TraceID: s.trace, Request: res.Request, Result: res}); err != nil {
			return err
		}
	} else {
		s.write(res)
	}
	if failure != nil {
		return &exitError{exitFailed, failure}
	}
	return nil
}

// keep remembers what the agent was shown.
func (s *session) keep(res *protocol.Result) {
	if res.Restored != nil && res.Observation == nil {
		s.memory.forget(s.owner.ID())
	}
	if err := s.memory.remember(s.owner.ID(), res.Observation); err != nil {
		fmt.Fprintf(s.app.err, "browserfleet: %v\n", err)
	}
}

// maxShownText is how much of a page's text a terminal gets unless asked for
// more, in characters.
const maxShownText = 1200

func (s *session) write(res *protocol.Result) {
	view.Result(s.app.out, s.called(res), time.Since(s.begun), s.trace)
	if x := res.Extraction; x != nil {
		view.Extraction(s.app.out, x)
		return
	}
	if s.tabs && res.Observation != nil {
		view.Tabs(s.app.out, res.Observation)
		return
	}
	if len(res.Data) > 0 && res.Kind == protocol.KindCDP {
		_ = view.JSON(s.app.out, res.Data) // whole: it is what was asked for
		return
	}
	if len(res.Data) > 0 {
		s.app.printf("%s\n", view.Line(string(res.Data), 1000))
	}
	if o := res.Observation; o != nil && res.Screenshot == nil {
		limit := maxShownText
		if o.Mode == protocol.ModeDocument || res.Kind == protocol.KindObserveNext {
			limit = protocol.MaxTextChars
		}
		view.Observation(s.app.out, o, limit)
	}
}

// failure is the result's error, with what else the result knows of the reason.
func (s *session) failure(res *protocol.Result) error {
	failure := client.Err(res)
	var known *protocol.Error
	if !errors.As(failure, &known) {
		return failure
	}
	told := *known
	switch {
	case known.Code == protocol.CodeWaitTimeout && s.waited != "":
		told.Message = s.waited + " did not come in time"
	case known.Code == protocol.CodeNavigationFailed && res.Transition != nil && len(res.Transition.Denied) > 0:
		d := res.Transition.Denied[0]
		if strings.Contains(known.Message, d.Reason) {
			return failure
		}
		told.Message = fmt.Sprintf("%s:%d: %s (%s)", view.Line(d.Host, 100), d.Port, d.Reason, known.Message)
	}
	return &told
}

// called is the result in the words of the command line.
func (s *session) called(res *protocol.Result) *protocol.Result {
	named := *res
	if s.as != "" {
		named.Kind = protocol.Kind(s.as)
	}
	if s.waited != "" && res.Status == protocol.StatusOK {
		named.Verdict = protocol.Verdict(s.waited + " came")
	}
	return &named
}

// noResult says why there is none.
func (s *session) noResult(err error) error {
	var none *client.NoResult
	if s.json && errors.As(err, &none) {
		if err := view.JSON(s.app.out, answer{TraceID: s.trace, Request: none.Request, Error: none.Err}); err != nil {
			return err
		}
	}
	return err
}
