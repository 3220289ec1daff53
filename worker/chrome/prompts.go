package chrome

import (
	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// promptCodes are what the agent is told of a prompt that was refused.
var promptCodes = map[supervisor.PromptKind]protocol.Code{
	supervisor.PromptFileChooser: protocol.CodeFileChooser,
	supervisor.PromptHTTPAuth:    protocol.CodeAuthRequired,
	supervisor.PromptExternal:    protocol.CodeExternalProtocol,
}

// judgePrompts tells of what a person would have been asked. An open that ended at
// a demand for a password failed: its page is the server's refusal. Authentication
// of a part of a page is evidence only.
func (r *run) judgePrompts(prompts []supervisor.Prompt) {
	for _, p := range prompts {
		if p.Kind == supervisor.PromptHTTPAuth && !p.Document {
			continue
		}
		code := promptCodes[p.Kind]
		message := code.Info().Text + ": " + observation.Cut(p.URL, 300)
		if p.Detail != "" {
			message += " (" + p.Detail + ")"
		}
		failed := r.out.Err
		switch {
		case p.Kind == supervisor.PromptHTTPAuth && r.action.Kind == protocol.KindOpen && (failed == nil || failed.Code == code):
			r.out.Err = protocol.Errorf(code, "%s", message).WithDispatched(protocol.DispatchedYes)
		case len(r.out.Warnings) < maxPromptWarnings:
			r.out.Warnings = append(r.out.Warnings, protocol.Warning{Code: code, Message: message})
		}
	}
}

// maxPromptWarnings bounds what a page can add to a result; all of the prompts
// are in the transition.
const maxPromptWarnings = 5

// readable are the documents whose text and elements are the page.
var readable = map[string]bool{"text/html": true, "application/xhtml+xml": true, "": true}

// nameContent says what a document is that is no HTML.
func (r *run) nameContent() {
	snap := r.b.page.Snapshot()
	if seen := r.out.Observation; seen != nil && !seen.Stale && !readable[snap.ContentType] {
		seen.ContentType = snap.ContentType
	}
}
