// Package chromium finds, starts, stops and cleans up after Chromium processes.
// It owns a process, its group, its profile folder and its record on disk; it
// speaks no protocol command: it hands out the carrier of the process's debugging
// pipe and leaves the rest to package supervisor.
//
// # Binaries
//
// Find prefers chromium-headless-shell (Debian's package of that name or
// Playwright's headless_shell): it starts three times faster than the full
// browser in its new headless mode, needs 25 MB an environment in place of 35 to
// 65, and makes no connection of its own. The full browser is an option. The
// scripts in /usr/bin are never run: Debian's sources /etc/chromium.d, which adds
// extensions and API keys, and a script would stand between us and the pid. A
// snap cannot be driven (its confinement hides the profile folder and the pipe),
// so Ubuntu's stubs are recognised and named in the error.
//
// # Layout of a scratch root
//
//	ROOT/records/NAME.json    one record a process, 0600
//	ROOT/profiles/NAME/       0700: user-data/, home/, tmp/
//	/tmp/bf-NAME/             in place of tmp/, for the full browser under a long
//	                          ROOT: it makes a socket there
//
// The record is written before the folder and removed after it, so no folder is
// ever without a record. It names the process (pid, start time, group) and the
// worker that owns it (pid, start time), both with the boot and the pid
// namespace that make these numbers mean something:
//
//	{"v":1,"boot":"…","pid_ns":"pid:[4026531836]","profile":"/…/profiles/NAME",
//	 "pid":4242,"pid_start":99,"pgid":4242,"owner_pid":1,"owner_start":7,
//	 "created":"2026-01-02T03:04:05.000Z"}
//
// pid is 0 for the moment between the first write and the start of the process.
//
// # Life of a process
//
//	Launch -> running -> (exits by itself | Close: TERM, then KILL | Kill)
//	       -> exited: group killed, process reaped, Done closed
//	Close  -> profile and record removed
//
// One goroutine per process (runWait) waits for the exit without reaping, kills
// the rest of the group while the zombie still holds the pid (so the number
// cannot belong to anybody else), then reaps. Done is closed after that.
//
// After SIGKILL of the owner, a browser on a pipe reads end of file and exits by
// itself within about two seconds; its profile and record stay until Sweep.
//
// # Sweep
//
// Sweep removes what dead owners left. A record is touched only if its owner is
// dead: same boot and pid namespace, and no process with the owner's pid and
// start time; or if the owner is the sweeping process itself, which has given it
// up (a process or a folder that would not go in time). A process is killed only if its start time is the record's and its
// command line names the record's profile, or if it is a member of the recorded
// group and works in that profile. Records of another pid namespace are counted
// and left alone: from here their owners cannot be seen.
//
// # Environment of the process
//
// PATH, HOME, TMPDIR and LANG, nothing else: the worker's environment holds
// credentials. The default context has a proxy that cannot be resolved, so only
// contexts that bring a proxy of their own can load anything.
package chromium
