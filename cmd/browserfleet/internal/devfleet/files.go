package devfleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strings"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
)

// maxStore is what JetStream may promise to its streams. BF_ACT reserves 4 GiB a
// shard; the server's own default, three quarters of the free disk, may be less.
const maxStore = 1 << 40

func (f *Fleet) writeNATSConfig() error {
	o := deploy.Options{
		Tenants: []deploy.Tenant{{Name: f.Tenant}}, Shards: protocol.Shards(f.Shards), Listen: strings.TrimPrefix(f.NATS, "nats://"),
		StoreDir: f.o.Data.Path("nats", "jetstream"), MaxStore: maxStore,
	}
	passwords, err := f.o.Data.natsPasswords(o)
	if err != nil {
		return err
	}
	o.Passwords = passwords
	text, err := deploy.Config(o)
	if err != nil {
		return err
	}
	return writeFile(f.o.Data.Path("nats", "nats.conf"), []byte(text))
}

// writePolicy allows the public internet and the bundled site. Everything else on
// this machine and its network stays closed.
func (f *Fleet) writePolicy() error {
	u, err := url.Parse(f.Site)
	if err != nil {
		return fmt.Errorf("egress policy: %w", err)
	}
	policy := egressproxy.Policy{Mode: egressproxy.ModeAllowlist, AllowHosts: append([]string{u.Host}, f.o.Allow...)}
	if err := policy.Validate(); err != nil {
		return fmt.Errorf("egress policy: %w", err)
	}
	text, err := json.Marshal(policy)
	if err != nil {
		return fmt.Errorf("egress policy: %w", err)
	}
	return writeFile(f.o.Data.Path("policy.json"), text)
}

// passed are variables of ours that the children may have from this process.
var passed = []string{"BROWSERFLEET_LOG_LEVEL", "BROWSERFLEET_LOG_FORMAT"}

// tried are settings of workers that a developer may try on a fleet of his own;
// what is not named here is the fleet's to set.
var tried = []string{"POPUPS", "DIALOG_POLICY", "DIALOG_TIMEOUT", "CDP_ACTION", "CDP_METHODS", "IDLE_TIMEOUT", "CHECKPOINT_WAIT", "MAX_CPU_LOAD"}

// env is a child's environment: that of this process without our own variables,
// and what the child is told.
func (f *Fleet) env(own map[string]string) []string {
	var out []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, service.Prefix+"_") {
			out = append(out, v)
		}
	}
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	out = append(out, "BROWSERFLEET_EXIT_WITH_STDIN=true")
	out = append(out, f.o.Env...)
	for name, v := range own {
		out = append(out, service.Prefix+"_"+name+"="+v)
	}
	return out
}

func (f *Fleet) natsEnv() []string {
	return f.env(map[string]string{"NATS_CONFIG_FILE": f.o.Data.Path("nats", "nats.conf")})
}

func (f *Fleet) storeSettings() map[string]string {
	access := f.o.Data.StoreAccess(&f.Running)
	return map[string]string{
		"STORE_ENDPOINT":        access.StoreEndpoint,
		"STORE_BUCKET":          access.StoreBucket,
		"STORE_ACCESS_KEY_FILE": access.StoreAccessKeyFile,
		"STORE_SECRET_KEY_FILE": access.StoreSecretKeyFile,
	}
}

func (f *Fleet) storeEnv() []string {
	s := f.storeSettings()
	s["STORE_DIR"] = f.o.Data.Path("store")
	return f.env(s)
}

func (f *Fleet) messaging(user string) map[string]string {
	return map[string]string{
		"NATS_URL": f.NATS, "NATS_USER": user, "NATS_PASSWORD_FILE": f.o.Data.PasswordFile(user),
		"SHARDS": fmt.Sprint(f.Shards),
	}
}

func (f *Fleet) coordinatorEnv() []string {
	s := f.messaging(deploy.UserCoordinator)
	maps.Copy(s, f.o.CoordinatorSettings)
	return f.env(s)
}

func (f *Fleet) workerEnv(name string) []string {
	s := f.messaging(deploy.UserWorker)
	for k, v := range f.storeSettings() {
		s[k] = v
	}
	s["WORKER_NAME"] = name
	s["SLOTS"] = fmt.Sprint(f.o.Slots)
	s["KEYRING_FILE"] = f.o.Data.Path("secrets", keyringFile)
	s["CREDENTIALS_FILE"] = f.o.Data.Path("secrets", credentialsFile)
	s["POLICY_FILE"] = f.o.Data.Path("policy.json")
	s["SCRATCH_DIR"] = f.o.Data.Scratch()
	s["BROWSER"] = f.o.Browser
	s["DRAIN_TIMEOUT"] = drainTimeout.String()
	// Where all workers share one host, refusing owners by its load helps nobody.
	s["MAX_CPU_LOAD"] = "0"
	s["CHROMIUM"] = os.Getenv("BROWSERFLEET_CHROMIUM")
	if withoutSandbox() {
		s["ALLOW_NO_SANDBOX"] = "true"
	}
	if f.o.DispatchLogs {
		s["DISPATCH_LOG"] = f.dispatchLog(name)
	}
	for _, name := range tried {
		if v, ok := os.LookupEnv(service.Prefix + "_" + name); ok {
			s[name] = v
		}
	}
	maps.Copy(s, f.o.WorkerSettings)
	return f.env(s)
}

// Agent is how the client verbs connect to the fleet that runs on a folder.
func (f Folder) Agent(r *Running) (client.Options, error) {
	return f.options(r, deploy.TenantUser(r.Tenant))
}

// Operator is how operators connect to it.
func (f Folder) Operator(r *Running) (client.Options, error) {
	return f.options(r, deploy.UserOperator)
}

func (f Folder) options(r *Running, user string) (client.Options, error) {
	text, err := os.ReadFile(f.PasswordFile(user))
	if err != nil {
		return client.Options{}, fmt.Errorf("password of %s: %w", user, err)
	}
	return client.Options{
		URL: r.NATS, User: user, Password: client.Secret(strings.TrimSpace(string(text))),
		InboxPrefix: deploy.Inbox(user), Name: "browserfleet " + user,
	}, nil
}

// storeBucket is the default of the services.
const storeBucket = "browserfleet"

// StoreAccess is how to reach the S3 store.
func (f Folder) StoreAccess(r *Running) service.ObjectStore {
	return service.ObjectStore{
		StoreEndpoint: r.Store, StoreBucket: storeBucket,
		StoreAccessKeyFile: f.Path("secrets", secretStoreAccess),
		StoreSecretKeyFile: f.Path("secrets", secretStoreSecret),
	}
}
