package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

// verb is what most verbs share.
type verb struct {
	agentFlags
	observeFlags
	tabFlag
	format
}

// run sends one request.
func (v *verb) run(a *app, kind protocol.Kind, args func(s *session) protocol.Args) error {
	return v.act(a, v.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
		var made protocol.Args
		if args != nil {
			made = args(s)
		}
		return s.do(ctx, kind, made, append(v.tabFlag.options(), client.WithObserve(v.observeFlags.options()))...)
	})
}

type openCmd struct {
	verb
	URL string `arg:"" help:"Absolute http or https URL."`
}

func (c *openCmd) Run(a *app) error {
	if err := absolute(c.URL); err != nil {
		return err
	}
	return c.run(a, protocol.KindOpen, func(*session) protocol.Args { return &protocol.OpenArgs{URL: c.URL} })
}

// absolute says what is wrong with what is no URL at all; which URLs are allowed is
// the egress policy's.
func absolute(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return usageError(fmt.Errorf("%q cannot be read as a URL: %w", view.Line(text, 80), errors.Unwrap(err)))
	case strings.Contains(text, "://") || u.Scheme != "" && u.Opaque != "" && !strings.ContainsAny(u.Scheme, ".") && u.Scheme != "localhost":
		return nil
	}
	return usageError(fmt.Errorf("%q has no scheme: want an absolute URL, such as https://%s", view.Line(text, 80), view.Line(strings.TrimLeft(text, "/"), 80)))
}

type observeCmd struct {
	verb
	Part   string `arg:"" optional:"" help:"Only what is in this element or record, such as e12 or g3."`
	Frame  string `help:"Only this frame, by its id." placeholder:"ID"`
	Search string `help:"Where this text is found, and the elements whose name has it." placeholder:"TEXT"`
	Role   string `help:"Only elements of this role." placeholder:"ROLE"`
	Next   bool   `help:"The next slice of what was observed last, as the page was then."`
}

// args are those of the request.
func (c *observeCmd) args(s *session) *protocol.ObserveArgs {
	args := &protocol.ObserveArgs{FrameID: protocol.FrameID(c.Frame), Search: c.Search, Role: c.Role}
	if strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(c.Part, "@"), "ref="), "g") {
		args.GroupRef = protocol.GroupRef(c.Part)
	} else {
		args.Target = s.target(c.Part)
	}
	return args
}

func (c *observeCmd) Run(a *app) error {
	if c.Next {
		return c.act(a, c.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
			next := s.memory.observation(s.owner.ID()).Continuation
			if next == "" {
				return nil, usageError(errors.New("nothing is left of what was observed last"))
			}
			return s.do(ctx, protocol.KindObserveNext, &protocol.ObserveNextArgs{Continuation: next})
		})
	}
	return c.run(a, protocol.KindObserve, func(s *session) protocol.Args { return c.args(s) })
}

type fillCmd struct {
	verb
	Ref  string `arg:"" help:"Field, such as e3."`
	Text string `arg:"" help:"Its new text; - reads standard input."`
}

func (c *fillCmd) Run(a *app) error {
	text := c.Text
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(os.Stdin, protocol.MaxValueBytes+1))
		if err != nil {
			return fmt.Errorf("read the text: %w", err)
		}
		text = strings.TrimSuffix(string(read), "\n")
	}
	return c.run(a, protocol.KindFill, func(s *session) protocol.Args { return &protocol.FillArgs{Target: s.target(c.Ref), Value: text} })
}

type fillCredentialCmd struct {
	verb
	Ref  string `arg:"" help:"Field, such as e3."`
	Name string `arg:"" help:"Name of the credential."`
}

func (c *fillCredentialCmd) Run(a *app) error {
	return c.run(a, protocol.KindFillCredential, func(s *session) protocol.Args {
		return &protocol.FillCredentialArgs{Target: s.target(c.Ref), CredentialRef: c.Name}
	})
}

type pressCmd struct {
	verb
	Key string `arg:"" help:"Enter, Escape, Tab, ArrowDown… or a chord: Control+A, Shift+Tab…"`
	Ref string `arg:"" optional:"" help:"Element; without it where the focus is."`
}

func (c *pressCmd) Run(a *app) error {
	return c.run(a, protocol.KindPress, func(s *session) protocol.Args { return &protocol.PressArgs{Target: s.target(c.Ref), Key: c.Key} })
}

type typeCmd struct {
	verb
	Text  string `arg:"" help:"Text; a line break is Enter."`
	Ref   string `arg:"" optional:"" help:"Element; without it where the focus is."`
	Delay int64  `help:"Milliseconds between two keys." name:"delay-ms" placeholder:"N"`
}

func (c *typeCmd) Run(a *app) error {
	return c.run(a, protocol.KindType, func(s *session) protocol.Args {
		return &protocol.TypeArgs{Target: s.target(c.Ref), Text: c.Text, DelayMS: c.Delay}
	})
}

