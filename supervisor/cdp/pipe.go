package cdp

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"
)

// pipe is the carrier of --remote-debugging-pipe: messages end with a NUL byte,
// which JSON text never contains.
type pipe struct {
	in    *os.File
	out   *os.File
	read  *bufio.Reader
	max   int // bytes of a message
	close sync.Once
	err   error
}

// NewPipe returns a carrier that reads messages from in and writes them to out,
// and owns both files. For a browser, in is our end of its descriptor 4 and out
// our end of its descriptor 3. The files must be pollable (os.Pipe makes such
// ones), or Close cannot interrupt a read.
func NewPipe(in, out *os.File) Carrier {
	return &pipe{in: in, out: out, read: bufio.NewReaderSize(in, 64<<10), max: maxMessage}
}

func (p *pipe) ReadMessage() ([]byte, error) {
	var whole []byte
	for {
		part, err := p.read.ReadSlice(0)
		if len(whole)+len(part) > p.max {
			return nil, ErrTooLarge
		}
		whole = append(whole, part...)
		switch {
		case err == nil:
			return whole[:len(whole)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(whole) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

func (p *pipe) WriteMessage(message []byte) error {
	framed := make([]byte, 0, len(message)+1)
	framed = append(framed, message...)
	_, err := p.out.Write(append(framed, 0))
	return err
}

func (p *pipe) Close() error {
	p.close.Do(func() { p.err = errors.Join(p.in.Close(), p.out.Close()) })
	return p.err
}
