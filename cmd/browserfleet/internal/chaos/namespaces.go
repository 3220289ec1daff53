package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/internal/relay"
)

// setupTimeout bounds one call of ip(8) or tc(8).
const setupTimeout = 10 * time.Second

// entry is the command that puts a program into namespaces of its own. Its
// process is the first one there: when it ends, the kernel ends all others.
func entry(program []string) []string {
	argv := []string{"unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if os.Geteuid() != 0 {
		argv = append(argv, "--user", "--map-root-user")
	}
	return append(append(argv, "--"), program...)
}

// probe does once what a network of namespaces needs.
const probe = `mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link add br0 type bridge && ip netns add a &&
ip link add va type veth peer name eth0 netns a && ip link set va master br0 && nsenter --net=/run/netns/a -- tc qdisc add dev eth0 root tbf rate 512kbit burst 8kb latency 1s`

// NamespacesWork tells why network namespaces cannot be used here; nil: they can.
func NamespacesWork(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	argv := entry([]string{"sh", "-c", probe})
	return runTool(exec.CommandContext(ctx, argv[0], argv[1:]...))
}

// Inside is the command that runs a program in namespaces.
func Inside(ctx context.Context, program []string) *exec.Cmd {
	argv := entry(program)
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}

// runTool runs a tool and makes an error of what it says.
func runTool(cmd *exec.Cmd) error {
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

func tool(argv ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	return runTool(exec.CommandContext(ctx, argv[0], argv[1:]...))
}

// subnet of the bridge. It exists in namespaces alone, so nothing of the machine
// can have it, too.
const subnet = "10.77.0."

// namespaces is a network of network namespaces at one bridge, inside those that
// entry made.
type namespaces struct {
	address map[string]string
	store   *relay.Relay // the store listens on loopback alone
}

func newNamespaces() (*namespaces, error) {
	n := &namespaces{address: map[string]string{hub: subnet + "1"}}
	setup := [][]string{
		// The names of network namespaces are files; these go with the namespace.
		{"mount", "-t", "tmpfs", "tmpfs", "/run"},
		{"mkdir", "/run/netns"},
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", "br0", "type", "bridge"},
		{"ip", "address", "add", n.address[hub] + "/24", "dev", "br0"},
		{"ip", "link", "set", "br0", "up"},
	}
	for i, host := range hostNames() {
		n.address[host] = subnet + strconv.Itoa(11+i)
		setup = append(setup, [][]string{
			{"ip", "netns", "add", host},
			{"ip", "link", "add", veth(host), "type", "veth", "peer", "name", "eth0", "netns", host},
			{"ip", "link", "set", veth(host), "master", "br0", "up"},
			{"ip", "-n", host, "link", "set", "lo", "up"},
			{"ip", "-n", host, "address", "add", n.address[host] + "/24", "dev", "eth0"},
			{"ip", "-n", host, "link", "set", "eth0", "up"},
		}...)
	}
	for _, argv := range setup {
		if err := tool(argv...); err != nil {
			return nil, fmt.Errorf("set up the network: %w", err)
		}
	}
	return n, n.startStore()
}

func (n *namespaces) startStore() (err error) {
	n.store, err = relay.Start(net.JoinHostPort(n.address[hub], portStore.String()), net.JoinHostPort("127.0.0.1", portStore.String()))
	return err
}

func veth(host string) string { return "v-" + host }

func (p port) String() string { return strconv.Itoa(int(p)) }

func (n *namespaces) listen(host string, p port) (string, error) {
	if host == hub {
		return net.JoinHostPort("127.0.0.1", p.String()), nil
	}
	return n.reach(host, host, p)
}

func (n *namespaces) reach(_, to string, p port) (string, error) {
	return net.JoinHostPort(n.address[to], p.String()), nil
}

func (n *namespaces) command(host string, program []string) []string {
	if host == hub {
		return program
	}
	// It becomes the program, so that signals for it reach the program.
	return slices.Concat([]string{"nsenter", "--net=" + filepath.Join("/run/netns", host), "--"}, program)
}

func (n *namespaces) cut(host string, on bool) error {
	if on {
		return tool("ip", "link", "set", veth(host), "nomaster")
	}
	return tool("ip", "link", "set", veth(host), "master", "br0")
}

func (n *namespaces) part(a, b string, on bool) error {
	verb := "del"
	if on {
		verb = "add"
	}
	return errors.Join(
		tool("ip", "-n", a, "route", verb, "blackhole", n.address[b]+"/32"),
		tool("ip", "-n", b, "route", verb, "blackhole", n.address[a]+"/32"))
}

func (n *namespaces) slow(host string, on bool) error {
	if !on {
		return tool("tc", "-n", host, "qdisc", "del", "dev", "eth0", "root")
	}
	return tool("tc", "-n", host, "qdisc", "add", "dev", "eth0", "root", "tbf",
		"rate", fmt.Sprintf("%dbps", relay.Bandwidth), "burst", strconv.Itoa(slowBurst), "latency", slowest.String())
}

// close ends what is in this process; the rest goes with the namespaces.
func (n *namespaces) close() error {
	if n.store != nil {
		n.store.Close()
	}
	return nil
}
