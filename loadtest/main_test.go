package loadtest

import (
	"testing"

	"github.com/browserfleet/browserfleet/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
