package protocol

import "encoding/json"

// Status is how a request ended.
type Status string

// Every stored request gets exactly one of these.
const (
	StatusOK             Status = "ok"
	StatusError          Status = "error"
	StatusCancelled      Status = "cancelled"
	StatusExpired        Status = "expired"
	StatusOutcomeUnknown Status = "outcome_unknown"
)

// Dispatched says whether anything of the action can have reached the page.
type Dispatched string

// Values of Dispatched.
const (
	DispatchedNo      Dispatched = "no"
	DispatchedYes     Dispatched = "yes"
	DispatchedUnknown Dispatched = "unknown"
)

// Verdict is what the page did.
type Verdict string

// The verdicts.
const (
	VerdictNavigated    Verdict = "navigated"
	VerdictDOMChanged   Verdict = "dom_changed"
	VerdictDialogOpened Verdict = "dialog_opened"
	VerdictPopup        Verdict = "popup"
	VerdictDownload     Verdict = "download"
	// VerdictTabClosed: the tab is gone; another one is shown.
	VerdictTabClosed Verdict = "tab_closed"
	// VerdictNoneYet is honest about late effects: the next result tells them.
	VerdictNoneYet Verdict = "none_yet"
	VerdictRefused Verdict = "refused"
	VerdictUnknown Verdict = "unknown"
)

