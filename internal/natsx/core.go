package natsx

import "github.com/nats-io/nats.go"

// Send publishes with core NATS: at most once, and nobody says whether it
// arrived.
func (c *Conn) Send(subject string, data []byte) error { return c.NC.Publish(subject, data) }

// SendMsg is Send with headers.
func (c *Conn) SendMsg(m *nats.Msg) error { return c.NC.PublishMsg(m) }

// Listen delivers what is published on a subject to ch, until stop is called.
// What ch has no room for is dropped and counted by the client.
func (c *Conn) Listen(subject string, ch chan *nats.Msg) (stop func(), err error) {
	s, err := c.NC.ChanSubscribe(subject, ch)
	if err != nil {
		return nil, err
	}
	return func() { _ = s.Unsubscribe() }, nil
}
