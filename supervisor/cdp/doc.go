// Package cdp carries the Chrome DevTools Protocol and knows none of its
// domains. It owns the socket, the table of calls that wait for a reply, and
// the queue of events; it never interprets a method name and never starts a
// browser.
//
// # Parts
//
//	Carrier   one message in, one message out: a pipe or a WebSocket
//	Conn      one carrier, the table of pending calls, the queue of events
//	Session   a flattened session of a Conn; implements cdproto's cdp.Session
//	Pending   one call that was sent and not yet answered
//
// A Session runs cdproto's typed commands:
//
//	res, err := cdp.Call(ctx, session, page.Navigate, page.NavigateParams{URL: u})
//
// where cdp.Call is the function of github.com/chromedp/cdproto/cdp. To send
// several commands without waiting for each reply, call Session.Send in order;
// their order on the wire is the order of the Send calls:
//
//	a, _ := session.Send("Input.dispatchMouseEvent", moved)
//	b, _ := session.Send("Input.dispatchMouseEvent", pressed)
//	err := errors.Join(a.Wait(ctx, nil), b.Wait(ctx, nil))
//
// # Goroutines
//
// Start begins three, and Close waits for all of them:
//
//	runReader   reads the carrier, settles calls, queues events; never waits
//	            for anything but the carrier
//	runWriter   writes queued commands in order
//	runHandler  calls the handler with one event at a time, in wire order
//
// So a handler that is slow delays events, never replies, and a browser that no
// longer reads its pipe blocks the writer, never a caller: a caller always
// leaves at its deadline. A handler may call Send (which never waits) but must
// not wait for a reply that depends on a later event, and must not call Close.
//
// # Locks
//
// Conn.mu protects the table, the queue of commands, the subscriptions and the
// reason why the connection ended. It is held for map operations only. The queue
// of events has its own mutex. Neither is held while foreign code runs.
//
// # Life of a call
//
//	           Send             writer takes it
//	(refused) <---- queued ---------------------> written
//	                  |  caller leaves,             |  reply, FailSession,
//	                  |  connection ends            |  caller leaves, connection ends
//	                  v                             v
//	               settled                       settled
//	           MayHaveExecuted=false      MayHaveExecuted=true unless the reply
//	                                      says that it was refused
//
// An entry leaves the table when the call settles. A Pending on which nobody
// waits is dropped after abandonAfter.
//
// # Errors
//
// A reply that carries an error is an *Error. Every other failure is a
// *LostError whose Cause is ErrClosed, ErrDetached, ErrCrashed, ErrBusy or the
// cause of the caller's context. MayHaveExecuted answers for any of them.
//
// # Overflow
//
// The queue of events is bounded by number and bytes. Over half of either, an
// event that Options.Droppable names is dropped and counted in Stats. When
// an event that may not be dropped does not fit, the connection ends with
// ErrOverflow: a supervisor whose view of the browser has a hole is worse than
// one that has to restart it.
//
// # Tests
//
// Package cdptest has the suite that every Carrier passes, and the browser on the
// other end of it: this package's tests and the supervisor's use the same one.
package cdp
