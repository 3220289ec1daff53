package figures

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/protocol"
)

// supervised runs something, for each repeat, with a real browser that may open a site
// of the figure's own.
func (b *bench) supervised(ctx context.Context, site *httptest.Server, do func(*fleet, *client.Owner) error) error {
	o := devfleet.Options{Workers: 1, Slots: 4, Browser: service.BrowserChrome, Allow: []string{strings.TrimPrefix(site.URL, "http://")}}
	return b.withFleet(ctx, o, func(f *fleet) error {
		owner := f.newOwners(1)[0]
		if err := open(ctx, owner, site.URL+"/"); err != nil {
			return err
		}
		for n := range b.repeats {
			if err := do(f, owner); err != nil {
				return fmt.Errorf("repeat %d: %w", n+1, err)
			}
		}
		return nil
	})
}

// asking asks, and tells when it began to ask and when it went on, in ms since 1970.
const asking = `<button onclick="const at=()=>performance.timeOrigin+performance.now();const a=at();alert(1);const b=at();fetch('/told?asked='+a+'&resumed='+b)">Ask</button>`

// dialog: a click opens an alert; the agent answers it.
func dialog(ctx context.Context, b *bench) ([]Row, error) {
	type told struct{ asked, resumed float64 }
	heard := make(chan told, 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/told" {
			var t told
			var errs [2]error
			t.asked, errs[0] = strconv.ParseFloat(r.FormValue("asked"), 64)
			t.resumed, errs[1] = strconv.ParseFloat(r.FormValue("resumed"), 64)
			if errors.Join(errs[:]...) == nil {
				heard <- t
			}
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(asking))
	}))
	defer site.Close()
	var visible, resumed []time.Duration
	err := b.supervised(ctx, site, func(_ *fleet, o *client.Owner) error {
		res, err := observe(ctx, o)
		if err != nil {
			return err
		}
		res, err = o.Click(ctx, res.Observation.Elements[0].Ref)
		shown := millis(time.Now())
		if err := outcome(res, err); err != nil {
			return err
		}
		if len(res.Observation.PendingDialogs) != 1 {
			return fmt.Errorf("the click's result shows %d dialogs", len(res.Observation.PendingDialogs))
		}
		answered := millis(time.Now())
		res, err = o.Dialog(ctx, res.Observation.PendingDialogs[0].ID, protocol.DialogAccept, nil)
		if err := outcome(res, err); err != nil {
			return err
		}
		select {
		case t := <-heard:
			visible = append(visible, span(t.asked, shown))
			resumed = append(resumed, span(answered, t.resumed))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		sorted(visible).rowMS("alert() to the agent's having the dialog, p50", 0.50, 50),
		sorted(visible).rowMS("alert() to the agent's having the dialog, p95", 0.95, 0),
		sorted(resumed).rowMS("the agent's answer to the page's next statement, p50", 0.50, 60),
		sorted(resumed).rowMS("the agent's answer to the page's next statement, p95", 0.95, 0),
	}, nil
}

func millis(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

// span is between two clocks of one machine.
func span(from, to float64) time.Duration {
	return time.Duration((to - from) * float64(time.Millisecond))
}

// rowMS is of samples that are one a repeat, in milliseconds.
func (s samples) rowMS(what string, q, bar float64) Row {
	return Row{
		What: what, Unit: "ms", Median: milliseconds(s.quantile(q)), Low: milliseconds(s.quantile(0)), High: milliseconds(s.quantile(1)),
		Repeats: len(s), Samples: len(s), Bar: bar,
	}
}

// lateBudget is the run budget of an action that cannot end by itself.
const lateBudget = time.Second

// late: a click begins a loop without an end; its answer must come when its budget is over.
func late(ctx context.Context, b *bench) ([]Row, error) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<button onclick="for(;;);">Loop</button>`))
	}))
	defer site.Close()
	var over []time.Duration
	err := b.supervised(ctx, site, func(_ *fleet, o *client.Owner) error {
		if err := open(ctx, o, site.URL+"/"); err != nil {
			return err
		}
		res, err := observe(ctx, o)
		if err != nil {
			return err
		}
		begun := time.Now()
		res, err = o.Click(ctx, res.Observation.Elements[0].Ref, client.WithBudget(lateBudget))
		if err != nil {
			return err
		}
		if res.Status == protocol.StatusOK {
			return errors.New("the click ended by itself")
		}
		over = append(over, time.Since(begun)-lateBudget)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		sorted(over).rowMS("answer after the end of its budget, page in a loop, p50", 0.50, 0),
		sorted(over).rowMS("answer after the end of its budget, page in a loop, at most", 1, 100),
	}, nil
}

// died: SIGKILL to the browser of an environment with a checkpoint; the agent looks.
func died(ctx context.Context, b *bench) ([]Row, error) {
	return b.recover(ctx, "browser killed", func(f *fleet, o *client.Owner) error {
		_, child, err := f.holder(ctx, o)
		if err != nil {
			return err
		}
		pid, err := f.browserOf(child, o.ID())
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	})
}

// wedged: the frame of an open dialog is taken away, which stops the whole process as
// soon as anybody answers; the browser is replaced.
func wedged(ctx context.Context, b *bench) ([]Row, error) {
	return b.recover(ctx, "dialog of a removed frame", func(_ *fleet, o *client.Owner) error {
		res, err := observe(ctx, o)
		if err != nil {
			return err
		}
		for _, e := range res.Observation.Elements {
			if e.Name == "Wedge" {
				_, err = o.Click(ctx, e.Ref)
				return err
			}
		}
		return errors.New("no button to wedge it with")
	})
}

// recover measures from a fault to the first look at a restored environment.
func (b *bench) recover(ctx context.Context, what string, hurt func(*fleet, *client.Owner) error) ([]Row, error) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/child" {
			_, _ = w.Write([]byte(`<script>onmessage=()=>confirm('x')</script>`))
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "kept", Value: strconv.FormatInt(time.Now().UnixNano(), 36), Path: "/"})
		port := r.Host[strings.LastIndexByte(r.Host, ':'):]
		_, _ = fmt.Fprintf(w, `<iframe id=f src="http://localhost%s/child"></iframe>
			<button onclick="f.contentWindow.postMessage(1,'*');setTimeout(()=>f.remove(),300)">Wedge</button>`, port)
	}))
	defer site.Close()
	var took []time.Duration
	o := devfleet.Options{Workers: 1, Slots: 4, Browser: service.BrowserChrome, Allow: []string{
		strings.TrimPrefix(site.URL, "http://"), "localhost" + site.URL[strings.LastIndexByte(site.URL, ':'):],
	}}
	err := b.withFleet(ctx, o, func(f *fleet) error {
		for n := range b.repeats {
			owner := f.newOwners(1)[0]
			if err := open(ctx, owner, site.URL+"/"); err != nil {
				return err
			}
			if err := hurt(f, owner); err != nil {
				return fmt.Errorf("repeat %d: %w", n+1, err)
			}
			begun := time.Now()
			if err := restored(ctx, owner); err != nil {
				return fmt.Errorf("repeat %d: %w", n+1, err)
			}
			took = append(took, time.Since(begun))
			b.say("%d of %d: %s", n+1, b.repeats, took[n].Round(time.Millisecond))
			closing, cancel := context.WithTimeout(ctx, actTimeout)
			err := owner.Close(closing)
			cancel()
			if err != nil {
				return fmt.Errorf("repeat %d: close: %w", n+1, err)
			}
			owner.Forget()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		sorted(took).row(what+": the environment answers again, p50", 0.50, 0),
		sorted(took).row(what+": the environment answers again, p95", 0.95, 3),
	}, nil
}

// restored looks until the second generation answers, with what the first one kept. A
// look that was under way is lost with its browser.
func restored(ctx context.Context, o *client.Owner) error {
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	for kept := false; ; {
		res, err := o.Observe(ctx)
		if err != nil {
			return err
		}
		kept = kept || res.Restored != nil && res.Restored.CheckpointAt != nil
		switch err := client.Err(res); {
		case err == nil && res.Generation > 1 && kept:
			return nil
		case err == nil && res.Generation > 1:
			return errors.New("it was not restored from a checkpoint")
		case err != nil && client.Code(err) != protocol.CodeBrowserLost:
			return err
		}
	}
}

var openedBrowser = regexp.MustCompile(`msg="opened a browser" owner=[^ /]+/([^ ]+) generation=\d+ pid=(\d+)`)

// browserOf is the process of an owner's browser, as its worker's log tells.
func (f *fleet) browserOf(child string, owner protocol.Owner) (pid int, err error) {
	text, err := os.ReadFile(f.folder.Log(child))
	if err != nil {
		return 0, err
	}
	for _, m := range openedBrowser.FindAllStringSubmatch(string(text), -1) {
		if m[1] == string(owner) {
			if pid, err = strconv.Atoi(m[2]); err != nil {
				return 0, err
			}
		}
	}
	if pid == 0 {
		return 0, fmt.Errorf("%s does not tell of a browser of %s", child, owner)
	}
	return pid, nil
}
