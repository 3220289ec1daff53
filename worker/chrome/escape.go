package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	// maxCDPReply bounds what the cdp action answers: the result has to fit a
	// message beside an observation.
	maxCDPReply = 256 << 10 // bytes
	// cdpLimit is how long one call may take.
	cdpLimit = 10 * time.Second
)

// readOnly are the methods that the cdp action may call once it is turned on.
// They change nothing and tell nothing that an observation could not: no cookie,
// no stored value, nothing of another target. Those that tell attributes and
// values (DOM.getDocument, DOM.getOuterHTML, DOMSnapshot.captureSnapshot) are not
// among them: they give out what is typed into a password field, which the
// accessibility tree does not.
var readOnly = []string{
	"Accessibility.getFullAXTree", "Accessibility.getPartialAXTree", "Accessibility.getRootAXNode",
	"DOM.getBoxModel", "DOM.getContentQuads",
	"Memory.getDOMCounters",
	"Page.getFrameTree", "Page.getLayoutMetrics", "Page.getNavigationHistory",
	"Page.getPermissionsPolicyState", "Page.getResourceTree",
	"Performance.getMetrics",
	"Runtime.getHeapUsage",
	"Storage.getStorageKey", "Storage.getUsageAndQuota",
}

// neverCDP are domains and methods that no operator can allow: they would take
// the supervisor's own work away from it (dialogs, targets, interception), or go
// around the policy of URLs and downloads.
var neverCDP = []string{
	"Target.", "Browser.", "Fetch.", "Inspector.", "IO.", "Tethering.", "SystemInfo.", "Extensions.", "Security.", "Debugger.",
	"Page.navigate", "Page.navigateToHistoryEntry", "Page.handleJavaScriptDialog", "Page.close", "Page.crash", "Page.disable", "Page.enable",
	"Page.setDownloadBehavior", "Page.setInterceptFileChooserDialog", "Page.addScriptToEvaluateOnNewDocument", "Page.reload",
	"Page.setBypassCSP", "Page.setLifecycleEventsEnabled", "Page.stopLoading", "Page.setDocumentContent", "Page.resetNavigationHistory",
	"DOM.setFileInputFiles", "Network.disable", "Network.enable", "Network.setRequestInterception", "Network.loadNetworkResource",
	"Runtime.disable", "Runtime.enable", "Runtime.terminateExecution", "Runtime.addBinding", "Runtime.removeBinding", "Runtime.runIfWaitingForDebugger",
}

// EscapeHatch says which methods the cdp action may call.
type EscapeHatch struct{ methods map[string]bool }

// NewEscapeHatch allows the methods that only read, and those that the operator
// names exactly.
func NewEscapeHatch(more []string) (*EscapeHatch, error) {
	h := &EscapeHatch{methods: make(map[string]bool)}
	for _, m := range readOnly {
		h.methods[m] = true
	}
	for _, m := range more {
		if !protocol.ValidCDPMethod(m) {
			return nil, fmt.Errorf("%.80q: want the exact name of a method, such as Runtime.evaluate", m)
		}
		never := func(n string) bool { return m == n || strings.HasSuffix(n, ".") && strings.HasPrefix(m, n) }
		if slices.ContainsFunc(neverCDP, never) {
			return nil, fmt.Errorf("%s cannot be allowed: it would go around the supervisor or the policy", m)
		}
		h.methods[m] = true
	}
	return h, nil
}

// Methods lists what is allowed.
func (h *EscapeHatch) Methods() []string {
	if h == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(h.methods))
}

func (h *EscapeHatch) check(method string) *protocol.Error {
	switch {
	case h == nil:
		return protocol.Errorf(protocol.CodeCapabilityUnsupported, "the cdp action is off; the operator can turn it on")
	case !h.methods[method]:
		return protocol.Errorf(protocol.CodePolicyDenied, "%s is not among the methods that the operator allows: %s",
			method, strings.Join(h.Methods(), ", "))
	}
	return nil
}

// cdp calls one method, for a frame if one is named.
func (r *run) cdp(ctx context.Context, args *protocol.CDPArgs) {
	if refused := r.b.cfg.EscapeHatch.check(args.Method); refused != nil {
		r.refuse(refused)
		return
	}
	session, params, refused := aim(r.b.page, args)
	if refused != nil {
		r.refuse(refused)
		return
	}
	if r.b.tab.State().Dialog != nil {
		r.refuse(protocol.Errorf(protocol.CodeDialogOpen, ""))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cdpLimit)
	defer cancel()
	r.out.Err = r.read(func() *protocol.Error {
		var reply json.RawMessage
		pending, err := session.Send(args.Method, params)
		if err == nil {
			err = observation.Await(ctx, r.b.tab, pending, &reply)
		}
		if strings.HasPrefix(args.Method, "DOM.") {
			// It turned the domain on, which sends an event for each change.
			if off, err := session.Send("DOM.disable", nil); err == nil {
				off.Forget()
			}
		}
		if err != nil {
			return cdpError(args.Method, err)
		}
		return r.showReply(args, reply)
	})
}

