package protocol

import (
	"fmt"
	"slices"
)

// Code is an error's stable name: snake_case on the wire, in logs and as metric
// label. Nobody branches on an error's text.
type Code string

// Class groups codes by whose move it is.
type Class string

// The classes.
const (
	ClassRequest     Class = "request"     // the request itself is wrong
	ClassTarget      Class = "target"      // the element is not what the request needs
	ClassPage        Class = "page"        // the page did not do it
	ClassPolicy      Class = "policy"      // refused on purpose
	ClassEnvironment Class = "environment" // the environment changed under the request
	ClassFleet       Class = "fleet"       // the fleet could not, now
)

// The codes. The table below says what each means for the agent.
const (
	CodeInvalidRequest     Code = "invalid_request"
	CodeUnsupportedVersion Code = "unsupported_version"
	CodeUnknownAction      Code = "unknown_action"
	CodeInvalidArgument    Code = "invalid_argument"
	CodeInvalidURL         Code = "invalid_url"
	CodeRequestTooOld      Code = "request_too_old"
	CodeRequestFromFuture  Code = "request_from_future"
	CodeRequestTooLarge    Code = "request_too_large"
	CodeStaleControl       Code = "stale_control"

	CodeStaleRef              Code = "stale_ref"
	CodeRefChanged            Code = "ref_changed"
	CodeNotEditable           Code = "not_editable"
	CodeNotToggleable         Code = "not_toggleable"
	CodeElementDisabled       Code = "element_disabled"
	CodeCovered               Code = "covered"
	CodeNotVisible            Code = "not_visible"
	CodeOptionNotFound        Code = "option_not_found"
	CodeOptionDisabled        Code = "option_disabled"
	CodeAmbiguousOption       Code = "ambiguous_option"
	CodeBadValue              Code = "bad_value"
	CodePasswordForbidden     Code = "password_input_forbidden"
	CodeCredentialUnavailable Code = "credential_unavailable"
	CodeCredentialDenied      Code = "credential_denied"
	CodeTabClosed             Code = "tab_closed"
	// The token of an observation's next slice.
	CodeContinuationSuperseded Code = "continuation_superseded"
	CodeContinuationExhausted  Code = "continuation_exhausted"

	CodeNavigationFailed  Code = "navigation_failed"
	CodeTooManyRedirects  Code = "too_many_redirects"
	CodeBadTLS            Code = "bad_tls"
	CodeNoContent         Code = "no_content"
	CodeAuthRequired      Code = "auth_required"
	CodeFileChooser       Code = "file_chooser_refused"
	CodeExternalProtocol  Code = "external_protocol_refused"
	CodeDownloadRefused   Code = "download_refused"
	CodeNoHistory         Code = "no_history"
	CodeDialogOpen        Code = "dialog_open"
	CodeDialogClosed      Code = "dialog_closed"
	CodeDialogOrphaned    Code = "dialog_orphaned"
	CodeNoDialog          Code = "no_dialog"
	CodeNoEffect          Code = "no_effect"
	CodeActionTimeout     Code = "action_timeout"
	CodeActionFailed      Code = "action_failed"
	CodeObservationFailed Code = "observation_failed"
	CodeResultTooLarge    Code = "result_too_large"
	CodeWaitTimeout       Code = "wait_timeout"

	CodePolicyDenied Code = "policy_denied"

	CodeGenerationChanged    Code = "generation_changed"
	CodePageCrashed          Code = "page_crashed"
	CodeRendererUnresponsive Code = "renderer_unresponsive"
	CodeBrowserLost          Code = "browser_lost"
	CodeEnvironmentFailed    Code = "environment_failed"
	CodeEnvironmentDeleted   Code = "environment_deleted"
	CodeEnvironmentUnstarted Code = "environment_unavailable"
	CodeCheckpointStore      Code = "checkpoint_store_unavailable"
	CodeCheckpointUnusable   Code = "checkpoint_unusable"
	CodeCheckpointNotSaved   Code = "checkpoint_not_saved"

	CodeQueueFull      Code = "queue_full"
	CodeExpired        Code = "expired"
	CodeNoCapacity     Code = "no_capacity"
	CodeQuotaExceeded  Code = "quota_exceeded"
	CodeCancelled      Code = "cancelled"
	CodeInterrupted    Code = "interrupted"
	CodeOutcomeUnknown Code = "outcome_unknown"
	CodeNotFound       Code = "not_found"

	CodeOwnerConflict         Code = "owner_conflict"
	CodeCapabilityUnsupported Code = "capability_unsupported"
	CodeUnavailable           Code = "unavailable"
	CodeInternal              Code = "internal"
)

