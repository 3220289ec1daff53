package main

import (
	"reflect"

	"github.com/browserfleet/browserfleet/protocol"
)

// enums are the closed sets of strings of the contract. A missing constant fails
// a test.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[protocol.Lane]():   {protocol.LaneQueue, protocol.LaneControl},
	reflect.TypeFor[protocol.Effect](): {protocol.EffectRead, protocol.EffectWrite},
	reflect.TypeFor[protocol.Status](): {
		protocol.StatusOK, protocol.StatusError, protocol.StatusCancelled,
		protocol.StatusExpired, protocol.StatusOutcomeUnknown,
	},
	reflect.TypeFor[protocol.Dispatched](): {
		protocol.DispatchedNo, protocol.DispatchedYes, protocol.DispatchedUnknown,
	},
	reflect.TypeFor[protocol.Verdict](): {
		protocol.VerdictNavigated, protocol.VerdictDOMChanged, protocol.VerdictDialogOpened,
		protocol.VerdictPopup, protocol.VerdictDownload, protocol.VerdictTabClosed, protocol.VerdictNoneYet,
		protocol.VerdictRefused, protocol.VerdictUnknown,
	},
	reflect.TypeFor[protocol.Mode](): {
		protocol.ModeSummary, protocol.ModeInteractive, protocol.ModeDocument,
	},
	reflect.TypeFor[protocol.Persistence](): {
		protocol.PersistResume, protocol.PersistEphemeral,
	},
	reflect.TypeFor[protocol.DialogType](): {
		protocol.DialogAlert, protocol.DialogConfirm, protocol.DialogPrompt, protocol.DialogBeforeUnload,
	},
	reflect.TypeFor[protocol.DialogAction](): {protocol.DialogAccept, protocol.DialogDismiss},
	reflect.TypeFor[protocol.DialogPolicy](): {
		protocol.DialogMustRespond, protocol.DialogAutoDismiss, protocol.DialogAutoAccept,
	},
	reflect.TypeFor[protocol.Capability](): {
		protocol.CapabilityCheckpoint, protocol.CapabilityScreenshot, protocol.CapabilityExtract, protocol.CapabilityCredential,
	},
	// RecordNone is the absence of a record; no stored record has it.
	reflect.TypeFor[protocol.RecordState](): {
		protocol.RecordUnassigned, protocol.RecordAnswering, protocol.RecordAssigned,
		protocol.RecordMoving, protocol.RecordHibernated, protocol.RecordFailed, protocol.RecordDeleted,
	},
}

// patterns are the forms of ids. An id that is absent is no string at all.
var patterns = map[reflect.Type]string{
	reflect.TypeFor[protocol.Tenant]():        `^[A-Za-z0-9_-]{1,64}$`,
	reflect.TypeFor[protocol.Owner]():         `^[A-Za-z0-9_-]{1,64}$`,
	reflect.TypeFor[protocol.WorkerID]():      `^[A-Za-z0-9_-]{1,64}$`,
	reflect.TypeFor[protocol.RequestID]():     `^[A-Za-z0-9_-]{1,64}$`,
	reflect.TypeFor[protocol.LeaseID]():       `^[A-Za-z0-9_-]{1,64}$`,
	reflect.TypeFor[protocol.ObservationID](): `^o-[0-9]+-[0-9]+$`,
	reflect.TypeFor[protocol.DialogID]():      `^d-[0-9]+-[0-9]+$`,
	// The two further spellings are accepted in requests.
	reflect.TypeFor[protocol.Ref]():      `^(@|ref=)?e[0-9]{1,9}$`,
	reflect.TypeFor[protocol.GroupRef](): `^g[0-9]+$`,
	reflect.TypeFor[protocol.PageID]():   `^t[0-9]+$`,
}
