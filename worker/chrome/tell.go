package chrome

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/observation/tab"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

const (
	// tellEvery and tellAtOnce bound the events of an environment: a page can make
	// any number, and the stream keeps 500 of an owner.
	tellEvery  = 250 * time.Millisecond
	tellAtOnce = 20
)

// runTell tells what happens in any tab as it happens, until ctx ends.
func (b *Browser) runTell(ctx context.Context, watch *supervisor.Watch, tell func(protocol.Event)) {
	defer watch.Close()
	for {
		select {
		case <-watch.Wake():
		case <-ctx.Done():
			return
		}
		events := live(watch.Take())
		for i, ev := range events {
			if i == tellAtOnce {
				tell(protocol.Event{Type: ev.Type, Missed: len(events) - i})
				break
			}
			tell(ev)
		}
		if len(events) > 0 {
			pause(ctx, tellEvery)
		}
	}
}

// live are the events of what happened, the rarest first: they must not be
// crowded out.
func live(h supervisor.Happened) []protocol.Event {
	var events []protocol.Event
	for _, id := range h.TabsCrashed {
		events = append(events, protocol.Event{Type: protocol.EventPageCrashed, Tab: protocol.PageID(id)})
	}
	for _, d := range h.Dialogs {
		dialog := tab.Dialog(d)
		events = append(events, protocol.Event{Type: protocol.EventDialogOpened, Dialog: &dialog})
	}
	for _, d := range h.DialogsClosed {
		dialog := tab.Dialog(d)
		events = append(events, protocol.Event{Type: protocol.EventDialogClosed, Dialog: &dialog})
	}
	for _, d := range h.Downloads {
		events = append(events, protocol.Event{Type: protocol.EventDownload, URL: d.URL})
	}
	for _, p := range h.Popups {
		events = append(events, protocol.Event{Type: protocol.EventPopup, URL: p.URL})
	}
	for _, id := range h.TabsOpened {
		events = append(events, protocol.Event{Type: protocol.EventPopup, Tab: protocol.PageID(id)})
	}
	return events
}
