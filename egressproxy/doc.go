// Package egressproxy is the only way out of an environment: the network policy
// as a pure function, and a loopback HTTP proxy that asks it.
//
// # What it owns
//
// Policy is what an operator writes, in JSON or in the text form of an
// environment variable. Compile checks it, naming the field that is wrong.
// Compiled.Decide judges scheme, host, port and resolved addresses; its Reason is
// at once the log field, the metric label, the response header and the evidence.
// CheckURL and Compiled.CheckNavigation judge a top-level navigation before it is
// dispatched. Proxy enforces the same policy on every connection the browser
// makes: one listener on 127.0.0.1 and one random credential an environment.
// Host spellings are read by the weburl package, as Chromium reads them.
//
// # How a destination is judged
//
// In this order; the first rule that matches gives the reason.
//
//  1. scheme; deny_hosts; names of metadata services        (no mode lifts these)
//  2. each address, and the IPv4 address inside a NAT64, 6to4, Teredo, ISATAP,
//     IPv4-compatible or translated one: metadata services, the fleet's own
//     listeners, the proxy itself, deny_cidrs                (no mode lifts these)
//  3. unrestricted: allowed
//  4. allow_hosts, with the entry's port or the policy's: allowed, whatever class
//     its addresses have
//  5. the policy's ports
//  6. each address: in allow_cidrs, or public unicast (when public is not false)
//
// Before a name is resolved only rules 1 and 5 and public=false are asked: what
// they refuse is not looked up at all.
//
// IPv4-mapped addresses are judged as the IPv4 address, which is what the kernel
// connects to; the unspecified address counts as loopback for rule 2. "*.host"
// covers every depth below host but not host itself.
//
// # How a request runs
//
//	head read strictly (400, 431) -> credentials (407) -> target (403)
//	  -> suspended? (503) -> rules without addresses (403) -> ONE resolution (502)
//	  -> all answers judged (403) -> dial those answers, both families in turn (502)
//	  -> registered under the current policy (403) -> octets, each write past the gate
//
// CONNECT becomes a tunnel; Chromium sends wss and also ws that way. Absolute-form
// http is forwarded over a server connection of its own, so nothing is reused
// across hosts; Host and framing are written anew from the target and from what
// was understood. localhost and names below it are resolved here (RFC 6761) to
// 127.0.0.1 and ::1 and then judged: to open them by CIDR, list both, or name the
// host. A failed or empty resolution opens nothing.
//
// # What it never does
//
// It connects to no address that was not judged, to no proxy of this worker, and
// never resolves a name twice for one request. It does not look into TLS: the
// server name that a client sends inside a tunnel may differ from the host that
// was judged, and only decides what the server at a judged address answers. It
// logs and reports hosts, ports and reasons, never paths, headers or credentials.
// It trusts no resolver: every answer must pass.
//
// # Goroutines and locks
//
// One goroutine accepts, one serves each client connection; a tunnel has one more
// for the way up, a request one more that sends the body and then watches for the
// client going away, each dial attempt one. All are counted in Proxy.goroutines
// and Close waits for them. Proxy.mu protects the policy and the sets of clients
// and tunnels, and is never held during I/O; the gate, the denial ring and
// Listeners have a mutex each, taken last and held for a few instructions.
//
// # States of the gate
//
//	open --Suspend--> shut --Resume--> open
//
// While SetLive's question is answered with no, an open gate lets nothing through,
// either: a process that was stopped shuts its gates late.
//
// Shut, new requests are refused (only PrimeURL is still answered, it touches
// nothing outside) and every forwarding write waits; the wait ends with Resume or
// with the tunnel. A write that had begun may still complete.
//
// # Evidence
//
// The last 512 denials are kept in a ring. A worker takes DenialMark before an
// action and Denials(mark) after it; totals by reason never age.
package egressproxy
