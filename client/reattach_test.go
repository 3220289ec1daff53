package client

import (
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

// Ids belong to an owner: who asks under another one is told so, however old the
// request is.
func TestAResultOfAnotherOwnerIsNotFoundAndWhy(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	o := connect(t, s, "tenant.a").Owner("one")
	id := protocol.NewRequestID(time.Now())
	for fate, code := range map[string]protocol.Code{
		protocol.FateNotStored: protocol.CodeNotFound, protocol.FateTooOld: protocol.CodeRequestTooOld,
	} {
		f.says(func(protocol.ResultQuery) protocol.ResultReply {
			return protocol.ResultReply{V: protocol.Version, Fate: fate}
		})
		_, err := o.Reattach(testContext(t), id)
		if Code(err) != code || !strings.Contains(err.Error(), "owner one has no re") || !strings.Contains(err.Error(), "another owner's") {
			t.Errorf("%s: %v", fate, err)
		}
	}
}
