package worker_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker"
	"github.com/browserfleet/browserfleet/worker/chrome"
)

// alias is the site under another name, which is another site to a browser.
func alias(url string) string {
	return strings.Replace(strings.TrimPrefix(url, "http://"), "127.0.0.1", "localhost", 1)
}

// askingPage are pages that ask; "" for others.
func askingPage(req *http.Request) string {
	switch req.URL.Path {
	case "/ask":
		return `<p id=p>nothing yet</p><button onclick="p.textContent='said '+confirm('Sure?')">Ask</button>`
	case "/frame":
		// The frame asks, and its parent takes it away: whoever answers then stops
		// the whole browser.
		return `<iframe id=f src="http://` + alias("http://"+req.Host) + `/child"></iframe>
			<script>onmessage=()=>setTimeout(()=>{document.cookie='late=1;path=/';f.remove()},300)</script>`
	case "/child":
		return `<script>parent.postMessage('asking','*');setTimeout(()=>confirm('x'),50)</script>`
	}
	return ""
}

func TestADialogIsAnsweredPastTheQueue(t *testing.T) {
	t.Parallel()
	r := newReal(t, chrome.Limits{})
	res := r.result(one, r.send(one, protocol.KindOpen, &protocol.OpenArgs{URL: r.site.URL + "/ask"}))
	if res.Status != protocol.StatusOK || len(res.Observation.Elements) != 1 {
		t.Fatalf("%+v %+v", res.Error, res.Observation)
	}
	button := protocol.Target{ElementRef: res.Observation.Elements[0].Ref}
	res = r.result(one, r.send(one, protocol.KindClick, &protocol.ClickArgs{Target: button}))
	if res.Verdict != protocol.VerdictDialogOpened || len(res.Observation.PendingDialogs) != 1 {
		t.Fatalf("%s %+v", res.Verdict, res.Observation)
	}
	id := res.Observation.PendingDialogs[0].ID
	// An action that waits behind the dialog is not in the answer's way.
	blocked := r.result(one, r.send(one, protocol.KindClick, &protocol.ClickArgs{Target: button}))
	if blocked.Error == nil || blocked.Error.Code != protocol.CodeDialogOpen || blocked.Dispatched != protocol.DispatchedNo {
		t.Errorf("behind a dialog: %+v", blocked.Error)
	}
	first := r.send(one, protocol.KindDialog, &protocol.DialogArgs{DialogID: id, Action: protocol.DialogAccept})
	second := r.send(one, protocol.KindDialog, &protocol.DialogArgs{DialogID: id, Action: protocol.DialogDismiss})
	res = r.result(one, first)
	if res.Status != protocol.StatusOK || res.Lane != protocol.LaneControl || res.Observation == nil || !strings.Contains(res.Observation.Text, "said true") {
		t.Errorf("%s %+v %+v", res.Status, res.Error, res.Observation)
	}
	if res := r.result(one, second); res.Error == nil || res.Error.Code != protocol.CodeDialogClosed || !strings.Contains(res.Error.Message, "agent") {
		t.Errorf("a second answer: %+v", res.Error)
	}
	stale := r.send(one, protocol.KindDialog, &protocol.DialogArgs{DialogID: "d-9-1", Action: protocol.DialogAccept})
	if res := r.result(one, stale); res.Error == nil || res.Error.Code != protocol.CodeStaleControl || res.Dispatched != protocol.DispatchedNo {
		t.Errorf("another generation's: %+v", res.Error)
	}
	if res := r.result(one, r.send(one, protocol.KindObserve, &protocol.ObserveArgs{})); res.Status != protocol.StatusOK || res.Observation.Stale {
		t.Errorf("after it: %+v %+v", res.Error, res.Observation)
	}
}

func TestABrowserWithAnOrphanedDialogIsSavedAndReplaced(t *testing.T) {
	t.Parallel()
	r := newReal(t, chrome.Limits{})
	r.visit("a stranger")
	former := r.profiles()
	// Its result may come before the frame is gone, or tell of the loss.
	res := r.result(one, r.send(one, protocol.KindOpen, &protocol.OpenArgs{URL: r.site.URL + "/frame"}))
	for ctx := r.ctx(); res.Generation < 2; {
		if ctx.Err() != nil {
			t.Fatal("the browser was not replaced")
		}
		res = r.result(one, r.send(one, protocol.KindObserve, &protocol.ObserveArgs{}))
	}
	if res.Restored == nil || res.Restored.Reason != "browser_lost" || res.Restored.Survived["cookies"] != 2 {
		t.Fatalf("restored: %+v", res.Restored)
	}
	told := false
	for _, lost := range res.Restored.Lost {
		told = told || lost.What == "page" && strings.Contains(lost.Reason, "dialog")
	}
	if !told {
		t.Errorf("lost: %+v", res.Restored.Lost)
	}
	r.visit("kim")
	r.until("the former profile's end", func() bool {
		now := r.profiles()
		return len(now) == 1 && now[0] != former[0]
	})
}

// A browser that waits for its agent's answer is not put to sleep: that would answer
// for it. Once nothing is asked any more, it is.
func TestAnEnvironmentThatAsksDoesNotHibernate(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4, func(c *worker.Config) { c.IdleTimeout = time.Millisecond })
	br := b.hold(one)
	br.asks.Store(true)
	close(br.gate)
	if res := b.result(one, b.open(one, 0)); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res.Error)
	}
	for range 3 { // each makes the environment look what is due
		if res := b.result(one, b.send(one, protocol.KindPing, nil)); res.Status != protocol.StatusOK {
			t.Fatalf("%+v", res.Error)
		}
	}
	if len(br.closed) > 0 {
		t.Fatal("closed with a dialog open")
	}
	br.asks.Store(false)
	b.send(one, protocol.KindPing, nil)
	await(t, "the end of the browser", br.closed)
	b.until(one, "the record says so", func(rec *protocol.OwnerRecord) bool { return rec.State == protocol.RecordHibernated })
}

func TestADrainNamesWhoseDialogIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4, quickDrain)
	for _, key := range []protocol.OwnerKey{two, one} {
		br := b.hold(key)
		br.asks.Store(key == one)
		close(br.gate)
		b.changed(key)
	}
	b.stop()
	if diff := cmp.Diff([]protocol.OwnerKey{one}, b.w.Unsaved()); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
	if !b.said.has("waits for an answer to a dialog") {
		t.Errorf("the log does not say why:\n%s", b.said.text())
	}
	if rec, _ := b.record(one); rec.State != protocol.RecordMoving {
		t.Errorf("%s: nobody else can take it", rec.State)
	}
}

func TestAWornBrowserThatAsksIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	close(br.gate)
	b.changed(one)
	br.asks.Store(true)
	br.tired.Store(true)
	for range 3 { // the first may have come before, the second is over with the third
		await(t, "a look at how worn it is", br.weighed)
	}
	if len(br.closed) > 0 || len(b.opened) > 0 {
		t.Fatal("replaced with a dialog open")
	}
	br.asks.Store(false)
	close(await(t, "another browser", b.opened).gate)
}
