package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/checkpoints/capture"
	"github.com/browserfleet/browserfleet/supervisor"
)

// session is capture's view of an environment.
type session struct {
	page *supervisor.Page
	// blocked ends a context when a dialog opens; nil never does.
	blocked func(context.Context) (context.Context, func())
}

// unblocked runs what needs the renderer, until a dialog opens.
func (s session) unblocked(ctx context.Context, do func(context.Context) error) error {
	if s.blocked == nil {
		return do(ctx)
	}
	ctx, done := s.blocked(ctx)
	defer done()
	return do(ctx)
}

// cookie is CDP's Network.Cookie and Network.CookieParam. The transport encodes
// by encoding/json/v2's rules, under which omitempty keeps zero numbers: expires 0
// would set a cookie of 1970.
type cookie struct {
	Name            string        `json:"name"`
	Value           string        `json:"value"`
	Domain          string        `json:"domain"`
	Path            string        `json:"path"`
	Expires         float64       `json:"expires,omitzero"`
	HTTPOnly        bool          `json:"httpOnly,omitzero"`
	Secure          bool          `json:"secure,omitzero"`
	Session         bool          `json:"session,omitzero"`
	SameSite        string        `json:"sameSite,omitzero"`
	Priority        string        `json:"priority,omitzero"`
	SourceScheme    string        `json:"sourceScheme,omitzero"`
	SourcePort      int           `json:"sourcePort,omitzero"`
	PartitionKey    *partitionKey `json:"partitionKey,omitzero"`
	PartitionOpaque bool          `json:"partitionKeyOpaque,omitzero"`
}

type partitionKey struct {
	TopLevelSite         string `json:"topLevelSite"`
	HasCrossSiteAncestor bool   `json:"hasCrossSiteAncestor"`
}

// Cookies answer even while a dialog is open: Storage is a browser-level domain.
func (s session) Cookies(ctx context.Context) ([]checkpoints.Cookie, error) {
	var reply struct {
		Cookies []cookie `json:"cookies"`
	}
	params := map[string]any{"browserContextId": s.page.Context()}
	if err := s.page.Browser().Call(ctx, "Storage.getCookies", params, &reply); err != nil {
		return nil, err
	}
	all := make([]checkpoints.Cookie, len(reply.Cookies))
	for i, c := range reply.Cookies {
		all[i] = checkpoints.Cookie{
			Name: checkpoints.Text(c.Name), Value: checkpoints.Text(c.Value), Domain: c.Domain, Path: c.Path, Expires: c.Expires,
			HTTPOnly: c.HTTPOnly, Secure: c.Secure, Session: c.Session, SameSite: c.SameSite, Priority: c.Priority,
			SourceScheme: c.SourceScheme, SourcePort: c.SourcePort, PartitionOpaque: c.PartitionOpaque,
		}
		if c.Session {
			all[i].Expires = -1
		}
		if k := c.PartitionKey; k != nil {
			all[i].Partition = &checkpoints.PartitionKey{TopLevelSite: k.TopLevelSite, HasCrossSiteAncestor: k.HasCrossSiteAncestor}
		}
	}
	return all, nil
}

// SetCookies adds cookies.
func (s session) SetCookies(ctx context.Context, cookies []checkpoints.Cookie) error {
	all := make([]cookie, len(cookies))
	for i, c := range cookies {
		all[i] = cookie{
			Name: string(c.Name), Value: string(c.Value), Domain: c.Domain, Path: c.Path,
			HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite, Priority: c.Priority,
			SourceScheme: c.SourceScheme, SourcePort: c.SourcePort,
		}
		if !c.Session && c.Expires > 0 {
			all[i].Expires = c.Expires
		}
		if k := c.Partition; k != nil {
			all[i].PartitionKey = &partitionKey{TopLevelSite: k.TopLevelSite, HasCrossSiteAncestor: k.HasCrossSiteAncestor}
		}
	}
	params := map[string]any{"browserContextId": s.page.Context(), "cookies": all}
	return s.page.Browser().Call(ctx, "Storage.setCookies", params, nil)
}

// MainFrame is the page's main frame. What a dialog or a crash blocks has no
// script, and keeps its earlier storage.
func (s session) MainFrame(ctx context.Context) (capture.Frame, bool, error) {
	snap := s.page.Snapshot()
	if snap.Gone {
		return capture.Frame{}, false, nil
	}
	frame := capture.Frame{URL: snap.URL}
	for _, f := range snap.Frames {
		if f.ID == snap.FrameID {
			frame.Origin = f.Origin
		}
	}
	if !strings.HasPrefix(frame.Origin, "http") {
		frame.Origin = ""
		return frame, true, nil
	}
	if len(snap.Dialogs) > 0 || snap.Orphaned || snap.Unresponsive || snap.Crashed {
		return frame, true, nil // its renderer answers nothing
	}
	world, err := s.page.World(ctx)
	if err != nil {
		return frame, true, err
	}
	var key struct {
		StorageKey string `json:"storageKey"`
	}
	err = s.unblocked(ctx, func(ctx context.Context) error {
		return s.page.Call(ctx, "Storage.getStorageKey", map[string]any{"frameId": snap.FrameID}, &key)
	})
	if err != nil {
		return frame, true, err
	}
	frame.StorageKey = checkpoints.StorageKey(key.StorageKey)
	frame.Eval = func(ctx context.Context, function, arg string) (out string, err error) {
		err = s.unblocked(ctx, func(ctx context.Context) error {
			out, err = evalIn(world)(ctx, function, arg)
			return err
		})
		return out, err
	}
	return frame, true, nil
}

