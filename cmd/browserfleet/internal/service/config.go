package service

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/chrome"
)

// Process is what every service has.
type Process struct {
	LogFormat     string `split_words:"true" default:"text" desc:"text or json"`
	LogLevel      string `split_words:"true" default:"info" desc:"debug, info, warn or error"`
	ExitWithStdin bool   `split_words:"true" desc:"end when standard input ends: for a parent that starts this process"`
}

func (c *Process) check(p *problems) {
	if c.LogFormat != "text" && c.LogFormat != "json" {
		p.add("LOG_FORMAT", "want text or json")
	}
}

// Messaging is how a service reaches NATS.
type Messaging struct {
	NatsURL          string            `split_words:"true" desc:"URL of the fleet's NATS, or several separated by commas"`
	NatsUser         string            `split_words:"true" desc:"user of the FLEET account; without it the service's own name"`
	NatsPasswordFile string            `split_words:"true" desc:"file with the user's password"`
	NatsCredsFile    string            `split_words:"true" desc:"credentials file, where the server uses JWTs"`
	NatsInboxPrefix  string            `split_words:"true" desc:"inbox prefix that the user may subscribe; without it that of the generated configuration"`
	Shards           protocol.ShardMap `split_words:"true" default:"1" desc:"shards that the streams were made for: their number, then TENANT=SHARD for each tenant with one of its own, separated by commas"`
}

func (c *Messaging) check(p *problems) {
	p.need("NATS_URL", c.NatsURL)
	if c.NatsPasswordFile == "" && c.NatsCredsFile == "" {
		p.add("NATS_PASSWORD_FILE", "is not set, nor is NATS_CREDS_FILE")
	}
	if err := c.Shards.Check(); err != nil {
		p.add("SHARDS", "%v", err)
	}
}

// options are what to connect with as the role's user.
func (c *Messaging) options(role string) (natsx.Options, error) {
	o := natsx.Options{URL: c.NatsURL, Name: role, User: c.NatsUser, CredsFile: c.NatsCredsFile, InboxPrefix: c.NatsInboxPrefix}
	if o.User == "" {
		o.User = role
	}
	if o.InboxPrefix == "" {
		o.InboxPrefix = deploy.Inbox(o.User)
	}
	if o.CredsFile != "" {
		return o, nil
	}
	password, err := readSecret("BROWSERFLEET_NATS_PASSWORD_FILE", c.NatsPasswordFile)
	o.Password = natsx.Secret(password)
	return o, err
}

// ObjectStore is how a service reaches the S3 store.
type ObjectStore struct {
	StoreEndpoint      string `split_words:"true" desc:"host:port of the S3 store"`
	StoreSecure        bool   `split_words:"true" desc:"use https"`
	StoreRegion        string `split_words:"true" desc:"region of the bucket"`
	StoreBucket        string `split_words:"true" default:"browserfleet" desc:"bucket of checkpoints"`
	StorePrefix        string `split_words:"true" desc:"put before every key"`
	StoreAccessKeyFile string `split_words:"true" desc:"file with the access key"`
	StoreSecretKeyFile string `split_words:"true" desc:"file with the secret key"`
}

func (c *ObjectStore) check(p *problems) {
	p.need("STORE_ENDPOINT", c.StoreEndpoint)
	p.need("STORE_BUCKET", c.StoreBucket)
	p.need("STORE_ACCESS_KEY_FILE", c.StoreAccessKeyFile)
	p.need("STORE_SECRET_KEY_FILE", c.StoreSecretKeyFile)
}

// Open makes the store's client; it connects with the first call.
func (c *ObjectStore) Open() (*objectstore.Store, error) {
	access, secret, err := c.keys()
	if err != nil {
		return nil, err
	}
	return objectstore.Open(objectstore.Config{
		Endpoint: c.StoreEndpoint, Secure: c.StoreSecure, Region: c.StoreRegion, Bucket: c.StoreBucket,
		Prefix: c.StorePrefix, AccessKey: access, SecretKey: secret,
	})
}

func (c *ObjectStore) keys() (string, objectstore.Secret, error) {
	access, err := readSecret("BROWSERFLEET_STORE_ACCESS_KEY_FILE", c.StoreAccessKeyFile)
	if err != nil {
		return "", "", err
	}
	secret, err := readSecret("BROWSERFLEET_STORE_SECRET_KEY_FILE", c.StoreSecretKeyFile)
	return access, objectstore.Secret(secret), err
}

