package testkit

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/devstore"
	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// storeStart is how long a store may take to answer on a loaded machine.
const storeStart = 2 * time.Minute

// StoreInfo is a real S3 store in a child process, ended by the test's Cleanup.
type StoreInfo struct {
	Endpoint  string // host:port, plain http
	AccessKey string
	SecretKey string
	Bucket    string
	Dir       string // its folder

	t     testing.TB
	child *exec.Cmd
	stdin io.Closer // the child ends at end of file here
}

// storeChild is what the parent tells the child, on stdin: secrets stand in
// neither arguments nor environment.
type storeChild struct {
	Dir, Addr, AccessKey, SecretKey, Bucket string
}

// Store starts a store with an empty bucket. The package's TestMain must call
// Main.
func Store(t testing.TB) *StoreInfo {
	t.Helper()
	s := &StoreInfo{
		Endpoint:  Loopback() + ":0",
		AccessKey: "test" + rand.Text()[:12],
		SecretKey: rand.Text() + rand.Text(),
		Bucket:    "browserfleet-test",
		Dir:       t.TempDir(),
		t:         t,
	}
	s.Restart()
	t.Cleanup(s.stop)
	return s
}

// Config is how objectstore.Open reaches the store.
func (s *StoreInfo) Config() objectstore.Config {
	return objectstore.Config{
		Endpoint: s.Endpoint, AccessKey: s.AccessKey,
		SecretKey: objectstore.Secret(s.SecretKey), Bucket: s.Bucket,
	}
}

// Kill ends the store with SIGKILL. Its address stays its own until Restart.
func (s *StoreInfo) Kill() {
	s.t.Helper()
	if s.child == nil {
		s.t.Fatal("testkit: the store is down already")
	}
	if err := s.child.Process.Kill(); err != nil {
		s.t.Fatalf("testkit: kill the store: %v", err)
	}
	s.await()
}

// Restart starts the store again, over the same folder and at the same address.
func (s *StoreInfo) Restart() {
	s.t.Helper()
	if s.child != nil {
		s.t.Fatal("testkit: the store is up already")
	}
	if err := s.start(); err != nil {
		log, _ := os.ReadFile(s.logFile())
		s.t.Fatalf("testkit: start the store: %v\n%s", err, log)
	}
}

func (s *StoreInfo) logFile() string { return filepath.Join(s.Dir, "log") }

func (s *StoreInfo) start() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	ready, readyChild, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = ready.Close() }()

	child := exec.Command(exe)
	child.Env = append(os.Environ(), childEnv+"=store")
	child.Stdout, child.Stderr = log, log
	child.ExtraFiles = []*os.File{readyChild} // descriptor 3
	stdin, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	_ = readyChild.Close()
	if err != nil {
		return err
	}
	s.child, s.stdin = child, stdin
	return s.handshake(ready, stdin)
}

// handshake sends the configuration and waits for the address.
func (s *StoreInfo) handshake(ready *os.File, stdin io.Writer) error {
	cfg := storeChild{
		Dir: s.Dir, Addr: s.Endpoint, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Bucket: s.Bucket,
	}
	if err := json.NewEncoder(stdin).Encode(cfg); err != nil {
		return err
	}
	if err := ready.SetReadDeadline(time.Now().Add(storeStart)); err != nil {
		return err
	}
	line, err := bufio.NewReader(ready).ReadString('\n')
	if err != nil {
		s.stop()
		return fmt.Errorf("no address from the child: %w", err)
	}
	s.Endpoint = strings.TrimSpace(line)
	return nil
}

func (s *StoreInfo) stop() {
	if s.child == nil {
		return
	}
	// Killing is the surest end, and the store has no state that it minds.
	_ = s.child.Process.Kill()
	s.await()
}

func (s *StoreInfo) await() {
	_ = s.stdin.Close()
	_ = s.child.Wait()
	s.child, s.stdin = nil, nil
}

// runStore is the child.
func runStore() error {
	stdin := bufio.NewReader(os.Stdin)
	line, err := stdin.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var cfg storeChild
	if err := json.Unmarshal(line, &cfg); err != nil {
		return errors.New("the configuration is not JSON")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process: a read of stdin cannot be cancelled
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	ready := os.NewFile(3, "ready")
	return devstore.Run(ctx, devstore.Config{
		Dir: cfg.Dir, Addr: cfg.Addr, AccessKey: cfg.AccessKey,
		SecretKey: objectstore.Secret(cfg.SecretKey), Bucket: cfg.Bucket,
		Ready: func(addr string) {
			_, _ = fmt.Fprintln(ready, addr)
			_ = ready.Close()
		},
	})
}
