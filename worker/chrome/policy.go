package chrome

import (
	"cmp"
	"context"

	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/policies"
)

// PopupPolicies are by their names in documents and configuration.
var PopupPolicies = map[string]supervisor.PopupPolicy{"deny": supervisor.PopupsDeny, "adopt": supervisor.PopupsAdopt}

// obey puts the browser under the policy of its owner, and keeps it under each later
// version. Before that, its proxy lets nothing through.
func (b *Browser) obey(ctx context.Context, spec environment.Spec) error {
	var first *policies.Effective
	release, err := b.cfg.Policies.Hold(ctx, spec.Key.Tenant, spec.Policy, func(e policies.Effective) {
		if first == nil {
			first = &e
		}
		b.policy.Store(e.Egress)
		b.proxy.SetPolicy(e.Egress)
	})
	if err != nil {
		return err
	}
	b.released = release
	popups, named := PopupPolicies[first.Popups]
	if !named {
		popups = b.cfg.Popups
	}
	b.supervised.SetPopups(popups)
	b.supervised.SetDialogPolicy(b.cfg.dialogPolicy(cmp.Or(spec.Dialogs, first.Dialogs)), b.cfg.DialogTimeout)
	return nil
}
