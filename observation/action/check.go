package action

import (
	"context"
	"strconv"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// check clicks a checkbox, radio or switch unless it is as wanted already, and
// looks whether it is so then. Of a box that is not drawn its label is clicked.
func (r *run) check(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.CheckArgs)
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	check := prepareArgs{Kind: forCheck, Checked: *args.Checked}
	t, p, refused := r.prepare(acting, args.Target, check)
	if refused != nil || p.Done {
		return refused
	}
	if refused := r.begin(); refused != nil {
		r.disarm()
		return refused
	}
	if failed := r.clickIn(acting, t, check, &p, leftOnce); failed != nil {
		return failed
	}
	if failed := r.settle(ctx, p.Mark); failed != nil {
		return failed
	}
	return r.isChecked(acting, t, *args.Checked)
}

// isChecked reads the state back. A page that went elsewhere, opened a dialog or
// dropped the box is left to the observation.
func (r *run) isChecked(ctx context.Context, t observation.Target, want bool) *protocol.Error {
	if r.did.Verdict == protocol.VerdictDialogOpened || r.did.Verdict == protocol.VerdictNavigated || r.frameLeft(r.page.State()) {
		return nil
	}
	var c struct {
		refusal
		Checked string `json:"checked"`
	}
	if err := observation.Invoke(ctx, r.view, "readChecked", nodeOf(t), &c); err != nil {
		if r.wentOn(err) {
			return nil
		}
		return r.fail(ctx, "read the state back", err).WithDispatched(protocol.DispatchedYes)
	}
	if c.Refused != "" || c.Checked == strconv.FormatBool(want) {
		return nil
	}
	return protocol.Errorf(protocol.CodeNoEffect, "%s was clicked and is not %s", t.Ref, word(want)).WithDispatched(protocol.DispatchedYes)
}

func word(checked bool) string {
	if checked {
		return "checked"
	}
	return "unchecked"
}
