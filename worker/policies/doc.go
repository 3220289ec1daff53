// Package policies knows the named policies of tenants: what operators wrote into
// the bucket bf_policy, compiled, and kept up to date.
//
// # Documents
//
// Key tenant.TENANT.policy.NAME holds a protocol.PolicyDocument in JSON. NAME is what
// acquire names; "default" is the one of owners that name none. Without that one, the
// worker's own policy holds for them. A name that is not there opens nothing: never
// does an owner that asked for a narrower policy get a wider one.
//
// # What becomes of a change
//
// Whoever holds a policy gets each later version: tunnels that it no longer allows
// close (egressproxy.Proxy.SetPolicy). A document that cannot be read changes
// nothing and is an error in the log. A document that is deleted while somebody runs
// under it denies everything. Popups and dialog_policy are read when a browser is
// opened; a later version meets the next one.
//
// # Start
//
// Until the bucket was read once nothing is known, and Hold waits. A worker that
// cannot reach NATS holds no owners anyway.
//
// # Goroutines and locks
//
// Run is one goroutine. Book.mu protects the documents and the holders; apply
// functions are called with it held, so that versions arrive in their order, and must
// not wait.
package policies
