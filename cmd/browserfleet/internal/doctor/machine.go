package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

// minFree is how much disk a fleet should have, in bytes: profiles take about
// 20 MB each, and NATS stops to store when the disk is full.
const minFree = 1 << 30

// versions cannot fail.
func (d *doctor) versions() {
	var u unix.Utsname
	kernel := "unknown kernel"
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	d.report.ok("versions", "browserfleet %s, %s, %s, %d CPUs", d.o.Version, runtime.Version(), kernel, runtime.NumCPU())
}

// chromium finds the browser; false when there is none.
func (d *doctor) chromium(ctx context.Context) bool {
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		return d.report.fail("chromium", "apt-get install chromium-headless-shell, or set BROWSERFLEET_CHROMIUM to the path of the program", err)
	}
	version, err := chromium.Version(ctx, binary)
	if err != nil {
		return d.report.fail("chromium", "install it again: it does not start", err)
	}
	d.report.ok("chromium", "%s %s at %s", binary.Kind, version, binary.Path)
	return true
}

// sandbox tells whether Chromium's sandbox can be used.
func (d *doctor) sandbox() {
	switch {
	case os.Geteuid() == 0:
		d.report.warn("sandbox", "run the fleet as another user than root", "running as root: Chromium starts without its sandbox (BROWSERFLEET_ALLOW_NO_SANDBOX=1)")
	case setting("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		d.report.fail("sandbox", "sysctl kernel.unprivileged_userns_clone=1", errors.New("the kernel allows no user namespaces, which Chromium's sandbox needs"))
	case setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		d.report.warn("sandbox", "give the browser an AppArmor profile with userns, or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
			"AppArmor restricts user namespaces, which Chromium's sandbox needs")
	default:
		d.report.ok("sandbox", "user namespaces are allowed")
	}
}

func setting(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

// folder checks the data folder: room, secrets, keys.
func (d *doctor) folder() {
	dir := string(d.o.Data)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		d.report.ok("data", "%s does not exist yet; `browserfleet dev` makes it", dir)
		return
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err == nil {
		if free := disk.Bavail * uint64(disk.Bsize); free < minFree {
			d.report.warn("data", "make room on the disk", "%s has %d MB left", dir, free>>20)
		} else {
			d.report.ok("data", "%s, %d GB free", dir, free>>30)
		}
	}
	d.secrets()
}

func (d *doctor) secrets() {
	files, err := filepath.Glob(d.o.Data.Path("secrets", "*"))
	if err != nil || len(files) == 0 {
		return
	}
	var open []string
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().Perm()&0o077 != 0 {
			open = append(open, f)
		}
	}
	if len(open) > 0 {
		d.report.fail("secrets", "chmod 600 "+strings.Join(open, " "), fmt.Errorf("others can read %d of the secrets", len(open)))
		return
	}
	d.report.ok("secrets", "%d files, readable by their owner only", len(files))
	if _, err := checkpoints.LoadKeyring(d.o.Data.Path("secrets", "keyring")); err != nil {
		d.report.fail("keyring", "restore the file: without its keys no checkpoint can be opened", err)
		return
	}
	d.report.ok("keyring", "can be read")
}

// leftovers tells what dead workers left, and removes it with Fix.
func (d *doctor) leftovers(ctx context.Context) {
	if d.o.Fix {
		report, err := chromium.Sweep(ctx, d.o.Data.Scratch())
		if err != nil {
			d.report.fail("leftovers", "look at what the message names", err)
			return
		}
		d.report.ok("leftovers", "%d removed, %d processes killed, %d belong to running workers", report.Swept, report.Killed, report.Live)
		return
	}
	if d.o.Data.Locked() {
		return // profiles of running browsers
	}
	left, err := d.o.Data.Leftovers()
	if err == nil && len(left) > 0 {
		d.report.warn("leftovers", "browserfleet doctor --fix", "dead workers left %d things, such as %s", len(left), left[0])
	}
}
