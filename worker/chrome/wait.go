package chrome

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/observation/action"
	"github.com/browserfleet/browserfleet/protocol"
)

// waitDefault is how long a wait takes whose args do not say.
const waitDefault = 10 * time.Second

// wait waits for a condition. A text or a URL counts only as far as the agent
// may see it: otherwise a page that shows a secret would answer whether it
// begins with a certain letter.
func (r *run) wait(ctx context.Context, args *protocol.WaitArgs) {
	begun := time.Now()
	r.act(action.Perform(ctx, r.b.tab, r.b.observer, *r.action, r.dispatch))
	if r.out.Err != nil || r.b.mayTell(ctx, args) {
		return
	}
	// As if it had not happened, to the moment.
	pause(ctx, time.Until(begun.Add(cmp.Or(time.Duration(args.TimeoutMS)*time.Millisecond, waitDefault))))
	r.out.Verdict = ""
	r.out.Err = protocol.Errorf(protocol.CodeWaitTimeout, "")
}

// mayTell reports whether a condition that holds says nothing of a secret.
func (b *Browser) mayTell(ctx context.Context, args *protocol.WaitArgs) bool {
	var shown, wanted string
	switch args.Until {
	case "url":
		shown, wanted = b.page.Snapshot().URL, args.URL
	case "text":
		seen, err := b.observer.Observe(ctx, b.tab, protocol.ObserveBudget{Mode: protocol.ModeDocument, TextChars: protocol.MaxRetainedChars})
		if err != nil {
			return len(b.masker.spellings) == 0
		}
		// What the observer keeps of a text has no secrets in it.
		return !strings.Contains(seen.Text, masked) || strings.Contains(seen.Text, args.Text)
	}
	hidden := b.masker.text(shown)
	return hidden == shown || strings.Contains(hidden, wanted)
}