// showReply masks and bounds the reply.
func (r *run) showReply(args *protocol.CDPArgs, reply json.RawMessage) *protocol.Error {
	var value any
	if err := json.Unmarshal(reply, &value); err != nil {
		return protocol.Errorf(protocol.CodeActionFailed, "%s: the reply is no JSON", args.Method).WithDispatched(protocol.DispatchedYes)
	}
	data, err := json.Marshal(map[string]any{"method": args.Method, "frame_id": args.FrameID, "result": r.b.masker.value(value)})
	if err != nil || len(data) > maxCDPReply {
		return protocol.Errorf(protocol.CodeResultTooLarge, "the reply to %s has %d bytes; at most %d", args.Method, len(data), maxCDPReply)
	}
	r.out.Data = data
	return nil
}

// value is a copy of decoded JSON without secrets.
func (m *masker) value(v any) any {
	if v == nil || len(m.spellings) == 0 {
		return v
	}
	return m.copyOf(reflect.ValueOf(v)).Interface()
}

func cdpError(method string, err error) *protocol.Error {
	code, reply := protocol.CodeActionFailed, (*cdp.Error)(nil)
	switch {
	case errors.Is(err, observation.ErrDialog):
		code = protocol.CodeDialogOpen
	case errors.Is(err, observation.ErrCrashed):
		code = protocol.CodePageCrashed
	case errors.Is(err, observation.ErrLost):
		code = protocol.CodeBrowserLost
	case errors.Is(err, context.DeadlineExceeded):
		code = protocol.CodeActionTimeout
	case errors.As(err, &reply):
		e := protocol.Errorf(protocol.CodeInvalidArgument, "%s: %s", method, observation.Cut(reply.Message, 300))
		return e.WithDispatched(protocol.DispatchedYes)
	}
	dispatched := protocol.DispatchedNo
	if cdp.MayHaveExecuted(err) || errors.Is(err, observation.ErrDialog) {
		dispatched = protocol.DispatchedUnknown
	}
	return protocol.Errorf(code, "%s: no reply", method).WithDispatched(dispatched)
}

// framed are the methods that take the frame they mean as a parameter.
var framed = map[string]bool{
	"Accessibility.getFullAXTree": true, "Accessibility.getRootAXNode": true,
	"Page.getPermissionsPolicyState": true, "Storage.getStorageKey": true,
}

// aim finds the session that hosts the frame. A frame that shares its process
// with another is reached through a parameter, or through its own isolated world.
func aim(page *supervisor.Page, args *protocol.CDPArgs) (*cdp.Session, map[string]any, *protocol.Error) {
	params := map[string]any{}
	if len(args.Params) > 0 && json.Unmarshal(args.Params, &params) != nil {
		return nil, nil, protocol.Errorf(protocol.CodeInvalidArgument, "params: want an object")
	}
	snap := page.Snapshot()
	main := string(snap.FrameID)
	for _, f := range snap.Frames {
		id := string(f.ID)
		if id != string(args.FrameID) && (args.FrameID != "" || id != main) {
			continue
		}
		if f.Session == "" {
			break // between two processes
		}
		session := page.Session(f.Session)
		switch {
		case framed[args.Method]:
			params["frameId"] = id
		case id == main || f.OOPIF:
		case args.Method == "Runtime.evaluate":
			world, ok := worldOf(page, id)
			if !ok {
				return nil, nil, protocol.Errorf(protocol.CodeNotFound, "frame %s has no document yet", id)
			}
			params["uniqueContextId"] = world.UniqueID
		default:
			return nil, nil, protocol.Errorf(protocol.CodeInvalidArgument,
				"frame_id: the frame shares its process with its parent, and %s cannot be aimed at it; call it for the parent", args.Method)
		}
		return session, params, nil
	}
	if args.FrameID == "" {
		return nil, nil, protocol.Errorf(protocol.CodePageCrashed, "the page has no document")
	}
	return nil, nil, protocol.Errorf(protocol.CodeNotFound, "frame_id: there is no frame %s now", observation.Cut(string(args.FrameID), 80))
}

func worldOf(page *supervisor.Page, frame string) (supervisor.World, bool) {
	for _, w := range page.Worlds() {
		if string(w.FrameID) == frame {
			return w, true
		}
	}
	return supervisor.World{}, false
}
