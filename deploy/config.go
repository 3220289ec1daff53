package deploy

import (
	_ "embed"
	"fmt"
	"net/url"
	"strings"
	"text/template"

	"github.com/browserfleet/browserfleet/protocol"
)

//go:embed nats.conf.tmpl
var confTemplate string

// Config writes the configuration file of a NATS server. The text holds the
// passwords.
func Config(o Options) (string, error) {
	if err := o.check(); err != nil {
		return "", fmt.Errorf("nats config: %w", err)
	}
	t, err := template.New("nats.conf").Funcs(functions(o)).Parse(confTemplate)
	if err != nil {
		return "", fmt.Errorf("nats config: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, o); err != nil {
		return "", fmt.Errorf("nats config: %w", err)
	}
	return b.String(), nil
}

// functions are what the template calls. Everything that is quoted was checked:
// it holds no quote, backslash or control character.
func functions(o Options) template.FuncMap {
	return template.FuncMap{
		"quote":       quote,
		"password":    func(user string) string { return quote(string(o.Passwords[user])) },
		"route":       func(addr string) string { return routeURL(addr, string(o.Passwords[userRoute])) },
		"account":     func(t protocol.Tenant) string { return quote("tenant-" + string(t)) },
		"tenantUser":  TenantUser,
		"agentUser":   AgentUser,
		"coordinator": coordinatorRights,
		"worker":      workerRights,
		"tenant":      tenantRights,
		"agent":       agentRights,
		"rights":      rightsText,
		"probe":       func() protocol.Tenant { return protocol.ProbeTenant },
		"mapping":     func(t protocol.Tenant, l protocol.Lane) string { return mapping(o.Shards, t, l) },
		"lanes":       func() []protocol.Lane { return []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} },
	}
}

// mapping is the line that sends a tenant's lane to its shard: the only one that
// there is, or that of the owner's hash among the shared ones.
func mapping(m protocol.ShardMap, t protocol.Tenant, l protocol.Lane) string {
	shard := fmt.Sprintf("{{partition(%d,1)}}", m.Shared())
	if s, ok := m.Dedicated[t]; ok {
		shard = s.String()
	}
	return quote(fmt.Sprintf("bf.in.%s.*.%s", t, l)) + ": " + quote(fmt.Sprintf("bf.act.%s.%s.{{wildcard(1)}}.%s", shard, t, l))
}

// quote also keeps // in URLs and $ in bcrypt hashes from being read as a
// comment and a variable.
func quote(s string) string { return `"` + s + `"` }

// rightsText writes permissions, one subject a line: people read them.
func rightsText(r rights, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	list := func(name string, subjects []string) {
		fmt.Fprintf(&b, "%s  %s: { allow: [\n", indent, name)
		for _, s := range subjects {
			fmt.Fprintf(&b, "%s    %s\n", indent, quote(s))
		}
		fmt.Fprintf(&b, "%s  ] }\n", indent)
	}
	list("publish", r.Publish)
	list("subscribe", r.Subscribe)
	if r.Respond {
		fmt.Fprintf(&b, "%s  allow_responses: { max: 1, expires: \"1m\" }\n", indent)
	}
	b.WriteString(indent + "}")
	return b.String()
}

// routeURL is how this server logs in to another one. Routes are the one place
// where the server wants a password inside a URL.
func routeURL(addr, password string) string {
	u := url.URL{Scheme: "nats-route", User: url.UserPassword(userRoute, password), Host: addr}
	return quote(u.String())
}
