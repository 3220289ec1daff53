package fleettest

import (
	"testing"

	"github.com/browserfleet/browserfleet/internal/relay"
)

// Network is between a worker and the server.
type Network struct{ *relay.Relay }

// newNetwork forwards to target, HOST:PORT, until the test ends.
func newNetwork(t *testing.T, target string) Network {
	t.Helper()
	r, err := relay.Start("127.0.0.1:0", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return Network{r}
}

// Cut stops everything, in both directions, once more.
func (n Network) Cut() { n.Hold(true) }

// Heal undoes one Cut.
func (n Network) Heal() { n.Hold(false) }