// Result is the one terminal answer to a request.
type Result struct {
	V          int        `json:"v"`
	Tenant     Tenant     `json:"tenant"`
	Owner      Owner      `json:"owner"`
	Request    RequestID  `json:"request"`
	Lane       Lane       `json:"lane"`
	Seq        Seq        `json:"seq"`
	Kind       Kind       `json:"kind,omitempty"`
	Status     Status     `json:"status"`
	Error      *Error     `json:"error,omitempty"`
	Dispatched Dispatched `json:"dispatched"`
	Verdict    Verdict    `json:"verdict,omitempty"`

	Worker     WorkerID   `json:"worker,omitempty"`
	Epoch      Epoch      `json:"epoch,omitempty"`
	Generation Generation `json:"generation,omitempty"`
	Attempt    int        `json:"attempt,omitempty"`
	// Nonce lets a writer whose publish timed out recognise its own result.
	Nonce string `json:"nonce"`

	StoredAt   Time `json:"stored_at"`
	FinishedAt Time `json:"finished_at"`

	Transition  *Transition     `json:"transition,omitempty"`
	Observation *Observation    `json:"observation,omitempty"`
	Extraction  *Extraction     `json:"extraction,omitempty"`
	Screenshot  *Screenshot     `json:"screenshot,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	// Steps are what became of those of a batch, as far as it came.
	Steps []StepResult `json:"steps,omitempty"`

	// Restored is in the first result after the environment was restored.
	Restored *Restored `json:"restored,omitempty"`
	// Warnings tell what went wrong beside the action: a checkpoint that could
	// not be saved, say.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Warning is something that the agent should know and that failed nothing.
type Warning struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Transition is the before/after evidence of an action.
type Transition struct {
	ID     string        `json:"id"`
	Before *PageEvidence `json:"before,omitempty"`
	After  *PageEvidence `json:"after,omitempty"`
	Timing Timing        `json:"timing"`
	// Popups, downloads and requests that the page tried and policy refused.
	Popups    []string `json:"popups,omitempty"`
	Downloads []string `json:"downloads,omitempty"`
	Denied    []Denial `json:"denied,omitempty"`
	// Dialogs that opened during the action, DialogsClosed those that closed, at
	// most 20 each; DialogStorm counts them when there were more.
	Dialogs       []Dialog       `json:"dialogs,omitempty"`
	DialogsClosed []Dialog       `json:"dialogs_closed,omitempty"`
	DialogStorm   *DialogStorm   `json:"dialog_storm,omitempty"`
	Prints        []PrintRequest `json:"prints,omitempty"`
	// Prompts are what a person would have been asked, and was refused.
	Prompts []Prompt `json:"prompts,omitempty"`
	// Console is what was logged since the action began; ConsoleOmitted counts
	// what did not fit.
	Console        []LogEntry `json:"console,omitempty"`
	ConsoleOmitted int        `json:"console_omitted,omitempty"`
	// TabsOpened and TabsClosed during the action, by whom ever.
	TabsOpened []PageID `json:"tabs_opened,omitempty"`
	TabsClosed []PageID `json:"tabs_closed,omitempty"`
	// TabsCrashed: several, when they shared the process.
	TabsCrashed []PageID `json:"tabs_crashed,omitempty"`
}

// Prompt is what a browser would have asked a person: file_chooser, http_auth or
// external_protocol. It was refused.
type Prompt struct {
	Type string `json:"type"`
	// URL asked for it; of external_protocol, the one that was to be opened.
	URL     string  `json:"url,omitempty"`
	FrameID FrameID `json:"frame_id,omitempty"`
	// Detail is the scheme and realm of http_auth, a server's text, and the mode of a
	// file chooser.
	Detail string `json:"detail,omitempty"`
	At     Time   `json:"at"`
}

// PageEvidence says which page it was, without its text.
type PageEvidence struct {
	ObservationID ObservationID `json:"observation_id,omitempty"`
	URL           string        `json:"url"`
	Digest        string        `json:"digest,omitempty"`
}

// Timing of an action, in milliseconds.
type Timing struct {
	QueueMS    int64   `json:"queue_ms"`
	StartMS    float64 `json:"start_ms"`
	DispatchMS float64 `json:"dispatch_ms"`
	SettleMS   float64 `json:"settle_ms"`
	ObserveMS  float64 `json:"observe_ms"`
	SaveMS     float64 `json:"save_ms,omitempty"`
	TotalMS    float64 `json:"total_ms"`
}

// Denial is a request of the page that the egress policy refused.
type Denial struct {
	Host   string `json:"host"`
	Port   int    `json:"port"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// LogEntry is a console message or an uncaught exception. Text is the page's.
type LogEntry struct {
	// Level is exception, error, warning or log.
	Level string `json:"level"`
	Text  string `json:"text"`
	// Count is how often exactly this came.
	Count int `json:"count"`
	// Where it came from: the top of the stack. Line and column count from 1.
	URL      string  `json:"url,omitempty"`
	Line     int64   `json:"line,omitempty"`
	Column   int64   `json:"column,omitempty"`
	Function string  `json:"function,omitempty"`
	FrameID  FrameID `json:"frame_id,omitempty"`
}

// Screenshot is a picture, inline.
type Screenshot struct {
	MediaType string `json:"media_type"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Bytes     int    `json:"bytes"`
	Data      []byte `json:"data"`
}

// Restored is the fidelity report: what survived the loss of an environment.
type Restored struct {
	Generation Generation `json:"generation"`
	// From is clean (nothing was kept), checkpoint or hibernated.
	From   string `json:"from"`
	Reason string `json:"reason"`
	// CheckpointAt and AgeMS are of the checkpoint that was restored.
	CheckpointAt *Time `json:"checkpoint_at,omitempty"`
	AgeMS        int64 `json:"age_ms,omitempty"`
	TookMS       int64 `json:"took_ms"`
	// Survived counts what is back: cookies, local_storage_origins...
	Survived map[string]int `json:"survived,omitempty"`
	// Lost names what is not.
	Lost []LostState `json:"lost,omitempty"`
	// LastURL is where the environment was; it is not opened again by itself.
	LastURL string `json:"last_url,omitempty"`
	// StateLost are answered effects that the restored state does not hold.
	StateLost []RequestID `json:"state_lost,omitempty"`
	// Skipped checkpoints could not be used.
	Skipped []LostState `json:"skipped,omitempty"`
}

// LostState is something that did not survive, with the reason.
type LostState struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Types of events. An action's comes with its result; the others when it happens,
// whether an action runs or not.
const (
	EventAction            = "action"
	EventDialogOpened      = "dialog_opened"
	EventDialogClosed      = "dialog_closed"
	EventPopup             = "popup"
	EventDownload          = "download"
	EventPageCrashed       = "page_crashed"
	EventGenerationChanged = "generation_changed"
	EventHibernated        = "hibernated"
)

// Event is what BF_EV stores and events.O carries: no page text, no secrets.
type Event struct {
	V          int         `json:"v"`
	Tenant     Tenant      `json:"tenant"`
	Owner      Owner       `json:"owner"`
	Type       string      `json:"type"`
	At         Time        `json:"at"`
	Generation Generation  `json:"generation,omitempty"`
	Request    RequestID   `json:"request,omitempty"`
	Kind       Kind        `json:"kind,omitempty"`
	Status     Status      `json:"status,omitempty"`
	Code       Code        `json:"code,omitempty"`
	Verdict    Verdict     `json:"verdict,omitempty"`
	Transition *Transition `json:"transition,omitempty"`
	// Dialog that opened or closed, without what the page said in it.
	Dialog *Dialog `json:"dialog,omitempty"`
	// Tab that a window became, where windows are adopted.
	Tab PageID `json:"tab,omitempty"`
	// URL of a popup or download, without query and fragment.
	URL string `json:"url,omitempty"`
	// Missed counts what happened too fast to be told one by one.
	Missed int `json:"missed,omitempty"`
}
