package coordinator

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestAnOwnerIsListedWithItsLeasesAndWhoDrives(t *testing.T) {
	t.Parallel()
	now := time.Now()
	rec := &protocol.OwnerRecord{
		Leases: []protocol.ClientLease{
			{ID: "over", Expires: protocol.At(now.Add(-time.Hour))}, {ID: "lives", Expires: protocol.At(now.Add(time.Hour))},
		},
		Control: &protocol.ControlLease{Holder: "anna", Expires: protocol.At(now.Add(time.Hour))},
	}
	info := infoOf(0, owner("a", 1), rec)
	if len(info.Leases) != 1 || info.Leases[0].ID != "lives" || info.Control == nil || info.Control.Holder != "anna" {
		t.Errorf("%+v", info)
	}
}

func TestAWorkerThatIsNotThereIsNotDrained(t *testing.T) {
	t.Parallel()
	c := New(Config{ID: "c", Shards: protocol.Shards(1), Observer: uncounted{}, Logger: slog.New(slog.DiscardHandler)})
	c.registry.heard(beat("w-1", 1, 0))
	if err := c.noWorker("nope"); err.Code != protocol.CodeNotFound || !strings.Contains(err.Message, "w-1") {
		t.Errorf("%+v", err)
	}
}
