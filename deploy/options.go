package deploy

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Users of the FLEET and SYS accounts.
const (
	UserCoordinator = "coordinator"
	UserWorker      = "worker"
	UserOperator    = "operator"
	UserSystem      = "sys"
)

// Options say what the servers serve. Every server of a cluster gets the same
// tenants, shards and passwords.
type Options struct {
	Tenants []Tenant
	Shards  protocol.ShardMap // of the streams, fixed at birth
	Listen  string            // host:port for clients
	// StoreDir is where JetStream keeps its files.
	StoreDir string
	// ServerName must be unique in a cluster; it may be empty for one server.
	ServerName string
	// Monitor is host:port of the HTTP monitoring endpoint. It has no
	// authentication: keep it on loopback. Empty is off.
	Monitor string
	// SyncAlways makes every write wait for the disk: with one server it is
	// what keeps promises across a power loss.
	SyncAlways bool
	// MaxStore bounds JetStream's files, in bytes; 0 is the server's default,
	// three quarters of the free disk.
	MaxStore  int64
	TLS       *TLS
	Cluster   *Cluster
	Passwords Passwords
}

// Tenant is a trust domain with an account of its own.
type Tenant struct {
	Name protocol.Tenant
	// Agents get a user each that can reach its own owner only.
	Agents []protocol.Owner
	// MaxConnections of the tenant's account; 0 is unlimited.
	MaxConnections int
}

// TLS are the files of the client listener.
type TLS struct {
	CertFile, KeyFile string
	// CAFile, when set, makes clients present a certificate of this authority.
	CAFile string
}

// Cluster is one server's place in a cluster. Its routes are authenticated by
// the password of the user "route".
type Cluster struct {
	Name   string
	Listen string   // host:port for the other servers
	Routes []string // host:port of the other servers
}

const userRoute = "route"

// Passwords by user name, plain or bcrypt.
type Passwords map[string]natsx.Secret

// TenantUser is the user that speaks for every owner of a tenant.
func TenantUser(t protocol.Tenant) string { return "tenant." + string(t) }

// AgentUser is the user that speaks for one owner. The dots keep it apart from
// every other tenant's and owner's: no id has one.
func AgentUser(t protocol.Tenant, o protocol.Owner) string {
	return "agent." + string(t) + "." + string(o)
}

// Inbox is the inbox prefix of a user: the one that its connection must be
// given and that its permissions allow.
func Inbox(user string) string {
	if parts := strings.Split(user, "."); len(parts) == 3 && parts[0] == "agent" {
		return "_INBOX_" + parts[2] // alone in its tenant's account
	}
	if strings.HasPrefix(user, "tenant.") {
		return "_INBOX"
	}
	return "_INBOX_" + user
}

// Users lists every user that needs a password.
func (o Options) Users() []string {
	users := []string{UserCoordinator, UserWorker, UserOperator, UserSystem}
	if o.Cluster != nil {
		users = append(users, userRoute)
	}
	for _, t := range o.Tenants {
		users = append(users, TenantUser(t.Name))
		for _, a := range t.Agents {
			users = append(users, AgentUser(t.Name, a))
		}
	}
	return users
}

// GeneratePasswords makes a random password for every user.
func GeneratePasswords(o Options) Passwords {
	out := Passwords{}
	for _, u := range o.Users() {
		raw := make([]byte, 24)
		rand.Read(raw)
		out[u] = natsx.Secret(base64.RawURLEncoding.EncodeToString(raw))
	}
	return out
}

// check reports everything that is wrong. Names end up in subjects and account
// names, and strings in a configuration file: nothing may break out of either.
func (o Options) check() error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if err := o.Shards.Check(); err != nil {
		wrong = append(wrong, err)
	}
	if o.Listen == "" || o.StoreDir == "" {
		bad("a listen address and a store folder are needed")
	}
	for _, s := range o.strings() {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			bad("%q: want printable ASCII without quotes and backslashes", s)
		}
	}
	tenants := map[protocol.Tenant]bool{}
	for _, t := range o.Tenants {
		if _, err := protocol.ParseTenant(string(t.Name)); err != nil {
			bad("%w", err)
		}
		if t.Name == protocol.ProbeTenant {
			bad("tenant %q: the name is used by services that ask the server for shards", t.Name)
		}
		if tenants[t.Name] {
			bad("tenant %q is listed twice", t.Name)
		}
		tenants[t.Name] = true
		wrong = append(wrong, checkAgents(t)...)
	}
	for t := range o.Shards.Dedicated {
		if !tenants[t] {
			bad("tenant %q has a shard of its own and is not served", t)
		}
	}
	for _, u := range o.Users() {
		wrong = append(wrong, checkPassword(u, o.Passwords[u]))
	}
	return errors.Join(wrong...)
}

// strings are the options that are written as they are.
func (o Options) strings() []string {
	out := []string{o.Listen, o.StoreDir, o.ServerName, o.Monitor}
	if o.TLS != nil {
		out = append(out, o.TLS.CertFile, o.TLS.KeyFile, o.TLS.CAFile)
	}
	if o.Cluster != nil {
		out = append(append(out, o.Cluster.Name, o.Cluster.Listen), o.Cluster.Routes...)
	}
	return out
}

func checkAgents(t Tenant) []error {
	var wrong []error
	seen := map[protocol.Owner]bool{}
	for _, a := range t.Agents {
		if _, err := protocol.ParseOwner(string(a)); err != nil {
			wrong = append(wrong, err)
		}
		if seen[a] {
			wrong = append(wrong, fmt.Errorf("agent %q of tenant %q is listed twice", a, t.Name))
		}
		seen[a] = true
	}
	return wrong
}

// checkPassword never quotes it.
func checkPassword(user string, pw natsx.Secret) error {
	if len(pw) < 8 {
		return fmt.Errorf("user %q has no password of at least 8 characters", user)
	}
	if strings.ContainsFunc(string(pw), func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return fmt.Errorf("password of user %q: want printable ASCII without blanks, quotes and backslashes", user)
	}
	return nil
}
