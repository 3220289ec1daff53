// Package hostload reads how busy a host is: the memory that a new process could
// use, the load, and how often tasks wait for a CPU. It judges, and does nothing
// about it: workers refuse owners and spare browsers by its word.
//
// # Sources
//
//	/proc/meminfo            MemAvailable, in KiB
//	/sys/fs/cgroup/memory.*  the limit of the container, where there is one: max
//	                         minus current, and what the kernel would give back of
//	                         it (inactive_file of memory.stat)
//	/proc/loadavg            the one-minute load, divided by the number of CPUs
//	/proc/pressure/cpu       "some avg10": the share of the last ten seconds in
//	                         which at least one task was ready and had no CPU
//
// A source that is missing (pressure needs Linux 4.20 with PSI enabled; cgroup v1
// has other files) leaves its value at "not known", and what depends on it is
// decided without it. Nothing is cached; a reading takes about 60 microseconds.
//
// # Saturated
//
// A host is saturated when a task waits for a CPU during 90% of the time; where
// there is no pressure, when four tasks a CPU are ready. Then a process that does
// not answer may only be waiting for its turn. The value is an average over ten
// seconds: a short stall is seen by the lag of one's own timers instead, which is
// the caller's to measure.
//
// # Goroutines and locks
//
// None.
package hostload
