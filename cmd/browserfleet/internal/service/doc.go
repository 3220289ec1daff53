// Package service runs the processes of a fleet: nats, store, coordinator and
// worker. Each is a function that reads its configuration from the environment,
// serves until its context ends, and cleans up. `browserfleet dev` starts them
// as child processes; on servers an init system does.
//
// # Configuration
//
// One struct a service, read by envconfig under the prefix BROWSERFLEET_, with
// defaults and descriptions; `browserfleet SERVICE --help` prints the table. A
// variable with the prefix that no service knows is an error (a misspelt one
// would be silently without effect); one of another service is not, so that all
// services of a host may share one environment file. Validate reports every
// problem at once.
//
// Secrets are never in the environment: a variable names a file, which must not
// be readable by others. They are never in arguments, logs or errors.
//
// # Life
//
// SIGTERM and SIGINT end a service in order: a worker drains, that is, it saves
// and hands over its owners until the drain's deadline. A second signal ends the
// process at once. With BROWSERFLEET_EXIT_WITH_STDIN=true the end of standard
// input counts as SIGTERM: a parent keeps the other end of the pipe open for as
// long as it lives, and the kernel closes it whatever the parent dies of. (The
// kernel's parent-death signal follows a thread, not the process.) What has not
// ended stopGrace after that is ended hard.
//
// A service that starts before what it needs waits for it, and says so every few
// seconds: NATS that is down, streams that are not provisioned yet. A worker
// whose object store is down starts all the same: requests of kept environments
// wait with a clear code, ephemeral ones work. Only a store that cannot keep the
// promises (it ignores conditional writes) stops it.
//
// # Goroutines
//
// startLife has one that waits for signals and one that reads standard input;
// both live as long as the process. Everything else is waited for.
package service