// evalIn calls functions in an isolated world.
func evalIn(world supervisor.World) capture.Eval {
	return func(ctx context.Context, function, arg string) (string, error) {
		var reply struct {
			Result struct {
				Value string `json:"value"`
			} `json:"result"`
			ExceptionDetails *struct {
				Text string `json:"text"`
			} `json:"exceptionDetails"`
		}
		err := world.Session.Call(ctx, "Runtime.callFunctionOn", map[string]any{
			"functionDeclaration": function, "uniqueContextId": world.UniqueID, "returnByValue": true,
			"awaitPromise": true, "arguments": []any{map[string]any{"value": arg}},
		}, &reply)
		if err != nil {
			return "", err
		}
		if reply.ExceptionDetails != nil {
			return "", errors.New("the page's storage could not be read or written")
		}
		return reply.Result.Value, nil
	}
}

// WithOrigin shows the page an empty document of the origin: every request is
// answered here, so that no server and no site's script has part in it. It is
// used before the agent's first action only; afterwards the page is as new.
func (s session) WithOrigin(ctx context.Context, origin string, fn func(context.Context, capture.Eval) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	paused, unsubscribe := s.page.Subscribe("Fetch.requestPaused")
	defer unsubscribe()
	if err := s.page.Call(ctx, "Fetch.enable", map[string]any{}, nil); err != nil {
		return err
	}
	answered := startEmptyAnswers(ctx, s.page, paused)
	defer func() {
		err = errors.Join(err, s.startOver(context.WithoutCancel(ctx)))
		cancel()
		<-answered
	}()
	var reply struct {
		ErrorText string `json:"errorText"`
		LoaderID  string `json:"loaderId"`
	}
	if err := s.page.Call(ctx, "Page.navigate", map[string]any{"url": origin + "/"}, &reply); err != nil {
		return err
	}
	if reply.ErrorText != "" {
		return fmt.Errorf("show an empty page: %s", reply.ErrorText)
	}
	_, err = s.page.Await(ctx, func(snap *supervisor.Snapshot) bool { return string(snap.LoaderID) == reply.LoaderID })
	if err != nil {
		return err
	}
	world, err := s.page.World(ctx)
	if err != nil {
		return err
	}
	return fn(ctx, evalIn(world))
}

// startEmptyAnswers fulfils whatever the page asks for, until ctx ends; then it
// closes what it returned.
func startEmptyAnswers[T ~[]byte](ctx context.Context, page *supervisor.Page, paused <-chan T) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runEmptyAnswers(ctx, page, paused)
	}()
	return done
}

func runEmptyAnswers[T ~[]byte](ctx context.Context, page *supervisor.Page, paused <-chan T) {
	for {
		select {
		case event, ok := <-paused:
			if !ok {
				return
			}
			var request struct {
				RequestID string `json:"requestId"`
			}
			if json.Unmarshal([]byte(event), &request) != nil {
				continue
			}
			pending, err := page.Send("Fetch.fulfillRequest", map[string]any{
				"requestId": request.RequestID, "responseCode": 200,
				"responseHeaders": []any{
					map[string]any{"name": "Content-Type", "value": "text/html"},
					map[string]any{"name": "Cache-Control", "value": "no-store"},
				},
			})
			if err == nil {
				pending.Forget()
			}
		case <-ctx.Done():
			return
		}
	}
}

// startOver leaves the page empty and without a history.
func (s session) startOver(ctx context.Context) error {
	var reply struct {
		LoaderID string `json:"loaderId"`
	}
	if err := s.page.Call(ctx, "Fetch.disable", nil, nil); err != nil {
		return err
	}
	if err := s.page.Call(ctx, "Page.navigate", map[string]any{"url": "about:blank"}, &reply); err != nil {
		return err
	}
	_, err := s.page.Await(ctx, func(snap *supervisor.Snapshot) bool {
		return string(snap.LoaderID) == reply.LoaderID && snap.Lifecycle.Load
	})
	if err != nil {
		return err
	}
	return s.page.Call(ctx, "Page.resetNavigationHistory", nil, nil)
}
