package service

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/internal/hostload"
	"github.com/browserfleet/browserfleet/worker"
	"github.com/browserfleet/browserfleet/worker/chrome"
)

// Limits bound what a worker takes, and for how long it keeps a browser.
type Limits struct {
	MinFreeMemoryMB int64         `split_words:"true" default:"256" desc:"with less free memory than this, in MiB, the worker takes no more owners; 0 is no bound"`
	MaxCPULoad      float64       `split_words:"true" default:"16" desc:"with a higher one-minute load for each CPU the worker takes no more owners; 0 is no bound"`
	RecycleAge      time.Duration `split_words:"true" default:"24h" desc:"a browser that is older is replaced between actions, with its state kept; 0 is never"`
	RecycleMemoryMB int64         `split_words:"true" default:"2048" desc:"the same for a browser whose processes hold more memory, in MiB; 0 is no limit"`
	RecycleActions  int           `split_words:"true" default:"10000" desc:"the same for a browser that has done more actions; 0 is no limit"`
	Labels          Labels        `desc:"name=value, separated by commas, for placement"`
}

func (c *Limits) check(p *problems) {
	if c.MinFreeMemoryMB < 0 || c.MaxCPULoad < 0 || c.RecycleAge < 0 || c.RecycleMemoryMB < 0 || c.RecycleActions < 0 {
		p.add("MIN_FREE_MEMORY_MB", "and MAX_CPU_LOAD, RECYCLE_AGE, RECYCLE_MEMORY_MB, RECYCLE_ACTIONS: want 0 or more")
	}
}

func (c *Limits) admission() worker.Admission {
	return worker.Admission{MinFreeMemory: c.MinFreeMemoryMB, MaxLoad: c.MaxCPULoad}
}

func (c *Limits) browsers() chrome.Limits {
	return chrome.Limits{Age: c.RecycleAge, Memory: c.RecycleMemoryMB << 20, Actions: c.RecycleActions}
}

// hostSlow: silence of a browser says nothing while no CPU is to be had.
func hostSlow() bool { return hostload.Read().Saturated() }

// Labels are names with values.
type Labels map[string]string

// maxLabels and maxLabel bound what every heartbeat carries.
const (
	maxLabels = 16
	maxLabel  = 64
)

// UnmarshalText reads a list separated by commas.
func (l *Labels) UnmarshalText(text []byte) error {
	*l = nil
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || len(name) > maxLabel || len(value) > maxLabel {
			return fmt.Errorf("%.80q: want name=value, at most %d bytes each", item, maxLabel)
		}
		if *l == nil {
			*l = Labels{}
		}
		(*l)[name] = value
	}
	if len(*l) > maxLabels {
		return fmt.Errorf("%d labels; at most %d", len(*l), maxLabels)
	}
	return nil
}

// Draining is how a worker is told to hand over, besides a signal and the
// operators' command.
type Draining struct {
	DrainTimeout   time.Duration `split_words:"true" default:"30s" desc:"how long handing over all owners may take; what is not saved then is named in the log"`
	PreemptionFile string        `split_words:"true" desc:"the worker hands over and ends when this file appears: a notice that the machine goes away"`
	DrainListen    string        `split_words:"true" desc:"loopback host:port where POST /drain does the same; empty is off"`
	DrainTokenFile string        `split_words:"true" desc:"file with the token that the request must bear (Authorization: Bearer)"`
}

func (c *Draining) check(p *problems) {
	if c.DrainTimeout <= 0 {
		p.add("DRAIN_TIMEOUT", "%s: want more than 0", c.DrainTimeout)
	}
	if c.DrainListen == "" {
		return
	}
	p.need("DRAIN_TOKEN_FILE", c.DrainTokenFile)
	if host, _, err := net.SplitHostPort(c.DrainListen); err != nil || !isLoopback(host) {
		p.add("DRAIN_LISTEN", "%q: want host:port with a loopback address: whoever reaches it can end the worker", c.DrainListen)
	}
}
