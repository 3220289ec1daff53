// Command browserfleet is the whole fleet in one binary: its services, a fleet on
// one machine (dev, demo), and the verbs of a client.
//
//	browserfleet dev                    a fleet on this machine, until Ctrl-C
//	browserfleet open URL --owner me    what an agent does: open, observe, click…
//	browserfleet owners | workers       what an operator looks at
//	browserfleet doctor                 what is missing, and the mend
//
// # Output
//
// Answers go to standard output, for people, or with -o json as one object.
// Errors, progress and logs go to standard error: an error as its code, what
// happened, and what to do next.
//
// # Exit status
//
//	0    it worked
//	1    the action, or what was checked, failed; the answer says how
//	2    the command line, or a service's configuration, is wrong
//	3    the fleet could not be reached; nothing was sent
//	4    no answer: the request may have been stored, `browserfleet result ID` asks
//	130  interrupted
//
// # Layout
//
// Package main parses flags (kong) and runs client verbs. internal/service has
// the services, internal/devfleet the fleet on one machine, internal/demo the
// demonstration, internal/doctor the checks, internal/view the output. Client
// verbs know the rest of the fleet by its wire contract only.
//
// # State
//
// Client verbs remember, per user and owner, the id of the last observation and
// the owner that was used last, in DATA/client: `click e12` needs nothing else.
// It is a convenience; losing it loses nothing.
package main
