package chromium

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// SweepReport counts what a sweep met.
type SweepReport struct {
	Live    int // records whose owner runs
	Foreign int // records of another pid namespace, left alone
	Swept   int // records that were removed
	Killed  int // processes that were killed
}

// Sweep removes the processes and profiles of dead owners under a scratch root.
// A root that does not exist is clean. One bad record does not stop the others;
// the errors are joined. It is safe to run several at once.
func Sweep(ctx context.Context, scratch string) (SweepReport, error) {
	var report SweepReport
	scratch, err := filepath.Abs(scratch)
	if err != nil {
		return report, fmt.Errorf("chromium: sweep: %w", err)
	}
	paths, err := filepath.Glob(filepath.Join(recordsFolder(scratch), "*.json"))
	if err != nil {
		return report, fmt.Errorf("chromium: sweep: %w", err)
	}
	boot, err1 := bootID()
	space, err2 := pidNamespace()
	if err := errors.Join(err1, err2); err != nil {
		return report, fmt.Errorf("chromium: sweep: %w", err)
	}
	var failures []error
	for _, path := range paths {
		if err := context.Cause(ctx); err != nil {
			failures = append(failures, err)
			break
		}
		if err := sweepOne(ctx, path, boot, space, &report); err != nil {
			failures = append(failures, fmt.Errorf("chromium: sweep: %w", err))
		}
	}
	return report, errors.Join(append(failures, sweepHalves(scratch))...)
}

// halfAge is when a record that is being written counts as given up; writing one
// takes less than a millisecond.
const halfAge = time.Minute

// sweepHalves removes records that a killed owner was writing. What they were to
// replace is still there.
func sweepHalves(scratch string) error {
	halves, err := filepath.Glob(filepath.Join(recordsFolder(scratch), "*.json"+halfSuffix))
	for _, path := range halves {
		if info, statErr := os.Stat(path); statErr == nil && time.Since(info.ModTime()) > halfAge {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

func sweepOne(ctx context.Context, path, boot, space string, report *SweepReport) error {
	r, err := readRecord(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // its owner or another sweep was faster
		return nil
	case err != nil:
		return err
	case r.Boot == boot && r.PIDSpace != space:
		report.Foreign++
		return nil
	case r.Boot == boot && alive(r.OwnerPID, r.OwnerStart) && !r.givenUp():
		report.Live++
		return nil
	}
	if r.Boot == boot {
		killed, err := r.killAll(ctx)
		report.Killed += killed
		if err != nil {
			return err
		}
	}
	if err := r.remove(ctx); err != nil {
		return err
	}
	report.Swept++
	return nil
}

// givenUp says that the owner is this process, and is done with the record.
func (r *record) givenUp() bool {
	_, used := inUse.Load(r.path)
	return r.OwnerPID == os.Getpid() && !used
}

// killAll kills what belongs to the record until nothing is left, in two looks one
// after the other: a process can fork between the look and the kill. (Measured on
// Chromium 156: a browser that is just dying still started its network service.)
func (r *record) killAll(ctx context.Context) (int, error) {
	killed := make(map[int]struct{})
	empty := false
	for range removeTries {
		dying := r.dying()
		members, err := r.members()
		if err != nil {
			return len(killed), err
		}
		nothing := len(members) == 0 && !dying
		if nothing && empty {
			return len(killed), nil
		}
		empty = nothing
		for _, pid := range members {
			_ = unix.Kill(pid, unix.SIGKILL) // ESRCH: it ended by itself
			killed[pid] = struct{}{}
		}
		pause := time.NewTimer(removePause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return len(killed), context.Cause(ctx)
		case <-pause.C:
		}
	}
	return len(killed), fmt.Errorf("processes of %s survive SIGKILL", r.Profile)
}

// dying says that the browser's first thread has ended and others have not: they
// may be in the middle of a fork.
func (r *record) dying() bool {
	stat, err := readStat(r.PID)
	return err == nil && stat.start == r.PIDStart && stat.state == 'Z' && stat.threads > 1
}

func (r *record) members() ([]int, error) {
	pids, err := processes()
	if err != nil {
		return nil, err
	}
	var members []int
	for _, pid := range pids {
		if pid != os.Getpid() && r.owns(pid) {
			members = append(members, pid)
		}
	}
	return members, nil
}

// owns says whether a process belongs to the record: it names the profile in its
// command line (and, with the record's pid, has its start time), or it is in the
// record's group and works in the profile.
func (r *record) owns(pid int) bool {
	stat, err := readStat(pid)
	if err != nil || stat.state == 'Z' || stat.state == 'X' {
		return false
	}
	if pid == r.PID && stat.start != r.PIDStart {
		return false
	}
	if namesProfile(pid, r.userData()) {
		return true
	}
	return r.PGID != 0 && stat.pgid == r.PGID && worksIn(pid, r.Profile)
}
