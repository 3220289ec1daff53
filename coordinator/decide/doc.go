// Package decide holds what a coordinator decides about an owner, as pure
// functions over what it has read: no clock, no I/O, no lock. Package coordinator
// reads and writes around them; the model of the protocol (internal/fleetmodel)
// runs the same ones, so that a rule which is broken here is noticed there.
//
// # What it owns
//
//   - [Seen.Todo]: what an owner needs, by its record and its queue. A leader
//     asks it of its view, which is a hint, before it begins a job.
//
//   - [Placeable]: whether a record, as its stream's leader has it, may be
//     assigned. [Answerable]: whether a coordinator may make itself the holder of
//     it, to answer what is due. Whoever is held by a living worker is neither.
//
//   - [Needless]: whether that record says that there is nothing to wake for.
//
//   - [Due], [Began]: how a request is answered while nobody can run it.
//
//   - [Over]: whether a tenant is at its quota.
//
//     record                    queue        worker        to do
//     none, unassigned,         unanswered,  -             place
//     hibernated                or wanted
//     moving                    -            -             place
//     answering for Restless    the same     -             place
//     assigned                  -            gone          place
//     assigned and idle         answered     never heard   free
//     .                                      of
//     assigned, cursors of      -            alive         place
//     another stream
//     failed, deleted           unanswered   -             answer
//     deleted, kept state       answered     -             erase, after Restless
//
// # What it never does
//
// It never trusts itself: what is decided ends with a compare-and-set of the
// record, which the server refuses if anybody wrote since.
package decide
