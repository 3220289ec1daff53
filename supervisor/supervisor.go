package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

var (
	// ErrClosed: Close was called.
	ErrClosed = errors.New("supervisor: closed")
	// ErrExited: the browser process ended by itself or was killed by others.
	ErrExited = errors.New("supervisor: the browser process ended")
	// ErrWedged: the browser did not answer its heartbeat and was killed.
	ErrWedged = errors.New("supervisor: the browser stopped answering and was killed")
	// ErrNetwork: the browser's network process died. Chromium starts another, which
	// knows nothing of the context's proxy: it would reach nothing any more.
	ErrNetwork = errors.New("supervisor: the browser's network process ended")
	// ErrConnection: the debugging pipe failed; the browser was killed.
	ErrConnection = errors.New("supervisor: the connection to the browser failed")
)

// Supervisor owns one browser process and the environment in it.
type Supervisor struct {
	config  Config
	process *chromium.Process
	conn    *cdp.Conn
	tabs    *tabs
	page    *Page // the first tab, set by Start
	workers sync.WaitGroup

	lost    chan struct{}
	mu      sync.Mutex // protects lostErr
	lostErr error

	closeOnce sync.Once
	closeErr  error
}

// Start launches a browser and opens the environment: context, proxy credential,
// page. When it returns, the page is about:blank and every event from now on is
// seen. On an error nothing is left behind.
func Start(ctx context.Context, config Config) (*Supervisor, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, config.StartTimeout)
	defer cancel()
	process, err := chromium.Launch(ctx, config.Chromium)
	if err != nil {
		return nil, err
	}
	s := &Supervisor{config: config, process: process, lost: make(chan struct{})}
	s.tabs = newTabs(config, s.lost, s.Err)
	attach := make(chan struct{})
	s.conn = cdp.Start(process.Carrier(), func(e cdp.Event) {
		<-attach // tabs.conn is set
		s.tabs.handle(e)
	}, cdp.Options{Droppable: droppable})
	s.tabs.conn, s.tabs.process = s.conn, process
	close(attach)
	s.workers.Add(2)
	go s.runWatch()
	go s.runHeartbeat()
	if err := s.open(ctx); err != nil {
		if errors.Is(err, cdp.ErrClosed) {
			<-s.lost // within classify's second; it knows the reason
		}
		if lost := s.Err(); lost != nil {
			// No page has been loaded: this is the loader, the sandbox or the disk.
			err = fmt.Errorf("%w: %w; the browser said: %q", lost, err, s.process.Stderr())
		}
		return nil, errors.Join(fmt.Errorf("supervisor: start: %w", err), s.Close(context.WithoutCancel(ctx)))
	}
	if network, ok := process.Child(chromium.Network); ok {
		s.workers.Add(1)
		go s.runNetworkWatch(network)
	}
	return s, nil
}

// Page is the environment's first tab, which may have been closed.
func (s *Supervisor) Page() *Page { return s.page }

// Process is the browser's process, for its pid and its resource use.
func (s *Supervisor) Process() *chromium.Process { return s.process }

// Done is closed when the browser is lost or closed.
func (s *Supervisor) Done() <-chan struct{} { return s.lost }

// Err says why, after Done; it matches ErrClosed, ErrExited, ErrWedged or
// ErrConnection.
func (s *Supervisor) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lostErr
}

// Close ends the browser, removes its profile and waits for every goroutine. The
// environment's state is gone afterwards. ctx bounds only the wait for a polite
// end.
func (s *Supervisor) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.lose(ErrClosed)
		s.closeErr = errors.Join(s.conn.Close(), s.process.Close(ctx))
		s.workers.Wait()
		s.tabs.workers.Wait()
	})
	return s.closeErr
}

// lose declares the browser lost, for the first cause that is given.
func (s *Supervisor) lose(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lostErr != nil {
		return
	}
	s.lostErr = cause
	close(s.lost)
}

// runWatch turns the end of process or connection into the loss of the browser.
func (s *Supervisor) runWatch() {
	defer s.workers.Done()
	select {
	case <-s.lost:
	case <-s.process.Done():
		s.lose(s.exited())
	case <-s.conn.Done():
		s.lose(s.classify())
	}
	if !errors.Is(s.Err(), ErrClosed) {
		s.process.Kill()
		// Pending calls must not wait for the pipe to notice.
		_ = s.conn.Close()
	}
}

// networkLook is how often the network process is looked at, which costs a read of
// /proc: its death is to be noticed within half a second.
const networkLook = 250 * time.Millisecond

// runNetworkWatch declares the browser lost with its network process.
func (s *Supervisor) runNetworkWatch(network chromium.Child) {
	defer s.workers.Done()
	look := time.NewTicker(networkLook)
	defer look.Stop()
	for {
		select {
		case <-s.lost:
			return
		case <-s.process.Done():
			return // with all that it started
		case <-look.C:
			if !network.Alive() {
				s.loseNetwork()
				return
			}
		}
	}
}

// loseNetwork waits a moment for the browser itself, which may be what ended.
func (s *Supervisor) loseNetwork() {
	moment := time.NewTimer(networkLook)
	defer moment.Stop()
	select {
	case <-s.lost:
	case <-s.process.Done():
	case <-s.conn.Done():
	case <-moment.C:
		s.lose(ErrNetwork)
	}
}

// classify waits a moment for the process: after a kill, the end of the pipe is
// seen first.
func (s *Supervisor) classify() error {
	moment := time.NewTimer(time.Second)
	defer moment.Stop()
	select {
	case <-s.process.Done():
		return s.exited()
	case <-s.lost:
		return s.Err()
	case <-moment.C:
		return fmt.Errorf("%w: %w", ErrConnection, s.conn.Err())
	}
}

// exited says how the process ended, such as "signal: killed".
func (s *Supervisor) exited() error {
	if err := s.process.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrExited, err)
	}
	return ErrExited
}
