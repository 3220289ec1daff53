package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestExitStatusAndAdvice(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		args []string
		code int
		err  string // part of standard error
		out  string // part of standard output
	}{
		"help":                    {[]string{"--help"}, 0, "", "Exit status"},
		"help of a service":       {[]string{"worker", "--help"}, 0, "", "BROWSERFLEET_KEYRING_FILE"},
		"version":                 {[]string{"version"}, 0, "", "browserfleet "},
		"nothing":                 {nil, exitUsage, "Exit status", ""},
		"unknown verb":            {[]string{"fly"}, exitUsage, "unexpected argument fly", ""},
		"missing argument":        {[]string{"open"}, exitUsage, "<url>", ""},
		"unknown flag":            {[]string{"observe", "--nope"}, exitUsage, "unknown flag --nope", ""},
		"bad duration":            {[]string{"observe", "--timeout", "soon"}, exitUsage, "--timeout", ""},
		"bad output":              {[]string{"owners", "-o", "xml"}, exitUsage, "--output", ""},
		"no fleet":                {[]string{"observe", "--data", empty}, exitUnreachable, "browserfleet dev", ""},
		"no fleet, for operators": {[]string{"workers", "--data", empty}, exitUnreachable, "no fleet runs here", ""},
		"server that is down":     {[]string{"observe", "--nats", "nats://127.0.0.1:1", "--user", "tenant.dev"}, exitUnreachable, "cannot be reached", ""},
		"owner with a dot":        {[]string{"observe", "--data", empty, "--owner", "a.b"}, exitUsage, "owner \"a.b\"", ""},
		"owner that is a wildcard": {
			[]string{"observe", "--data", empty, "--owner", ">"}, exitUsage, "A-Z a-z 0-9 _ -", "",
		},
		"nats config":          {[]string{"nats", "config", "--tenants", "a,b", "--shards", "2", "--agent", "a/one"}, 0, "", "agent.a.one"},
		"agent of no tenant":   {[]string{"nats", "config", "--tenants", "a", "--agent", "b/one"}, exitUsage, "no tenant \"b\"", ""},
		"tenant with a dot":    {[]string{"nats", "config", "--tenants", "a.b"}, exitUsage, "tenant \"a.b\"", ""},
		"host that is none":    {[]string{"dev", "--data", empty, "--allow", "http://localhost:3000"}, exitUsage, "--allow", ""},
		"picture of no kind":   {[]string{"screenshot", "--data", empty, "-o", "page.gif"}, exitUsage, ".png", ""},
		"picture in no folder": {[]string{"screenshot", "--data", empty, "-o", "/nowhere/page.png"}, exitUsage, "no folder /nowhere", ""},
		"fault of no step":     {[]string{"demo", "--kill", "worker@nowhere"}, exitUsage, "no step", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := program(t, nil, tc.args...)
			if r.code != tc.code || !strings.Contains(r.err, tc.err) || !strings.Contains(r.out, tc.out) {
				t.Errorf("exit %d, want %d\n%s%s", r.code, tc.code, r.out, r.err)
			}
			if tc.code != 0 && r.out != "" {
				t.Errorf("an error is on standard output: %s", r.out)
			}
		})
	}
}

func TestNATSConfigIsWrittenForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "nats.conf")
	for range 2 { // the second one finds file and passwords
		r := program(t, nil, "nats", "config", "--tenants", "a", "--out", path, "--passwords", filepath.Join(dir, "secrets"))
		if r.code != 0 {
			t.Fatal(r.err)
		}
	}
	wantMode(t, path)
	wantMode(t, filepath.Join(dir, "secrets", "nats-tenant.a"))
	password := readText(t, filepath.Join(dir, "secrets", "nats-operator"))
	if !strings.Contains(readText(t, path), strings.TrimSpace(password)) {
		t.Error("the configuration has another password than the file")
	}
}

func TestServicesReportEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		service string
		env     []string
		want    []string
	}{
		"worker": {
			"worker",
			[]string{"BROWSERFLEET_SLOTS=0", "BROWSERFLEET_WORKER_NAME=a.b", "BROWSERFLEET_BROWSER=lynx"},
			[]string{"NATS_URL", "NATS_PASSWORD_FILE", "STORE_ENDPOINT", "KEYRING_FILE", "SLOTS", "WORKER_NAME", "BROWSER"},
		},
		"coordinator": {
			"coordinator",
			[]string{"BROWSERFLEET_SHARDS=0", "BROWSERFLEET_LOG_FORMAT=xml"},
			[]string{"NATS_URL", "SHARDS", "LOG_FORMAT"},
		},
		"store": {
			"store",
			[]string{"BROWSERFLEET_STORE_ENDPOINT=0.0.0.0:9000"},
			[]string{"STORE_DIR", "STORE_SECRET_KEY_FILE", "loopback"},
		},
		"nats":                {"nats", nil, []string{"NATS_CONFIG_FILE"}},
		"a misspelt variable": {"worker", []string{"BROWSERFLEET_SLOT=3"}, []string{"BROWSERFLEET_SLOT"}},
		"a wrong type":        {"worker", []string{"BROWSERFLEET_SLOTS=many"}, []string{"BROWSERFLEET_SLOTS"}},
		"a bad address":       {"worker", []string{"BROWSERFLEET_FLEET_LISTENERS=127.0.0.1:1, here"}, []string{"FLEET_LISTENERS"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := program(t, tc.env, tc.service)
			if r.code != exitUsage {
				t.Errorf("exit %d, want %d", r.code, exitUsage)
			}
			for _, want := range tc.want {
				if !strings.Contains(r.err, want) {
					t.Errorf("%s is not named in:\n%s", want, r.err)
				}
			}
		})
	}
}

// A service that starts before NATS waits, and says what it waits for.
func TestAServiceWaitsForNATS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	writeText(t, password, "hidden-password\n")
	out := newLines()
	cmd := command(t.Context(), t, []string{
		"BROWSERFLEET_NATS_URL=nats://127.0.0.1:1", "BROWSERFLEET_NATS_PASSWORD_FILE=" + password, "BROWSERFLEET_EXIT_WITH_STDIN=true",
	}, "coordinator")
	cmd.Stderr = out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.await(t, "waiting for NATS")
	// Its parent dies: the pipe ends.
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v: %s", err, out)
	}
	if strings.Contains(out.String(), "hidden-password") {
		t.Error("the log shows the password")
	}
}

// A secret that others can read is refused, and not shown.
func TestASecretThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	password := filepath.Join(t.TempDir(), "password")
	writeText(t, password, "hidden-password\n")
	chmod(t, password, 0o644)
	r := program(t, []string{"BROWSERFLEET_NATS_URL=nats://127.0.0.1:1", "BROWSERFLEET_NATS_PASSWORD_FILE=" + password}, "coordinator")
	if r.code == 0 || !strings.Contains(r.err, "0644") || strings.Contains(r.err, "hidden-password") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestDoctorFailsWithoutABrowser(t *testing.T) {
	t.Parallel()
	r := program(t, []string{"BROWSERFLEET_CHROMIUM=/nowhere/chromium"}, "doctor", "--data", t.TempDir())
	if r.code != exitFailed || !strings.Contains(r.out, "FAIL  chromium") || !strings.Contains(r.out, "mend: apt-get install") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestDoctorOpensAnEnvironment(t *testing.T) {
	t.Parallel()
	r := program(t, nil, "doctor", "--data", t.TempDir())
	if r.code != 0 || !strings.Contains(r.out, "ok    environment") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
