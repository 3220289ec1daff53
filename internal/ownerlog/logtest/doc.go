// Package logtest is the suite that every ownerlog.Log passes: the streams of a
// real server through natsx, and those in memory that the model of the protocol
// runs over. What the model proves holds for the real streams as far as both
// pass here.
//
// The suite states what the rules of package ownerlog need of a Log:
//
//   - a compare-and-set stores only behind the sequence that it names, and a
//     refusal is natsx.ErrConflict and stores nothing;
//   - a result's subject takes one message for ever;
//   - reads give the subject's newest, or its first at a sequence or later, and
//     natsx.ErrNotFound where there is none;
//   - sequences count a stream, not a subject, and grow by one;
//   - a push carries the message with the server's headers, of which natsx reads
//     the last, whatever its publisher wrote there, and names the subject's
//     message before it.
package logtest
