package cdp

import "errors"

// maxMessage bounds one message from the browser. The largest legitimate ones
// are full-page screenshots and PDF files as base64, some tens of MB.
const maxMessage = 256 << 20

// ErrTooLarge reports a message beyond the bound of a carrier. The stream cannot
// be followed after it, so the connection ends.
var ErrTooLarge = errors.New("cdp: message larger than 256 MiB")

// Carrier moves whole messages. ReadMessage is called by one goroutine and
// WriteMessage by one other; Close may come from any, more than once, and makes
// both return an error.
type Carrier interface {
	// ReadMessage returns the next message in a slice that the caller owns.
	ReadMessage() ([]byte, error)
	// WriteMessage does not keep the slice.
	WriteMessage([]byte) error
	Close() error
}
