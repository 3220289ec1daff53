package supervisor

import (
	protocol "github.com/chromedp/cdproto/cdp"
)

// maxHappened bounds each list of a Happened.
const maxHappened = 100

// Navigation is a commit of the main frame.
type Navigation struct {
	URL          string
	LoaderID     protocol.LoaderID
	SameDocument bool // history.pushState or a fragment
	Restored     bool // the document came back from the bfcache as it was left
}

// Happened is what a watch has collected, each list in wire order and at most
// 100 long.
type Happened struct {
	Dialogs       []Dialog // opened, the first 20; State is what it was then
	DialogsClosed []Dialog // the first 20
	// DialogsOpened counts all; DialogsDismissed those of them that were dismissed
	// unseen, as a storm.
	DialogsOpened, DialogsDismissed int

	Popups       []Popup
	TabsOpened   []TabID // of the whole environment, windows that were adopted
	TabsClosed   []TabID // of the whole environment
	Downloads    []Download
	Prints       []Print
	Prompts      []Prompt
	Navigations  []Navigation
	Failed       []FailedRequest
	Console      []ConsoleMessage // distinct ones, the newest last
	ConsoleCut   int              // occurrences of messages that are not among them
	Crashed      bool             // the page, or one of TabsCrashed
	TabsCrashed  []TabID
	Unresponsive bool // the page, see Snapshot
	FrameCrashed bool // a cross-site iframe
	Orphaned     bool // see Snapshot.Orphaned
	Dropped      int  // entries beyond the bound
}

// Watch collects what happens on a page, or on all pages of an environment, from
// its making until Close.
type Watch struct {
	tabs *tabs
	of   map[*Watch]struct{} // where it is registered
	wake chan struct{}
	// Protected by tabs.mu.
	happened Happened
	console  consoleLog
}

// Watch begins to collect. Whatever was seen before is in Snapshot.
func (p *Page) Watch() *Watch { return p.newWatch(p.watches) }

// Watch begins to collect what happens in any tab, also in those that open later.
func (s *Supervisor) Watch() *Watch { return s.tabs.newWatch(s.tabs.everywhere) }

func (t *tabs) newWatch(of map[*Watch]struct{}) *Watch {
	w := &Watch{tabs: t, of: of, wake: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	of[w] = struct{}{}
	return w
}

// Wake receives once after something was collected, however much it was, and after
// a frame got another document or left.
func (w *Watch) Wake() <-chan struct{} { return w.wake }

// Take returns what was collected since the last Take.
func (w *Watch) Take() Happened {
	w.tabs.mu.Lock()
	defer w.tabs.mu.Unlock()
	happened := w.happened
	w.happened = Happened{}
	happened.Console, happened.ConsoleCut = w.console.entries, w.console.cut
	w.console = consoleLog{}
	return happened
}

// Close stops collecting.
func (w *Watch) Close() {
	w.tabs.mu.Lock()
	defer w.tabs.mu.Unlock()
	delete(w.of, w)
}

// tell adds to every watch of the page and of the environment. Callers hold mu.
func (p *Page) tell(add func(*Happened)) {
	for w := range p.watches {
		w.add(add)
	}
	for w := range p.everywhere {
		w.add(add)
	}
}

// tellAll adds to every watch there is. Callers hold mu.
func (t *tabs) tellAll(add func(*Happened)) {
	for _, p := range t.pages {
		for w := range p.watches {
			w.add(add)
		}
	}
	for w := range t.everywhere {
		w.add(add)
	}
}

func (w *Watch) add(add func(*Happened)) {
	add(&w.happened)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func bounded[T any](h *Happened, list []T, item T) []T {
	if len(list) >= maxHappened {
		h.Dropped++
		return list
	}
	return append(list, item)
}