// CodeInfo is a row of the error table. Constants, schema, docs/errors.md,
// metric labels and the agent's hint derive from it.
type CodeInfo struct {
	Code  Code
	Class Class
	// Dispatched is the usual value; an Error carries the true one.
	Dispatched Dispatched
	// Retryable: sending the identical request under a new id is safe and may
	// succeed.
	Retryable bool
	// Recommended is what to do next.
	Recommended string
	// RefsHold: refs of the newest observation still mean what they meant.
	RefsHold bool
	Text     string
}

var codeTable = []CodeInfo{
	{CodeInvalidRequest, ClassRequest, DispatchedNo, false, "fix the request", true, "the request could not be read"},
	{CodeUnsupportedVersion, ClassRequest, DispatchedNo, false, "send the version that the message names", true, "the request's version is unknown here"},
	{CodeUnknownAction, ClassRequest, DispatchedNo, false, "use a kind of the protocol", true, "there is no such kind of request"},
	{CodeInvalidArgument, ClassRequest, DispatchedNo, false, "fix the field that the message names", true, "an argument is missing or wrong"},
	{CodeInvalidURL, ClassRequest, DispatchedNo, false, "give an absolute http or https URL", true, "the URL cannot be opened"},
	{CodeRequestTooOld, ClassRequest, DispatchedNo, false, "send it again under a new id if it is still wanted", true, "the request was stored more than 30 minutes after its id was made"},
	{CodeRequestFromFuture, ClassRequest, DispatchedNo, false, "correct the clock that makes the ids", true, "the request's id lies more than 5 minutes ahead of the server's time"},
	{CodeRequestTooLarge, ClassRequest, DispatchedNo, false, "send less: a request has at most 256 KiB", true, "the request is too large to be stored"},
	{CodeStaleControl, ClassRequest, DispatchedNo, false, "nothing: its target is over", true, "the control message names something that is not there any more"},

	{CodeStaleRef, ClassTarget, DispatchedNo, false, "observe, then use a ref of that observation", false, "the ref names nothing on the present page"},
	{CodeRefChanged, ClassTarget, DispatchedNo, false, "observe, then decide again", false, "the element is not what it was when it was shown"},
	{CodeNotEditable, ClassTarget, DispatchedNo, false, "choose an editable element", true, "the element takes no text"},
	{CodeNotToggleable, ClassTarget, DispatchedNo, false, "choose a checkbox, radio or switch", true, "the element cannot be checked"},
	{CodeElementDisabled, ClassTarget, DispatchedNo, false, "do what enables it first, then observe", true, "the element is disabled"},
	{CodeCovered, ClassTarget, DispatchedNo, false, "close or scroll away what covers it", true, "another element is in front"},
	{CodeNotVisible, ClassTarget, DispatchedNo, false, "observe; it may be hidden now", true, "the element cannot be brought into view"},
	{CodeOptionNotFound, ClassTarget, DispatchedNo, false, "choose one of the options that the message lists", true, "the select has no such option"},
	{CodeOptionDisabled, ClassTarget, DispatchedNo, false, "choose an enabled option", true, "the option is disabled"},
	{CodeAmbiguousOption, ClassTarget, DispatchedNo, false, "choose by value", true, "several options have this label"},
	{CodeBadValue, ClassTarget, DispatchedYes, false, "give a value that the field accepts", true, "the field did not take the value"},
	{CodePasswordForbidden, ClassTarget, DispatchedNo, false, "use fill_credential", true, "fill is not for passwords"},
	{CodeCredentialUnavailable, ClassTarget, DispatchedNo, false, "use a configured credential", true, "there is no such credential"},
	{CodeTabClosed, ClassTarget, DispatchedNo, false, "choose a tab that the newest observation lists", true, "there is no such tab, or no longer"},
	{CodeContinuationSuperseded, ClassTarget, DispatchedNo, false, "use the continuation that the message names, or observe", true, "the continuation is not the newest one"},
	{CodeContinuationExhausted, ClassTarget, DispatchedNo, false, "observe a part of the page, or search it", true, "the observation has been shown to its end"},
	{CodeCredentialDenied, ClassPolicy, DispatchedNo, false, "ask for approval, or use it on its own site", true, "the credential may not be used here"},

	{CodeNavigationFailed, ClassPage, DispatchedYes, false, "check the URL; observe", false, "the page could not be loaded"},
	{CodeTooManyRedirects, ClassPage, DispatchedYes, false, "open another URL", false, "the site redirects in a loop"},
	{CodeBadTLS, ClassPage, DispatchedYes, false, "do not go on: the site's certificate is wrong, or no https is spoken there", false, "no secure connection: the site's certificate cannot be trusted, or it speaks no TLS"},
	{CodeNoContent, ClassPage, DispatchedYes, false, "observe: the page is still the former one", true, "the server answered without content"},
	{CodeAuthRequired, ClassPage, DispatchedYes, false, "do not go on; the site wants a user name and password that nobody gives", false, "the server asks for HTTP authentication, which is refused"},
	{CodeFileChooser, ClassPolicy, DispatchedNo, false, "do without: no file can be chosen", true, "the page wants a file to be chosen, which is refused"},
	{CodeExternalProtocol, ClassPolicy, DispatchedYes, false, "observe: the page is still the former one", true, "the URL is for another program, which is not started"},
	{CodeDownloadRefused, ClassPolicy, DispatchedYes, false, "observe: the page is still the former one", true, "the URL is a download, which the policy refuses"},
	{CodeNoHistory, ClassPage, DispatchedNo, false, "open a URL instead", true, "there is no such history entry"},
	{CodeDialogOpen, ClassPage, DispatchedNo, true, "answer the dialog first", true, "a dialog is open and blocks the page"},
	{CodeDialogClosed, ClassPage, DispatchedNo, false, "nothing: observe to see what followed", true, "another answer to the dialog was first"},
	{CodeDialogOrphaned, ClassPage, DispatchedNo, false, "observe: the browser is being replaced", false, "the dialog's frame was removed; an answer would stop the browser"},
	{CodeNoDialog, ClassPage, DispatchedNo, false, "observe; name a dialog of pending_dialogs", true, "no single dialog that was shown is open"},
	{CodeNoEffect, ClassPage, DispatchedYes, false, "observe, then decide", true, "the element did not change"},
	{CodeActionTimeout, ClassPage, DispatchedUnknown, false, "observe before doing anything else", false, "the action did not end in time"},
	{CodeActionFailed, ClassPage, DispatchedUnknown, false, "observe before doing anything else", false, "the action failed"},
	{CodeObservationFailed, ClassPage, DispatchedYes, false, "observe", false, "the action ran, but the page could not be read after it"},
	{CodeResultTooLarge, ClassPage, DispatchedYes, false, "ask for less: a smaller picture, JPEG, fewer rows", true, "the result does not fit a message"},
	{CodeWaitTimeout, ClassPage, DispatchedNo, true, "observe, or wait again", true, "what was waited for did not happen"},

	{CodePolicyDenied, ClassPolicy, DispatchedNo, false, "go elsewhere, or ask the operator", true, "the egress policy refuses this"},

	{CodeGenerationChanged, ClassEnvironment, DispatchedNo, false, "read the observation in this result, then decide again", false, "the environment was restored since the request was made"},
	{CodePageCrashed, ClassEnvironment, DispatchedUnknown, false, "reload or open a page", false, "the page's process died"},
	{CodeRendererUnresponsive, ClassEnvironment, DispatchedUnknown, false, "observe; reload or open a page", false, "the page does not answer"},
	{CodeBrowserLost, ClassEnvironment, DispatchedUnknown, false, "observe: the environment is being restored", false, "the browser died"},
	{CodeEnvironmentFailed, ClassEnvironment, DispatchedNo, false, "ask the operator to reset it", false, "the environment failed too often and is stopped"},
	{CodeEnvironmentDeleted, ClassEnvironment, DispatchedNo, false, "use another owner id", false, "the environment was deleted"},
	{CodeEnvironmentUnstarted, ClassEnvironment, DispatchedNo, true, "try again in a few seconds", false, "the environment could not be started"},
	{CodeCheckpointStore, ClassEnvironment, DispatchedNo, true, "try again when the store is back, or use an ephemeral environment", false, "the checkpoint store cannot be reached, and a kept environment never starts empty"},
	{CodeCheckpointUnusable, ClassEnvironment, DispatchedNo, false, "ask the operator: the kept state cannot be read", false, "no checkpoint of the environment can be used"},
	{CodeCheckpointNotSaved, ClassEnvironment, DispatchedYes, false, "nothing now: it is saved with the next change", true, "the action ran, but its state is not saved yet"},

	{CodeQueueFull, ClassFleet, DispatchedNo, true, "wait for an answer before sending more", true, "64 requests of this owner are waiting already"},
	{CodeExpired, ClassFleet, DispatchedNo, true, "send it again under a new id if it is still wanted", true, "the request waited longer than its queue deadline"},
	{CodeNoCapacity, ClassFleet, DispatchedNo, true, "try again later, or add workers", true, "no worker could take the environment in time"},
	{CodeQuotaExceeded, ClassFleet, DispatchedNo, true, "try again later, close environments that are not needed, or ask the operator for more", true, "the tenant has as many environments or queued bytes as it may have"},
	{CodeCancelled, ClassFleet, DispatchedNo, false, "nothing", true, "the request was cancelled before it ran"},
	{CodeInterrupted, ClassFleet, DispatchedUnknown, false, "observe before doing anything else", false, "the request was stopped while it ran"},
	{CodeOutcomeUnknown, ClassFleet, DispatchedUnknown, false, "observe before doing anything else", false, "the worker was lost while the action ran; it is not run again"},
	{CodeOwnerConflict, ClassFleet, DispatchedNo, false, "acquire it as it is, or use another owner id", true, "the owner is held or kept in another way"},
	{CodeCapabilityUnsupported, ClassFleet, DispatchedNo, false, "do without the capability, or ask for a worker that has it", true, "the environment lacks a required capability"},
	{CodeNotFound, ClassFleet, DispatchedNo, false, "check the name", true, "there is no such thing"},
	{CodeUnavailable, ClassFleet, DispatchedUnknown, true, "ask fleet.result what became of the request", true, "the fleet did not answer in time"},
	{CodeInternal, ClassFleet, DispatchedUnknown, false, "observe before doing anything else, and report it", false, "a defect in the fleet"},
}