// NATSConfig is the nats service's.
type NATSConfig struct {
	Process
	NatsConfigFile string `split_words:"true" desc:"configuration file, as browserfleet nats config writes it"`
}

// Validate reports every problem.
func (c *NATSConfig) Validate() error {
	var p problems
	c.check(&p)
	p.need("NATS_CONFIG_FILE", c.NatsConfigFile)
	return p.err()
}

// StoreConfig is the store service's.
type StoreConfig struct {
	Process
	ObjectStore
	StoreDir string `split_words:"true" desc:"folder of the embedded store"`
}

// Validate reports every problem. The endpoint is where it listens.
func (c *StoreConfig) Validate() error {
	var p problems
	c.Process.check(&p)
	c.ObjectStore.check(&p)
	p.need("STORE_DIR", c.StoreDir)
	if host, _, err := net.SplitHostPort(c.StoreEndpoint); c.StoreEndpoint != "" && (err != nil || !isLoopback(host)) {
		p.add("STORE_ENDPOINT", "%q: the embedded store is for one machine and listens on a loopback address only", c.StoreEndpoint)
	}
	return p.err()
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// CoordinatorConfig is the coordinator's.
type CoordinatorConfig struct {
	Process
	Messaging
	CoordinatorName string `split_words:"true" default:"coordinator" desc:"name in logs; a boot nonce is added"`
	MetricsListen   string `split_words:"true" desc:"host:port of the Prometheus page; empty is off"`
	// Quotas of a tenant for which the bucket bf_policy has none.
	QuotaOwners       int   `split_words:"true" default:"50000" desc:"owners that a tenant may have, where bf_policy has no quotas for it; -1 is no limit"`
	QuotaEnvironments int   `split_words:"true" default:"5000" desc:"environments that a tenant may have open at once; -1 is no limit"`
	QuotaQueueBytes   int64 `split_words:"true" default:"1073741824" desc:"bytes of a tenant's requests that may wait; -1 is no limit"`
	MaxWaiting        int   `split_words:"true" default:"10000" desc:"owners of a tenant that may wait for a worker, in each shard; a further one is answered no_capacity at once"`
	Rebalance         bool  `split_words:"true" desc:"move idle owners, one at a time, from a worker that is much fuller than another"`
}

// Validate reports every problem.
func (c *CoordinatorConfig) Validate() error {
	var p problems
	c.Process.check(&p)
	c.Messaging.check(&p)
	checkName(&p, "COORDINATOR_NAME", c.CoordinatorName)
	for name, n := range map[string]int64{
		"QUOTA_OWNERS": int64(c.QuotaOwners), "QUOTA_ENVIRONMENTS": int64(c.QuotaEnvironments), "QUOTA_QUEUE_BYTES": c.QuotaQueueBytes,
	} {
		if n == 0 || n < protocol.Unlimited {
			p.add(name, "%d: want more than 0, or -1", n)
		}
	}
	if c.MaxWaiting < 1 {
		p.add("MAX_WAITING", "%d: want 1 or more", c.MaxWaiting)
	}
	return p.err()
}

// Kinds of browser that a worker can run.
const (
	BrowserChrome    = "chrome"
	BrowserSimulated = "simulated"
)

// WorkerConfig is a worker's.
type WorkerConfig struct {
	Process
	Messaging
	ObjectStore
	Limits
	Draining
	WorkerName       string        `split_words:"true" default:"worker" desc:"name; a boot nonce is added, since a restarted worker is another worker"`
	Slots            int           `split_words:"true" default:"8" desc:"environments at a time; a browser takes about 100 MB"`
	WarmBrowsers     int           `split_words:"true" default:"1" desc:"browsers kept started ahead of need, about 100 MB each; 0 starts each when it is needed"`
	KeyringFile      string        `split_words:"true" desc:"keys of checkpoints, lines of kid:base64"`
	ScratchDir       string        `split_words:"true" desc:"profiles of running browsers and records of their processes"`
	Browser          string        `split_words:"true" default:"chrome" desc:"chrome, or simulated for tests of the fleet"`
	SimulatedLatency time.Duration `split_words:"true" default:"2ms" desc:"what an action of a simulated browser takes"`
	Chromium         string        `split_words:"true" desc:"path of the browser's program; searched when empty"`
	AllowNoSandbox   bool          `split_words:"true" desc:"start Chromium without its sandbox, which root needs; a page that breaks out of it has the worker's rights"`
	Popups           string        `split_words:"true" default:"deny" desc:"windows that pages open: deny closes them and tells their URLs, adopt makes tabs of them"`
	PolicyFile       string        `split_words:"true" desc:"egress policy (JSON); without it strict: public addresses on ports 80 and 443"`
	CredentialsFile  string        `split_words:"true" desc:"secrets for fill_credential (JSON), bound to origins"`
	FleetListeners   Addresses     `split_words:"true" desc:"ip:port, separated by commas, that no page may reach; NATS and the store are known already"`
	CDPAction        bool          `split_words:"true" desc:"allow the action cdp, for the methods that only read (docs/cdp.md)"`
	CDPMethods       Names         `split_words:"true" desc:"further methods for the action cdp, exact names separated by commas, such as Runtime.evaluate; they may have effects"`
	DispatchLog      string        `split_words:"true" desc:"file of JSON lines, one before each dispatch"`
	IdleTimeout      time.Duration `split_words:"true" default:"10m" desc:"how long nothing may happen in an environment until it is saved and closed; its next action wakes it; 0 is never"`
	CheckpointWait   time.Duration `split_words:"true" default:"2s" desc:"how long an answer waits until the state after its action is saved; then it says checkpoint_not_saved, and saving goes on"`
	MetricsListen    string        `split_words:"true" desc:"host:port of the Prometheus page; empty is off"`
	DialogPolicy     string        `split_words:"true" default:"must_respond" desc:"who answers a page's dialogs where the agent asked for nothing else: must_respond (the agent), auto_dismiss or auto_accept"`
	DialogTimeout    time.Duration `split_words:"true" default:"300s" desc:"when a dialog that nobody answers is dismissed"`
}

// Validate reports every problem.
func (c *WorkerConfig) Validate() error {
	var p problems
	c.Process.check(&p)
	c.Messaging.check(&p)
	c.ObjectStore.check(&p)
	c.Limits.check(&p)
	c.Draining.check(&p)
	checkName(&p, "WORKER_NAME", c.WorkerName)
	p.need("KEYRING_FILE", c.KeyringFile)
	if _, ok := chrome.PopupPolicies[c.Popups]; !ok {
		p.add("POPUPS", "%q: want deny or adopt", c.Popups)
	}
	if !slices.Contains(protocol.DialogPolicies, protocol.DialogPolicy(c.DialogPolicy)) {
		p.add("DIALOG_POLICY", "%q: want one of %v", c.DialogPolicy, protocol.DialogPolicies)
	}
	if c.DialogTimeout <= 0 {
		p.add("DIALOG_TIMEOUT", "%s: want more than 0", c.DialogTimeout)
	}
	if c.Slots < 1 {
		p.add("SLOTS", "%d: want at least 1", c.Slots)
	}
	switch c.Browser {
	case BrowserChrome:
		p.need("SCRATCH_DIR", c.ScratchDir)
	case BrowserSimulated:
	default:
		p.add("BROWSER", "%q: want %s or %s", c.Browser, BrowserChrome, BrowserSimulated)
	}
	if _, err := c.escapeHatch(); err != nil {
		p.add("CDP_METHODS", "%v", err)
	}
	if c.IdleTimeout < 0 {
		p.add("IDLE_TIMEOUT", "%s: want 0 or more", c.IdleTimeout)
	}
	if c.CheckpointWait <= 0 {
		p.add("CHECKPOINT_WAIT", "%s: want more than 0", c.CheckpointWait)
	}
	return p.err()
}

// nonceRoom is what the boot nonce adds to a name, in bytes.
const nonceRoom = 9

func checkName(p *problems, variable, name string) {
	if !protocol.ValidToken(name, protocol.MaxIDLen-nonceRoom) {
		p.add(variable, "%q: want 1-%d characters of A-Z a-z 0-9 _ -", fmt.Sprintf("%.80s", name), protocol.MaxIDLen-nonceRoom)
	}
}
