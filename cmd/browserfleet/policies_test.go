package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPoliciesByVerbs(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--browser", "simulated")
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if out := d.ok("policies"); !strings.Contains(out, "no policies") {
		t.Errorf("an empty list: %s", out)
	}
	good := write(`{"v":1,"egress":{"mode":"allowlist","public":false,"allow_hosts":[".shop.example"]}}`)
	var out strings.Builder
	if code := run([]string{"policies", "check", good}, &out, &out); code != 0 || !strings.Contains(out.String(), "is valid") {
		t.Errorf("check: exit %d, %s", code, out.String())
	}
	if r := d.run("policies", "put", "dev", "narrow", write(`{"v":1,"egress":{"ports":[0]}}`)); r.code != exitUsage || !strings.Contains(r.err, "ports[0]") {
		t.Errorf("a bad policy: exit %d, %s", r.code, r.err)
	}
	if r := d.run("acquire", "--owner", "alice", "--policy", "narrow"); r.code != exitFailed || !strings.Contains(r.err, "policy_denied") {
		t.Errorf("a policy that is not there: exit %d, %s", r.code, r.err)
	}
	d.ok("policies", "put", "dev", "narrow", good)
	d.ok("policies", "put", "dev", "quotas", write(`{"v":1,"environments":7}`))
	if out := d.ok("policies"); !strings.Contains(out, "dev     narrow") || !strings.Contains(out, "dev     quotas") {
		t.Errorf("the list: %s", out)
	}
	if out := d.ok("policies", "get", "dev", "narrow"); !strings.Contains(out, ".shop.example") {
		t.Errorf("get: %s", out)
	}
	for url, says := range map[string]string{
		"https://www.shop.example/x": "allowed (allow_host)",
		"https://other.example/":     "denied (not_listed)",
		"http://169.254.169.254/":    "denied (metadata)",
		"file:///etc/passwd":         "denied (scheme)",
	} {
		out := d.ok("policies", "explain", url, "--tenant", "dev", "--name", "narrow", "--address", "93.184.216.34")
		if !strings.Contains(out, says) {
			t.Errorf("explain %s: %s, want %q", url, out, says)
		}
	}
	d.ok("policies", "delete", "dev", "narrow")
	if r := d.run("policies", "get", "dev", "narrow"); r.code != exitFailed || !strings.Contains(r.err, "not_found") {
		t.Errorf("a deleted one: exit %d, %s", r.code, r.err)
	}
	d.stop()
}
