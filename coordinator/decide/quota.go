package decide

import (
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// QuotaRetry is when an agent of a tenant at its quota may try again: by then an
// idle environment may have gone to sleep.
const QuotaRetry = 5 * time.Second

// Over is why a tenant that uses so much may not open one more environment; nil
// where it may. fresh: the owner has no record yet.
func Over(q protocol.Quotas, used protocol.TenantUsage, fresh bool) *protocol.Error {
	var e *protocol.Error
	switch {
	case fresh && q.Owners >= 0 && used.Owners >= q.Owners:
		e = protocol.Errorf(protocol.CodeQuotaExceeded, "the tenant has %d owners, and may have %d", used.Owners, q.Owners)
	case q.Environments >= 0 && used.Environments >= q.Environments:
		e = protocol.Errorf(protocol.CodeQuotaExceeded, "the tenant has %d environments open, and may have %d", used.Environments, q.Environments)
	case q.QueueBytes >= 0 && used.QueueBytes > q.QueueBytes:
		e = protocol.Errorf(protocol.CodeQuotaExceeded, "%d bytes of the tenant's requests wait, and %d may", used.QueueBytes, q.QueueBytes)
	default:
		return nil
	}
	e.RetryAfterMS = QuotaRetry.Milliseconds()
	return e
}
