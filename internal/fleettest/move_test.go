package fleettest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
)

// The way to another number of shards (docs/operations.md): drain, new streams,
// the same object store.
func TestEnvironmentsMoveToAFleetWithAnotherNumberOfShards(t *testing.T) {
	t.Parallel()
	keys, err := checkpoints.LoadOrCreateKeyring(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	objects := objectstore.NewMemory()
	const owners = 6
	before := map[protocol.Owner]protocol.Generation{}
	old := Start(t, Options{Workers: 1, Objects: objects, Keys: keys, Shards: protocol.Shards(1)})
	for n := range owners {
		a := old.Agent(t, "a", protocol.Owner(fmt.Sprint("owner", n)))
		a.Do(protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"})
		res := a.Do(protocol.KindFill, &protocol.FillArgs{Target: protocol.Target{ElementRef: "e1"}, Value: "x"})
		if res.Status != protocol.StatusOK {
			t.Fatalf("fill: %v", res.Error)
		}
		before[a.Key.Owner] = res.Generation
	}
	old.Workers[0].stop() // it drains first
	moved := Start(t, Options{Workers: 2, Objects: objects, Keys: keys, Shards: protocol.Shards(3)})
	for owner, generation := range before {
		res := moved.Agent(t, "a", owner).Do(protocol.KindObserve, &protocol.ObserveArgs{})
		switch {
		case res.Status != protocol.StatusOK || res.Restored == nil || res.Restored.CheckpointAt == nil:
			t.Errorf("%s: %s %v, restored %+v", owner, res.Status, res.Error, res.Restored)
		case res.Generation <= generation:
			t.Errorf("%s: generation %d after %d", owner, res.Generation, generation)
		case !strings.Contains(res.Observation.Text, "Fills: 1"):
			t.Errorf("%s: the state is lost: %s", owner, res.Observation.Text)
		}
	}
}
