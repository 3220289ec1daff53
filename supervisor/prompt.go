package supervisor

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/browser"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

const (
	recentPrompts = 20
	maxRealm      = 200 // bytes
)

// PromptKind is what a person would have been asked.
type PromptKind string

// The prompts that can be seen. Nothing tells of a permission that is asked for
// (measured on 156: no event, no console message); all are denied beforehand.
const (
	// PromptFileChooser: intercepted, nothing is shown and the page goes on.
	PromptFileChooser PromptKind = "file_chooser"
	// PromptHTTPAuth: a server wants a user name and password. Refused.
	PromptHTTPAuth PromptKind = "http_auth"
	// PromptExternal: a URL for another program, mailto: for example. Chromium
	// opens nothing and the page stays.
	PromptExternal PromptKind = "external_protocol"
)

// Prompt is one that was refused.
type Prompt struct {
	Kind    PromptKind
	FrameID protocol.FrameID
	// URL asked for it; of an external protocol, the URL that was to be opened.
	URL string
	// Detail is the scheme and realm of authentication, or the chooser's mode. It
	// is a server's text.
	Detail string
	// Document: the main frame's document itself was answered so.
	Document bool
	At       time.Time
}

// denied are the permissions that no page gets. Without a setting, a headless
// browser leaves some of them undecided for ever.
var denied = []string{
	"geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "idle-detection",
	"local-fonts", "window-management",
}

func denyPermissions(context protocol.BrowserContextID) []command {
	var commands []command
	for _, name := range denied {
		commands = append(commands, command{browser.CommandSetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingDenied, BrowserContextID: context,
		}})
	}
	return commands
}

func (p *Page) prompted(prompt Prompt) {
	prompt.At = time.Now()
	prompt.URL, _ = clip(prompt.URL, maxURL)
	prompt.Detail, _ = clip(prompt.Detail, maxRealm)
	p.prompts = ring(p.prompts, prompt, recentPrompts)
	p.tell(func(h *Happened) { h.Prompts = bounded(h, h.Prompts, prompt) })
}

func (p *Page) onFileChooser(_ *attached, e cdp.Event) error {
	var v page.EventFileChooserOpened
	if err := e.Decode(&v); err != nil {
		return err
	}
	prompt := Prompt{Kind: PromptFileChooser, FrameID: v.FrameID, Detail: string(v.Mode)}
	if f := p.frames.byID[v.FrameID]; f != nil {
		prompt.URL = f.URL
	}
	p.prompted(prompt)
	return nil
}

// ours are the schemes that Chromium keeps to itself.
var ours = map[string]bool{
	"http": true, "https": true, "about": true, "blob": true, "data": true, "javascript": true, "file": true, "filesystem": true,
	"ws": true, "wss": true, "chrome": true, "chrome-error": true, "devtools": true, "view-source": true,
}

func (p *Page) onNavigationRequested(_ *attached, e cdp.Event) error {
	var v page.EventFrameRequestedNavigation
	if err := e.Decode(&v); err != nil {
		return err
	}
	scheme, _, _ := strings.Cut(v.URL, ":")
	if scheme == "" || ours[strings.ToLower(scheme)] {
		return nil
	}
	p.prompted(Prompt{Kind: PromptExternal, FrameID: v.FrameID, URL: v.URL})
	return nil
}

var realm = regexp.MustCompile(`(?i)^\s*([a-z]+)(?:.*?realm="?([^",]*))?`)

// onResponse looks for the one answer that would have asked a person.
func (p *Page) onResponse(_ *attached, e cdp.Event) error {
	var v struct {
		FrameID  protocol.FrameID     `json:"frameId"`
		Type     network.ResourceType `json:"type"`
		Response struct {
			URL     string            `json:"url"`
			Status  int64             `json:"status"`
			Headers map[string]string `json:"headers"`
		} `json:"response"`
	}
	if err := e.Decode(&v); err != nil {
		return err
	}
	if v.Response.Status != 401 {
		return nil
	}
	for name, value := range v.Response.Headers {
		if !strings.EqualFold(name, "WWW-Authenticate") {
			continue
		}
		prompt := Prompt{
			Kind: PromptHTTPAuth, FrameID: v.FrameID, URL: withoutUser(v.Response.URL),
			Document: v.Type == network.ResourceTypeDocument && v.FrameID == p.frames.main,
		}
		if m := realm.FindStringSubmatch(value); m != nil {
			prompt.Detail = strings.TrimSpace(m[1] + " " + m[2])
		}
		p.prompted(prompt)
		return nil
	}
	return nil
}

// withoutUser drops a password that a page put into a URL.
func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	u.User = nil
	return u.String()
}
