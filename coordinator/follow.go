package coordinator

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// follow sends the shard's records to ch, each owner's newest first and then
// every write. The ordered consumer comes back by itself after a reconnect.
func (s *shard) follow(ctx context.Context, ch chan<- natsx.Message) (stop func(), err error) {
	consumer, err := s.c.cfg.Conn.JS.OrderedConsumer(ctx, protocol.OwnStream(s.id), jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
	})
	if err != nil {
		return nil, fmt.Errorf("follow the owner records: %w", err)
	}
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		meta, err := m.Metadata()
		if err != nil {
			return
		}
		select {
		case ch <- natsx.Message{Subject: m.Subject(), Seq: protocol.Seq(meta.Sequence.Stream), Time: meta.Timestamp, Data: m.Data()}:
		case <-ctx.Done():
		}
	}, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		s.log.Debug("following the owner records", "error", err)
	}))
	if err != nil {
		return nil, fmt.Errorf("follow the owner records: %w", err)
	}
	return func() {
		consuming.Stop()
		<-consuming.Closed()
	}, nil
}