type selectCmd struct {
	verb
	Ref    string   `arg:"" help:"Select, such as e5."`
	Values []string `arg:"" help:"Values or labels of options."`
}

func (c *selectCmd) Run(a *app) error {
	return c.run(a, protocol.KindSelect, func(s *session) protocol.Args {
		return &protocol.SelectArgs{Target: s.target(c.Ref), Values: c.Values}
	})
}

type checkCmd struct {
	verb
	Ref string `arg:"" help:"Checkbox, radio or switch, such as e7."`
}

func (c *checkCmd) Run(a *app) error { return c.set(a, c.Ref, true) }

type uncheckCmd struct {
	verb
	Ref string `arg:"" help:"Checkbox or switch, such as e7."`
}

func (c *uncheckCmd) Run(a *app) error { return c.set(a, c.Ref, false) }

func (v *verb) set(a *app, ref string, checked bool) error {
	return v.run(a, protocol.KindCheck, func(s *session) protocol.Args {
		if !checked {
			s.as = "uncheck"
		}
		return &protocol.CheckArgs{Target: s.target(ref), Checked: &checked}
	})
}

type scrollCmd struct {
	verb
	To    string  `arg:"" help:"up, down, top, bottom or element."`
	Ref   string  `arg:"" optional:"" help:"Element to bring into view."`
	Pages float64 `help:"Viewport heights, for up and down." default:"1"`
}

func (c *scrollCmd) Run(a *app) error {
	return c.run(a, protocol.KindScroll, func(s *session) protocol.Args {
		return &protocol.ScrollArgs{Target: s.target(c.Ref), To: c.To, Pages: c.Pages}
	})
}

type waitCmd struct {
	verb
	Until string `arg:"" help:"load, network-idle, quiet, text, url, element-visible or element-hidden."`
	What  string `arg:"" optional:"" help:"The text, the part of the URL, or the element."`
	Role  string `help:"Role of an element that was not observed yet, such as button." placeholder:"ROLE"`
	Name  string `help:"Part of its name." placeholder:"TEXT"`
	For   int64  `help:"Milliseconds to wait, at most 30000." name:"for-ms" default:"10000"`
}

func (c *waitCmd) Run(a *app) error {
	return c.run(a, protocol.KindWait, func(s *session) protocol.Args {
		args := &protocol.WaitArgs{Until: c.Until, TimeoutMS: c.For, Role: c.Role, Name: c.Name}
		switch c.Until {
		case "text":
			args.Text = c.What
		case "url":
			args.URL = c.What
		default:
			args.Target = s.target(c.What)
		}
		s.waited = c.waitedFor()
		return args
	})
}

// waitedFor is what came.
func (c *waitCmd) waitedFor() string {
	switch {
	case c.Role != "":
		return fmt.Sprintf("%s %s %q", c.Until, view.Line(c.Role, 40), view.Line(c.Name, 80))
	case c.What == "":
		return c.Until
	case c.Until == "text", c.Until == "url":
		return fmt.Sprintf("%s %q", c.Until, view.Line(c.What, 80))
	}
	return c.Until + " " + view.Line(c.What, 20)
}

type backCmd struct{ verb }

func (c *backCmd) Run(a *app) error { return c.run(a, protocol.KindBack, nil) }

type forwardCmd struct{ verb }

func (c *forwardCmd) Run(a *app) error { return c.run(a, protocol.KindForward, nil) }

type reloadCmd struct{ verb }

func (c *reloadCmd) Run(a *app) error { return c.run(a, protocol.KindReload, nil) }

type pingCmd struct {
	agentFlags
	format
}

func (c *pingCmd) Run(a *app) error {
	return c.act(a, c.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
		return s.do(ctx, protocol.KindPing, nil)
	})
}

type cancelCmd struct {
	agentFlags
	format
	Request string `arg:"" help:"Id of the request."`
}

func (c *cancelCmd) Run(a *app) error {
	return c.act(a, c.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
		return s.do(ctx, protocol.KindCancel, &protocol.CancelArgs{Request: protocol.RequestID(c.Request)})
	})
}

type interruptCmd struct {
	agentFlags
	format
	Request string `arg:"" help:"Id of the request."`
}

func (c *interruptCmd) Run(a *app) error {
	return c.act(a, c.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
		return s.do(ctx, protocol.KindInterrupt, &protocol.InterruptArgs{Request: protocol.RequestID(c.Request)})
	})
}

type resultCmd struct {
	agentFlags
	format
	Request string `arg:"" help:"Id of the request."`
}

func (c *resultCmd) Run(a *app) error {
	return c.act(a, c.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
		return s.owner.Reattach(ctx, protocol.RequestID(c.Request))
	})
}
