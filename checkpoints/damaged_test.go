package checkpoints

import (
	"bytes"
	"io"
)

// damaged is a body that was changed on its way: read as a whole, damaged,
// handed on.
type damaged struct {
	body   io.ReadCloser
	length int
	damage func([]byte) []byte
	rest   *bytes.Reader
}

func (d *damaged) Read(p []byte) (int, error) {
	if d.rest == nil {
		whole := make([]byte, d.length)
		if _, err := io.ReadFull(d.body, whole); err != nil {
			return 0, err
		}
		d.rest = bytes.NewReader(d.damage(whole))
	}
	return d.rest.Read(p)
}

func (d *damaged) Close() error { return d.body.Close() }
