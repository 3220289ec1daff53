package chaos

import "slices"

type role string

const (
	roleServer      role = "server"
	roleStore       role = "store"
	roleCoordinator role = "coordinator"
	roleWorker      role = "worker"
)

// hub is where the store, the agents and the checker are. It has no faults.
const hub = "hub"

// member is a process of the fleet and where it runs.
type member struct {
	name string
	host string
	role role
	// servers that it knows; none is every server.
	servers []string
}

// members in the order of their start.
var members = []member{
	{"server-1", "n1", roleServer, nil},
	{"server-2", "n2", roleServer, nil},
	{"server-3", "n3", roleServer, nil},
	{"store", hub, roleStore, nil},
	{"coordinator-1", "c1", roleCoordinator, nil},
	{"coordinator-2", "c2", roleCoordinator, nil},
	{"worker-1", "n1", roleWorker, []string{"server-1"}},
	{"worker-2", "n2", roleWorker, []string{"server-2"}},
	{"worker-3", "w3", roleWorker, nil},
	{"worker-4", "w4", roleWorker, nil},
}

var (
	servers      = names(roleServer)
	coordinators = names(roleCoordinator)
	workers      = names(roleWorker)
)

func names(r role) (out []string) {
	for _, m := range members {
		if m.role == r {
			out = append(out, m.name)
		}
	}
	return out
}

// hostNames are the hosts that can have faults.
func hostNames() (out []string) {
	for _, m := range members {
		if m.host != hub && !slices.Contains(out, m.host) {
			out = append(out, m.host)
		}
	}
	return out
}

// hostOf is where a process runs.
func hostOf(name string) string {
	for _, m := range members {
		if m.name == name {
			return m.host
		}
	}
	return hub
}
