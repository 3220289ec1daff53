package chromium

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Kind is the flavour of a binary; the two need different flags.
type Kind int

const (
	// Shell is chromium-headless-shell, the old headless mode as a program.
	Shell Kind = iota + 1
	// Full is the browser, run with --headless=new.
	Full
)

func (k Kind) String() string {
	switch k {
	case Shell:
		return "headless-shell"
	case Full:
		return "full"
	default:
		return "unknown"
	}
}

// Binary is a program that can be started, never a script.
type Binary struct {
	Path string
	Kind Kind
}

// candidates in the order of preference. A name without a slash is looked up in
// PATH; a path that is a script is followed to the program behind it.
var candidates = []string{
	"/usr/lib/chromium/chromium-headless-shell", // Debian
	"chromium-headless-shell",
	"chrome-headless-shell",
	"headless_shell",
	"/usr/lib/chromium/chromium",                   // Debian
	"/usr/lib64/chromium-browser/chromium-browser", // Fedora
	"/opt/google/chrome/chrome",
	"chromium",
	"chromium-browser",
	"google-chrome-stable",
	"google-chrome",
}

// MissingError says that no usable browser was found and what to install.
type MissingError struct {
	// Configured is the path that the configuration named, if any.
	Configured string
	// Reason says what is wrong with Configured.
	Reason string
	// Snap is a stub that would start a snap.
	Snap string
	// Tried are the places that were looked at.
	Tried []string
}

func (e *MissingError) Error() string {
	var b strings.Builder
	if e.Configured != "" {
		fmt.Fprintf(&b, "chromium: BROWSERFLEET_CHROMIUM=%s cannot be used: %s.", e.Configured, e.Reason)
	} else {
		fmt.Fprintf(&b, "chromium: no browser found (looked for %s).", strings.Join(e.Tried, ", "))
	}
	if e.Snap != "" {
		fmt.Fprintf(&b, " %s belongs to the Chromium snap, whose confinement hides the debugging pipe and the profile folder.", e.Snap)
	}
	b.WriteString(" Install chromium-headless-shell (Debian: apt-get install chromium-headless-shell;" +
		" elsewhere: npx @puppeteer/browsers install chrome-headless-shell@stable) or chromium," +
		" or set BROWSERFLEET_CHROMIUM to the path of the program.")
	return b.String()
}

// Find returns the binary to start. configured is the value of
// BROWSERFLEET_CHROMIUM, empty for the default search. The error is a
// *MissingError.
func Find(configured string) (Binary, error) {
	if configured != "" {
		return findConfigured(configured)
	}
	missing := &MissingError{}
	for _, candidate := range candidates {
		path, err := resolve(candidate)
		if err == nil {
			return Binary{Path: path, Kind: kindOf(path)}, nil
		}
		missing.Tried = append(missing.Tried, candidate)
		if errors.Is(err, errSnap) && missing.Snap == "" {
			missing.Snap = path
		}
	}
	return Binary{}, missing
}

func findConfigured(configured string) (Binary, error) {
	path, err := resolve(configured)
	if err == nil {
		return Binary{Path: path, Kind: kindOf(path)}, nil
	}
	missing := &MissingError{Configured: configured, Reason: err.Error()}
	if errors.Is(err, errSnap) {
		missing.Snap = path
	}
	return Binary{}, missing
}

func kindOf(path string) Kind {
	name := strings.ReplaceAll(filepath.Base(path), "_", "-")
	if strings.Contains(name, "headless-shell") {
		return Shell
	}
	return Full
}

var (
	errSnap   = errors.New("it is a stub of the Chromium snap")
	errScript = errors.New("it is a script and the program behind it was not found")
	errNoFile = errors.New("no such program")
	errNoExec = errors.New("it is not an executable file")
)

// resolve turns a name or path into the path of a real program. For errSnap the
// path is the stub.
func resolve(candidate string) (string, error) {
	path := candidate
	if !strings.Contains(candidate, "/") {
		found, err := exec.LookPath(candidate)
		if err != nil {
			return "", errNoFile
		}
		path = found
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errNoFile
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return "", errNoExec
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(path, "/snap/") || strings.HasPrefix(real, "/snap/") || filepath.Base(real) == "snap" {
		return path, errSnap
	}
	script, err := readScript(real)
	if err != nil || script == "" {
		return real, err
	}
	return behindScript(real, script)
}

// readScript returns the beginning of a script, or nothing for a program.
func readScript(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	head, _ := bufio.NewReaderSize(file, 16<<10).Peek(16 << 10) // a short file gives an error and its bytes
	if !strings.HasPrefix(string(head), "#!") {
		return "", nil
	}
	return string(head), nil
}

// behindScript finds the program that a distribution's wrapper starts. Wrappers
// are known by where their distribution keeps the program, not by running them.
func behindScript(path, script string) (string, error) {
	name := filepath.Base(path)
	for _, program := range []string{
		"/usr/lib/chromium/" + name,
		"/usr/lib/" + name + "/" + name,
		"/usr/lib64/" + name + "/" + name,
		filepath.Join(filepath.Dir(path), "chrome"), // /opt/google/chrome/google-chrome
	} {
		if program == path {
			continue
		}
		if found, err := resolve(program); err == nil {
			return found, nil
		}
	}
	if strings.Contains(script, "/snap/") || strings.Contains(script, "snap install") {
		return path, errSnap
	}
	return "", errScript
}

// versionTimeout bounds a run of the binary with --version.
const versionTimeout = 10 * time.Second

// Version runs the binary for its version, such as "156.0.8078.114".
func Version(ctx context.Context, binary Binary) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	home, err := os.MkdirTemp("", "browserfleet-version-")
	if err != nil {
		return "", fmt.Errorf("chromium: version: %w", err)
	}
	defer os.RemoveAll(home)
	command := exec.CommandContext(ctx, binary.Path, "--version", "--user-data-dir="+home)
	command.Env = environment(home, home)
	command.WaitDelay = time.Second
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("chromium: %s --version: %w", binary.Path, err)
	}
	for field := range strings.FieldsSeq(string(out)) {
		if field[0] >= '0' && field[0] <= '9' && strings.Contains(field, ".") {
			return field, nil
		}
	}
	return "", fmt.Errorf("chromium: %s --version printed no version", binary.Path)
}