// Codes is the error table, in its own order.
func Codes() []CodeInfo { return slices.Clone(codeTable) }

// Info is the code's row. An unknown code is treated as internal.
func (c Code) Info() CodeInfo {
	for _, row := range codeTable {
		if row.Code == c {
			return row
		}
	}
	return CodeInternal.Info()
}

// Error is what crosses a process boundary: code, what happened, whether the
// action was dispatched, and what to do next.
type Error struct {
	Code              Code       `json:"code"`
	Message           string     `json:"message"`
	Dispatched        Dispatched `json:"dispatched"`
	Retryable         bool       `json:"retryable"`
	RecommendedAction string     `json:"recommended_action,omitempty"`
	RefsHold          bool       `json:"refs_hold"`
	// RetryAfterMS, where the fleet can tell when to try again.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
	// Position, where owners wait for a worker: 1 is next.
	Position int `json:"position,omitempty"`
}

// Error is one line for people.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an error with its row's defaults.
func Errorf(c Code, format string, args ...any) *Error {
	row := c.Info()
	msg := row.Text
	if format != "" {
		msg = fmt.Sprintf(format, args...)
	}
	return &Error{
		Code: c, Message: msg, Dispatched: row.Dispatched, Retryable: row.Retryable,
		RecommendedAction: row.Recommended, RefsHold: row.RefsHold,
	}
}

// WithDispatched is the error with what is really known of the dispatch. What
// may have reached the page is not retryable.
func (e *Error) WithDispatched(d Dispatched) *Error {
	c := *e
	c.Dispatched = d
	if d != DispatchedNo {
		c.Retryable = false
	}
	return &c
}
