package archtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs that tools/setup.sh uses; everything else it must find or miss in the
// folders that a test makes.
var programs = []string{"bash", "awk", "head", "tr", "grep", "readlink", "cat"}

// machine is a folder that stands for a machine with some programs.
type machine struct {
	t         *testing.T
	root, bin string
}

func newMachine(t *testing.T, osRelease string) machine {
	t.Helper()
	m := machine{t: t, root: t.TempDir(), bin: t.TempDir()}
	m.write(filepath.Join(m.root, "etc/os-release"), osRelease, 0o644)
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.program("go", "echo go1.26.0")
	return m
}

func (m machine) write(path, text string, mode os.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) program(name, script string) {
	m.write(filepath.Join(m.bin, name), "#!"+filepath.Join(m.bin, "bash")+"\n"+script+"\n", 0o755)
}

func (m machine) file(path string) { m.write(filepath.Join(m.root, path), "", 0o755) }

// apt makes it a machine with packages to install; what is asked for is printed.
func (m machine) apt() {
	m.program("apt-get", `echo "APT $*" >&2`)
	m.program("sudo", `"$@"`)
}

// setup runs the script and returns what it says.
func (m machine) setup(env ...string) (string, int) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), filepath.Join(m.bin, "bash"), filepath.Join(root(), "tools/setup.sh"))
	cmd.Env = append([]string{"PATH=" + m.bin, "SETUP_ROOT=" + m.root}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

const (
	debian = "ID=debian\n"
	ubuntu = "ID=ubuntu\nID_LIKE=debian\n"
	fedora = "ID=fedora\n"
)

func TestSetup(t *testing.T) {
	t.Parallel()
	const debianChromium, debianShell = "usr/lib/chromium/chromium", "usr/lib/chromium/chromium-headless-shell"
	tests := []struct {
		name, system string
		prepare      func(machine)
		env          []string
		ok           bool
		says         []string // nil: nothing at all
	}{
		{"nothing missing is silent", debian, func(m machine) {
			m.file(debianChromium)
			m.file(debianShell)
			m.program("gcc", "exit 0")
		}, nil, true, nil},
		{"a bare Debian", debian, machine.apt, nil, true, []string{
			"APT -qq update", "APT -qq -y install --no-install-recommends chromium-headless-shell chromium gcc libc6-dev",
		}},
		{"only the shell is missing", debian, func(m machine) {
			m.apt()
			m.file(debianChromium)
			m.program("gcc", "exit 0")
		}, nil, true, []string{"install --no-install-recommends chromium-headless-shell\n"}},
		{"gcc without headers", debian, func(m machine) {
			m.apt()
			m.file(debianChromium)
			m.file(debianShell)
			m.program("gcc", "exit 1")
		}, nil, true, []string{"install --no-install-recommends libc6-dev\n"}},
		{"a browser of one's own", debian, func(m machine) {
			m.program("gcc", "exit 0")
			m.program("my-chrome", "")
		}, []string{"BROWSERFLEET_CHROMIUM=BIN/my-chrome"}, true, nil},
		{"a browser of one's own that is not there", debian, func(m machine) {
			m.program("gcc", "exit 0")
		}, []string{"BROWSERFLEET_CHROMIUM=BIN/my-chrome"}, false, []string{"BROWSERFLEET_CHROMIUM=", "is not an executable file"}},
		{"Ubuntu's stub of the snap", ubuntu, func(m machine) {
			m.apt()
			m.program("gcc", "exit 0")
			m.program("chromium-browser", `exec /snap/bin/chromium "$@"`)
		}, nil, false, []string{"/chromium-browser belongs to the Chromium snap", "npx @puppeteer/browsers install chrome-headless-shell@stable"}},
		{"Ubuntu with Chrome", ubuntu, func(m machine) {
			m.program("gcc", "exit 0")
			m.program("google-chrome-stable", "")
		}, nil, true, nil},
		{"a bare Fedora", fedora, func(machine) {}, nil, false, []string{"dnf install chromium", "dnf install gcc glibc-devel"}},
		{"no Go", debian, func(m machine) { _ = os.Remove(filepath.Join(m.bin, "go")) }, nil, false, []string{"Go is missing"}},
		{"an old Go", debian, func(m machine) { m.program("go", "echo go1.20.14") }, nil, false, []string{"too old"}},
		{"the oldest Go", debian, func(m machine) {
			m.program("go", "echo go1.21rc2")
			m.program("gcc", "exit 0")
			m.file(debianChromium)
			m.file(debianShell)
		}, nil, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tt.system)
			tt.prepare(m)
			var env []string
			for _, e := range tt.env {
				env = append(env, strings.ReplaceAll(e, "BIN", m.bin))
			}
			out, code := m.setup(env...)
			if (code == 0) != tt.ok {
				t.Errorf("exit status %d", code)
			}
			if tt.says == nil && out != "" {
				t.Errorf("it is not silent")
			}
			for _, want := range tt.says {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not said", want)
				}
			}
			if t.Failed() {
				t.Logf("it said:\n%s", out)
			}
		})
	}
}
