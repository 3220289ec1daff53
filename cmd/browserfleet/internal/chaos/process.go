package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a member of the fleet that is started, hurt and started again. One
// goroutine, the conductor, calls its methods.
type process struct {
	member
	argv []string
	// env is made for each start: a worker has a dispatch log for each life.
	env   func(life int) []string
	stdin *os.File
	log   *os.File

	lives  int
	cmd    *exec.Cmd
	ended  chan struct{} // closed when this life is over
	how    error         // set before ended is closed
	killed bool          // this life was ended by us
	paused bool
	waits  sync.WaitGroup
}

// startLife starts it, the first time or again.
func (p *process) startLife() error {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.env(p.lives), p.stdin, p.log, p.log
	// Its own group: Ctrl-C at the terminal is for the conductor.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.lives++
	p.cmd, p.ended, p.killed, p.paused = cmd, make(chan struct{}), false, false
	ended := p.ended
	p.waits.Go(func() { p.how = cmd.Wait(); close(ended) })
	return nil
}

// dead reports whether its life is over.
func (p *process) dead() bool {
	if p.cmd == nil {
		return true
	}
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// failed tells how a life ended that we did not end.
func (p *process) failed() error {
	if p.cmd == nil || p.killed || !p.dead() {
		return nil
	}
	if p.how == nil {
		return errors.New("exit status 0")
	}
	return p.how
}

func (p *process) kill() error {
	if p.dead() {
		return nil // it is a finding already
	}
	p.killed = true
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}

// pause stops it or lets it go on.
func (p *process) pause(on bool) error {
	if p.dead() {
		return nil
	}
	signal := syscall.SIGCONT
	if on {
		signal = syscall.SIGSTOP
	}
	p.paused = on
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("pause %s: %w", p.name, err)
	}
	return nil
}

// stop asks it to end and kills it when it does not; late tells that.
func (p *process) stop(grace time.Duration) (late bool) {
	p.askToStop()
	if p.cmd == nil {
		return false
	}
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-p.ended:
	case <-over.C:
		late = true
		_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended just now
		<-p.ended
	}
	p.waits.Wait()
	return late
}

func (p *process) askToStop() {
	if p.dead() {
		return
	}
	p.killed = true
	// A paused process takes a signal when it goes on.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
}
