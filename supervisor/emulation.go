package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
)

// Emulation is what the pages of an environment believe of its device. Chromium
// keeps it with the session: it outlives every navigation and a crash of the renderer, not the
// browser. Frames of other sites have sessions of their own and get it when they
// attach, but for the scale: their devicePixelRatio stays 1 (Chromium 156).
type Emulation struct {
	Viewport    Viewport
	Mobile      bool
	Locale      string // empty: the browser's
	Timezone    string // empty: the host's
	UserAgent   string // empty: the browser's
	ColorScheme string // "light", "dark" or empty: the browser's
	Network     NetworkConditions
}

// NetworkConditions slow the page's network down; zeros are no limit.
type NetworkConditions struct {
	Offline          bool
	LatencyMS        float64
	Download, Upload float64 // bytes a second
}

// ErrEmulation: Chromium does not know the value, a time zone for example.
var ErrEmulation = errors.New("supervisor: the browser refuses to emulate this")

// defaults are what the environment started with.
func (c Config) emulation() Emulation {
	return Emulation{Viewport: c.Viewport, Locale: c.Locale, Timezone: c.Timezone, UserAgent: c.UserAgent}
}

// Emulation is what is emulated now.
func (p *Page) Emulation() Emulation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.emulation
}

// StartedEmulation is what was emulated when the environment started.
func (p *Page) StartedEmulation() Emulation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config.emulation()
}

// Emulate changes it in every tab and waits until this one has confirmed. On an error what was
// before is asked for again. It hangs, up to its deadline, while a dialog is open.
func (p *Page) Emulate(ctx context.Context, e Emulation) error {
	ctx, cancel := bound(ctx)
	defer cancel()
	before, acks := p.sendEmulation(e)
	for _, ack := range acks {
		if err := ack.Wait(ctx, nil); err != nil {
			_, acks := p.sendEmulation(before)
			for _, ack := range acks {
				ack.Forget()
			}
			if refused := (*cdp.Error)(nil); errors.As(err, &refused) {
				return fmt.Errorf("%w: %w", ErrEmulation, err)
			}
			return fmt.Errorf("supervisor: emulate: %w", err)
		}
	}
	return nil
}

// sendEmulation sends the commands to every session and returns the page's
// acknowledgements: a frame may vanish, and another tab may have a dialog open,
// which must fail nothing.
func (p *Page) sendEmulation(e Emulation) (before Emulation, acks []*cdp.Pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.emulation = p.emulation, e
	for _, a := range p.sessions {
		if a.kind != kindPage && a.kind != kindIframe {
			continue
		}
		for _, c := range e.commands(a.kind, before) {
			pending, err := a.session.Send(c.method, c.params)
			switch {
			case err != nil:
			case a == p.pageSession:
				acks = append(acks, pending)
			default:
				pending.Forget()
			}
		}
	}
	return before, acks
}

// commands set everything that differs from Chromium's own; what before had and
// e has not is set back.
func (e Emulation) commands(kind targetKind, before Emulation) []command {
	var commands []command
	add := func(needed bool, method string, params any) {
		if needed {
			commands = append(commands, command{method, params})
		}
	}
	if kind == kindPage {
		add(true, emulation.CommandSetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: e.Viewport.Width, Height: e.Viewport.Height, DeviceScaleFactor: e.Viewport.Scale, Mobile: e.Mobile,
		})
		add(true, emulation.CommandSetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	}
	add(e.Locale != "" || before.Locale != "", emulation.CommandSetLocaleOverride,
		emulation.SetLocaleOverrideParams{Locale: e.Locale})
	// A change of one that is set fails silently when Chromium does not know the
	// new one; so the old one goes first.
	add(before.Timezone != "", emulation.CommandSetTimezoneOverride, emulation.SetTimezoneOverrideParams{})
	add(e.Timezone != "", emulation.CommandSetTimezoneOverride,
		emulation.SetTimezoneOverrideParams{TimezoneID: e.Timezone})
	// Without a user agent Chromium keeps its own and takes the languages alone.
	add(e.UserAgent+e.Locale != "" || before.UserAgent+before.Locale != "", emulation.CommandSetUserAgentOverride,
		emulation.SetUserAgentOverrideParams{UserAgent: e.UserAgent, AcceptLanguage: e.Locale})
	add(e.ColorScheme != "" || before.ColorScheme != "", emulation.CommandSetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: e.ColorScheme}},
	})
	slow := e.Network != NetworkConditions{} || before.Network != NetworkConditions{}
	add(slow, network.CommandEmulateNetworkConditionsByRule, e.Network.rules())
	add(slow, network.CommandOverrideNetworkState, e.Network.state())
	return commands
}

func (n NetworkConditions) rules() network.EmulateNetworkConditionsByRuleParams {
	params := network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{}}
	if n != (NetworkConditions{}) {
		params.MatchedNetworkConditions = append(params.MatchedNetworkConditions, &network.Conditions{
			Offline: n.Offline, Latency: n.LatencyMS,
			DownloadThroughput: unlimited(n.Download), UploadThroughput: unlimited(n.Upload),
		})
	}
	return params
}

// state is what navigator.onLine and navigator.connection say.
func (n NetworkConditions) state() network.OverrideNetworkStateParams {
	return network.OverrideNetworkStateParams{
		Offline: n.Offline, Latency: n.LatencyMS,
		DownloadThroughput: unlimited(n.Download), UploadThroughput: unlimited(n.Upload),
	}
}

// unlimited is Chromium's spelling of no limit.
func unlimited(rate float64) float64 {
	if rate <= 0 {
		return -1
	}
	return rate
}
