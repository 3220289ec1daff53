package chaos

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/protocol"
)

// tenants whose agents work at the same time.
var tenants = []protocol.Tenant{"a", "b"}

// maxStore is what JetStream may promise to its streams: more than they reserve.
const maxStore = 1 << 40

// folder is a run's data. Its layout is that of dev where both have the same.
type folder struct{ devfleet.Folder }

func (f folder) prepare() error {
	for _, dir := range []string{"secrets", "nats", "store", "scratch", "logs", "dispatches"} {
		if err := os.MkdirAll(f.Path(dir), 0o700); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	for _, name := range []string{"store-access", "store-secret"} {
		if err := f.writeSecret(name, rand.Text()); err != nil {
			return err
		}
	}
	_, err := checkpoints.LoadOrCreateKeyring(f.Path("secrets", "keyring"))
	return err
}

func (f folder) writeSecret(name, secret string) error {
	return f.write(f.Path("secrets", name), secret+"\n")
}

func (folder) write(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}

// writeServers writes the servers' configurations and every user's password.
func (f folder) writeServers(n network) (deploy.Passwords, error) {
	base := deploy.Options{Shards: protocol.Shards(1), MaxStore: maxStore, Cluster: &deploy.Cluster{}}
	for _, t := range tenants {
		base.Tenants = append(base.Tenants, deploy.Tenant{Name: t})
	}
	base.Passwords = deploy.GeneratePasswords(base)
	for user, password := range base.Passwords {
		if err := f.writeSecret(filepath.Base(f.PasswordFile(user)), string(password)); err != nil {
			return nil, err
		}
	}
	for _, name := range servers {
		if err := f.writeServer(n, base, name); err != nil {
			return nil, err
		}
	}
	return base.Passwords, nil
}

func (f folder) writeServer(n network, o deploy.Options, name string) (err error) {
	host := hostOf(name)
	o.ServerName, o.StoreDir = name, f.Path("nats", name)
	if o.Listen, err = n.listen(host, portNATS); err != nil {
		return err
	}
	o.Cluster = &deploy.Cluster{Name: "chaos"}
	if o.Cluster.Listen, err = n.listen(host, portRoute); err != nil {
		return err
	}
	for _, other := range servers {
		route, err := n.reach(host, hostOf(other), portRoute)
		if err != nil {
			return err
		}
		o.Cluster.Routes = append(o.Cluster.Routes, route)
	}
	text, err := deploy.Config(o)
	if err != nil {
		return err
	}
	if text, err = unadvertised(text); err != nil {
		return err
	}
	return f.write(f.config(name), text)
}

func (f folder) config(server string) string { return f.Path("nats", server+".conf") }

// unadvertised keeps the servers from telling clients of each other: a worker
// that knows its own server only must not find the others.
func unadvertised(config string) (string, error) {
	before, after, ok := strings.Cut(config, "\ncluster {\n")
	if !ok {
		return "", errors.New("the servers' configuration has no cluster")
	}
	return before + "\ncluster {\n  no_advertise: true\n" + after, nil
}
