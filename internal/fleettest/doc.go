// Package fleettest runs a fleet inside a test: a real NATS server with the
// generated configuration, a coordinator, workers with the simulated browser
// or with Chromium, and an object store in memory. Tests speak to it as agents do.
//
// Each worker has a network of its own (internal/relay) that can be cut and healed. A
// worker is "cut off" by closing its connection: to the fleet that is a dead
// machine, to the worker a dead network, so what it does then is what a zombie
// does. Killing whole processes is tested where the processes are (cmd).
//
// It belongs to tests alone. Start begins the goroutines; the test's cleanup
// ends them and waits.
package fleettest
