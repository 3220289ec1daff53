package chromium

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestABrowserStartsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"shell": "", "full": "/usr/lib/chromium/chromium"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary, err := Find(path)
			if err != nil {
				t.Fatal(err)
			}
			scratch := scratchRoot(t)
			p, _ := launch(t, Options{Binary: binary, Scratch: scratch, AllowNoSandbox: true})
			pgid, err := syscall.Getpgid(p.PID())
			if err != nil || pgid != p.PID() {
				t.Errorf("group %d of process %d, %v", pgid, p.PID(), err)
			}
			info, err := os.Stat(p.Profile())
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("profile: %v %v", info.Mode(), err)
			}
			p.Lower() // it has raised itself meanwhile
			// The syscall gives 20 minus the nice value.
			if prio, err := unix.Getpriority(unix.PRIO_PROCESS, p.PID()); err != nil || 20-prio < defaultNice {
				t.Errorf("nice is %d, %v", 20-prio, err)
			}
		})
	}
}

func TestTheBrowserSeesNoEnvironmentOfOurs(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
	p, _ := launch(t, Options{Binary: testBinary(t), Scratch: scratchRoot(t), AllowNoSandbox: true})
	raw, err := os.ReadFile(procPath(p.PID(), "environ"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for entry := range bytes.SplitSeq(bytes.TrimRight(raw, "\x00"), []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		names = append(names, name)
		// It would hand a mailto: URL to an xdg-open that it found there.
		if name == "PATH" && value != noPrograms {
			t.Errorf("PATH is %q", value)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"HOME", "LANG", "PATH", "TMPDIR"}, names); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestRootNeedsADecisionAboutTheSandbox(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // nothing to decide
	}
	_, err := Launch(t.Context(), Options{Binary: testBinary(t), Scratch: scratchRoot(t)})
	if !errors.Is(err, ErrNeedsNoSandbox) || !strings.Contains(err.Error(), "BROWSERFLEET_ALLOW_NO_SANDBOX=1") {
		t.Errorf("%v", err)
	}
}

func TestAFailedLaunchLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"no such program": func(o *Options) { o.Binary.Path = "/nonexistent/chromium" },
		"no scratch root": func(o *Options) { o.Scratch = "" },
		"white space":     func(o *Options) { o.Scratch += "/a b" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scratch := scratchRoot(t)
			o := Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true}
			change(&o)
			if p, err := Launch(t.Context(), o); err == nil {
				t.Fatal(p.Close(t.Context()))
			}
			nothingLeft(t, scratch)
		})
	}
}

func TestTheFullBrowserStartsUnderALongScratchRoot(t *testing.T) {
	t.Parallel()
	full, err := Find("/usr/lib/chromium/chromium")
	if err != nil {
		t.Fatal(err)
	}
	p, conn := launch(t, Options{Binary: full, Scratch: scratchRoot(t) + "/" + strings.Repeat("x", 60), AllowNoSandbox: true})
	if err := conn.Session("").Call(t.Context(), "Browser.getVersion", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.record.shortTmp()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

func TestKillEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	scratch := scratchRoot(t)
	p, _ := launch(t, Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true})
	if n := len(processesOf(t, scratch)); n < 2 {
		t.Fatalf("only %d processes: the test sees nothing", n)
	}
	p.Kill()
	<-p.Done()
	if p.Err() == nil {
		t.Error("a killed process ended well")
	}
}

func TestCloseWithNoTimeLeftStillCleansUp(t *testing.T) {
	t.Parallel()
	scratch := scratchRoot(t)
	p, _ := launch(t, Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	nothingLeft(t, scratch)
	if err := p.Close(ctx); err != nil {
		t.Errorf("a second close: %v", err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	version, err := Version(t.Context(), testBinary(t))
	if err != nil || strings.Count(version, ".") != 3 {
		t.Errorf("%q, %v", version, err)
	}
	if _, err := Version(t.Context(), Binary{Path: "/bin/false"}); err == nil {
		t.Error("/bin/false has a version")
	}
}

func TestTheTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	tail := newTail()
	for range 3 {
		_, _ = tail.Write(bytes.Repeat([]byte("a"), tailRoom))
	}
	_, _ = tail.Write([]byte("end"))
	if got := tail.String(); len(got) != tailRoom || !strings.HasSuffix(got, "aend") {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-4:])
	}
}

func TestArgumentsThatGuardTheNetwork(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Shell, Full} {
		args := arguments(Binary{Kind: kind}, filepath.Join("/x", "user-data"), Options{})
		for _, want := range []string{
			"--remote-debugging-pipe", "--site-per-process", "--disable-quic", "--proxy-bypass-list=<-loopback>",
			"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
			"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--proxy-server=" + denyProxy,
		} {
			if !slices.Contains(args, want) {
				t.Errorf("%v: %s is missing", kind, want)
			}
		}
		if slices.Contains(args, "--no-sandbox") {
			t.Errorf("%v: the sandbox is off", kind)
		}
		if slices.Contains(args, "--headless=new") != (kind == Full) {
			t.Errorf("%v: wrong headless mode", kind)
		}
	}
}
