package main

import (
	"strings"
	"testing"
)

func TestTheLifeOfAnOwnerByVerbs(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--browser", "simulated")
	if out := d.ok("acquire", "--owner", "alice", "--lease", "mine", "--requires", "screenshot"); !strings.Contains(out, "lease mine, generation 1, resume") {
		t.Errorf("acquire: %s", out)
	}
	d.ok("open", "http://simulated.invalid/", "--owner", "alice")
	if r := d.run("acquire", "--owner", "alice", "--ephemeral"); r.code != exitFailed || !strings.Contains(r.err, "owner_conflict") {
		t.Errorf("a differing acquire: exit %d, %s", r.code, r.err)
	}
	d.ok("release", "mine", "--owner", "alice")
	d.ok("close", "--owner", "alice")
	if out := d.ok("owners"); !strings.Contains(out, "dev/alice  hibernated") {
		t.Errorf("owners: %s", out)
	}
	if out := d.ok("open", "http://simulated.invalid/", "--owner", "alice"); !strings.Contains(out, "hibernated") {
		t.Errorf("the wake-up is not told: %s", out)
	}
	if out := d.ok("owners", "take", "alice", "--as", "anna"); !strings.Contains(out, "anna has control for 10m") {
		t.Errorf("take: %s", out)
	}
	if r := d.run("observe", "--owner", "alice", "--timeout", "300ms"); r.code != exitNoAnswer {
		t.Errorf("an action while a person has control: exit %d, %s%s", r.code, r.out, r.err)
	}
	d.ok("owners", "give", "alice", "--as", "anna")
	d.ok("observe", "--owner", "alice")
	d.ok("owners", "reset", "alice") // it has not failed: harmless
	if r := d.run("delete", "--owner", "alice"); r.code != exitUsage {
		t.Errorf("deleted without --yes: exit %d", r.code)
	}
	d.ok("delete", "--owner", "alice", "--yes")
	if r := d.run("observe", "--owner", "alice"); r.code != exitFailed || !strings.Contains(r.err+r.out, "environment_deleted") {
		t.Errorf("after delete: exit %d, %s%s", r.code, r.out, r.err)
	}
	d.stop()
	leftNothing(t, d.data)
}
