package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

// agent is what drives the browser. It sees what the fleet's answers show it.
type agent struct {
	owner *client.Owner
	out   io.Writer
	// page is the newest observation.
	page *protocol.Observation
	// shown limits how many elements of a page are printed.
	shown int

	requests []protocol.RequestID
	worker   protocol.WorkerID // of the newest result of a worker
	restored *protocol.Restored
}

// lookAgain are codes after which the page may be another one than the agent
// thinks, or the action may or may not have happened.
var lookAgain = []protocol.Code{
	protocol.CodeOutcomeUnknown, protocol.CodeGenerationChanged, protocol.CodeBrowserLost, protocol.CodeInterrupted,
	protocol.CodeStaleRef, protocol.CodeRefChanged, protocol.CodePageCrashed, protocol.CodeRendererUnresponsive,
	protocol.CodeEnvironmentUnstarted, protocol.CodeCheckpointStore, protocol.CodeActionTimeout, protocol.CodeNoCapacity,
	protocol.CodeObservationFailed,
}

// unsure is the error of an answer after which to look again.
type unsure struct{ code protocol.Code }

func (u *unsure) Error() string { return "the answer was " + string(u.code) }

// do sends one action and prints its answer.
func (a *agent) do(ctx context.Context, kind protocol.Kind, args protocol.Args, opts ...client.Option) (*protocol.Result, error) {
	ctx, trace := client.WithTrace(ctx)
	begun := time.Now()
	id := protocol.NewRequestID(begun)
	a.requests = append(a.requests, id)
	res, err := a.owner.Do(ctx, kind, args, append(opts, client.WithID(id))...)
	if err != nil {
		return nil, fmt.Errorf("%s has no answer: %w", kind, err)
	}
	a.note(res)
	view.Result(a.out, res, time.Since(begun), trace)
	if failure := client.Err(res); failure != nil {
		fmt.Fprintf(a.out, "  %s\n", view.Line(failure.Error(), 200))
		if slices.Contains(lookAgain, client.Code(failure)) {
			return res, &unsure{client.Code(failure)}
		}
		return res, fmt.Errorf("%s: %w", kind, failure)
	}
	if res.Observation != nil {
		a.print(res.Observation)
	}
	return res, nil
}

func (a *agent) note(res *protocol.Result) {
	if res.Observation != nil {
		a.page = res.Observation
	}
	if res.Worker != "" {
		a.worker = res.Worker
	}
	if res.Restored != nil {
		a.restored = res.Restored
	}
}

// print shows a page in the compact form, shortened.
func (a *agent) print(o *protocol.Observation) {
	short := *o
	short.ElementsTruncated, short.TextTruncated, short.Continuation = false, false, ""
	if len(short.Elements) > a.shown {
		short.Elements = short.Elements[:a.shown]
	}
	view.Observation(a.out, &short, 0)
	if rest := o.TotalElements - len(short.Elements); rest > 0 {
		fmt.Fprintf(a.out, "  … %d more elements, %d characters of text\n", rest, o.TotalTextChars)
	}
}

// find is the ref of the first element with this role and name; empty when the
// page shows none.
func (a *agent) find(role, name string) protocol.Ref {
	if a.page == nil {
		return ""
	}
	for _, e := range a.page.Elements {
		if e.Role == role && strings.EqualFold(e.Name, name) {
			return e.Ref
		}
	}
	return ""
}

// must is find that says what is missing.
func (a *agent) must(role, name string) (protocol.Ref, error) {
	if ref := a.find(role, name); ref != "" {
		return ref, nil
	}
	return "", fmt.Errorf("the page at %s shows no %s %q", a.url(), role, name)
}

func (a *agent) url() string {
	if a.page == nil {
		return ""
	}
	return a.page.URL
}

func (a *agent) shows(text string) bool { return a.page != nil && strings.Contains(a.page.Text, text) }

// at makes sure that the page is the one at url.
func (a *agent) at(ctx context.Context, url string) error {
	if a.url() == url {
		return nil
	}
	_, err := a.open(ctx, url)
	return err
}

func (a *agent) open(ctx context.Context, url string) (*protocol.Result, error) {
	return a.do(ctx, protocol.KindOpen, &protocol.OpenArgs{URL: url})
}

func (a *agent) click(ctx context.Context, ref protocol.Ref) error {
	_, err := a.do(ctx, protocol.KindClick, &protocol.ClickArgs{Target: a.target(ref)})
	return err
}

func (a *agent) fill(ctx context.Context, ref protocol.Ref, text string) error {
	_, err := a.do(ctx, protocol.KindFill, &protocol.FillArgs{Target: a.target(ref), Value: text})
	return err
}

func (a *agent) target(ref protocol.Ref) protocol.Target {
	return protocol.Target{ElementRef: ref, ObservationID: a.page.ID}
}

// arrive looks until the page's URL begins with prefix: an answer may come before
// a slow page does.
func (a *agent) arrive(ctx context.Context, prefix string) error {
	if strings.HasPrefix(a.url(), prefix) {
		return nil
	}
	if _, err := a.do(ctx, protocol.KindWait, &protocol.WaitArgs{Until: "url", URL: prefix, TimeoutMS: 5000}); err != nil {
		return err
	}
	if !strings.HasPrefix(a.url(), prefix) {
		return fmt.Errorf("at %s, not at %s", a.url(), prefix)
	}
	return nil
}
