package chromium

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	snap := write("chromium-browser", "#!/bin/sh\nif ! [ -x /snap/bin/chromium ]; then echo snap install chromium; fi\nexec /snap/bin/chromium \"$@\"\n", 0o755)
	snapProgram := write("snap", "\x7fELF", 0o755)
	snapLink := filepath.Join(folder, "chromium")
	if err := os.Symlink(snapProgram, snapLink); err != nil {
		t.Fatal(err)
	}
	chrome := write("opt/google/chrome/chrome", "\x7fELF", 0o755)
	wrapper := write("opt/google/chrome/google-chrome", "#!/bin/bash\nexec chrome\n", 0o755)
	for name, c := range map[string]struct {
		configured string
		want       Binary
		reason     error
		snap       string
	}{
		"Debian's wrapper of the browser":  {configured: "/usr/bin/chromium", want: Binary{"/usr/lib/chromium/chromium", Full}},
		"Debian's wrapper of the shell":    {configured: "/usr/bin/chromium-headless-shell", want: Binary{"/usr/lib/chromium/chromium-headless-shell", Shell}},
		"a name in PATH":                   {configured: "chromium-headless-shell", want: Binary{"/usr/lib/chromium/chromium-headless-shell", Shell}},
		"the program itself":               {configured: "/usr/lib/chromium/chromium", want: Binary{"/usr/lib/chromium/chromium", Full}},
		"a tarball's shell":                {configured: write("t/chrome-headless-shell", "\x7fELF", 0o755), want: Binary{folder + "/t/chrome-headless-shell", Shell}},
		"another packager's shell":         {configured: write("p/headless_shell", "\x7fELF", 0o755), want: Binary{folder + "/p/headless_shell", Shell}},
		"Google's wrapper":                 {configured: wrapper, want: Binary{chrome, Full}},
		"Ubuntu's stub":                    {configured: snap, reason: errSnap, snap: snap},
		"a link to the snap program":       {configured: snapLink, reason: errSnap, snap: snapLink},
		"a script that nobody knows":       {configured: write("s/start", "#!/bin/sh\n", 0o755), reason: errScript},
		"nothing there":                    {configured: folder + "/none", reason: errNoFile},
		"a name that is not in PATH":       {configured: "chromium-of-nobody", reason: errNoFile},
		"a folder":                         {configured: folder, reason: errNoExec},
		"a file that cannot be executed":   {configured: write("plain", "\x7fELF", 0o644), reason: errNoExec},
		"an empty file is no script at it": {configured: write("empty", "", 0o755), want: Binary{folder + "/empty", Full}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Find(c.configured)
			if c.reason == nil {
				if err != nil || got != c.want {
					t.Errorf("got %+v, %v; want %+v", got, err, c.want)
				}
				return
			}
			missing := (*MissingError)(nil)
			if !errors.As(err, &missing) {
				t.Fatalf("got %+v, %v", got, err)
			}
			want := &MissingError{Configured: c.configured, Reason: c.reason.Error(), Snap: c.snap}
			if diff := cmp.Diff(want, missing); diff != "" {
				t.Error(diff)
			}
			for _, part := range []string{"BROWSERFLEET_CHROMIUM=" + c.configured, "apt-get install chromium-headless-shell"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
		})
	}
}

func TestFindPrefersTheShell(t *testing.T) {
	t.Parallel()
	got, err := Find("")
	if err != nil || got.Kind != Shell {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheTextForAMissingBrowserSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	err := &MissingError{Tried: []string{"a", "b"}, Snap: "/usr/bin/chromium-browser"}
	want := "chromium: no browser found (looked for a, b)." +
		" /usr/bin/chromium-browser belongs to the Chromium snap, whose confinement hides the debugging pipe and the profile folder." +
		" Install chromium-headless-shell (Debian: apt-get install chromium-headless-shell;" +
		" elsewhere: npx @puppeteer/browsers install chrome-headless-shell@stable) or chromium," +
		" or set BROWSERFLEET_CHROMIUM to the path of the program."
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
