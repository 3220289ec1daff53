package chaos

import "time"

// port is what listens on a host.
type port int

const (
	portNATS  port = 4222
	portRoute port = 6222
	portStore port = 4380
)

// network is what hosts reach each other through. One goroutine uses it.
type network interface {
	// listen is the address on which a service of the host listens.
	listen(host string, p port) (string, error)
	// reach is the address by which one host reaches a service of another.
	reach(from, to string, p port) (string, error)
	// command is the program, started on the host.
	command(host string, program []string) []string

	cut(host string, on bool) error
	part(a, b string, on bool) error
	slow(host string, on bool) error
	close() error
}

// A slow link passes relay.Bandwidth; what waits longer than slowest is dropped
// by the kernel.
const (
	slowBurst = 8 << 10 // bytes
	slowest   = time.Second
)
