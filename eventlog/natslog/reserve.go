package natslog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/natsconn"
)

// Reserve implements [eventlog.Sharer]. A reservation is a message of the index that names the last sequence of its subject, so NATS accepts one of
// several. Unlike other calls, Reserve does not wait for a NATS that is away.
func (l *Log) Reserve(ctx context.Context, key string, run event.RunID, current eventlog.Reservation) (eventlog.Reservation, error) {
	m := &nats.Msg{Subject: l.names.reserved(key), Data: []byte(l.o.Server + " " + string(run))}
	after := current.Seq
	for {
		if !l.nc.IsConnected() {
			return eventlog.Reservation{}, fmt.Errorf("reserve key: %w", nats.ErrDisconnected)
		}
		ack, err := l.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
		if err == nil {
			return eventlog.Reservation{Run: run, Server: l.o.Server, Seq: ack.Sequence}, nil
		}
		if !natsconn.WrongSequence(err) {
			return eventlog.Reservation{}, fmt.Errorf("reserve key: %w", err)
		}
		now, getErr := l.reservation(ctx, m.Subject)
		switch {
		case getErr == nil && now.Seq != after:
			return now, nil
		case errors.Is(getErr, errNone) && after > 0:
			after = 0 // it was released
			continue
		case getErr != nil && !errors.Is(getErr, errNone):
			return eventlog.Reservation{}, fmt.Errorf("reserve key: %w", getErr)
		}
		if err := l.pause(ctx, firstPause, err); err != nil { // another reservation is on its way
			return eventlog.Reservation{}, fmt.Errorf("reserve key: %w", err)
		}
	}
}

// reservation reads a message of a reservation. Errors: errNone.
func (l *Log) reservation(ctx context.Context, subject string) (eventlog.Reservation, error) {
	m, err := l.get(ctx, l.names.index, getRequest{Last: subject})
	if err != nil {
		return eventlog.Reservation{}, err
	}
	server, run, _ := strings.Cut(string(m.Data), " ")
	return eventlog.Reservation{Run: event.RunID(run), Server: server, Seq: m.Seq}, nil
}

// Release implements [eventlog.Sharer].
func (l *Log) Release(ctx context.Context, r eventlog.Reservation) error {
	err := l.index.DeleteMsg(ctx, r.Seq)
	if err != nil && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) { // that is the error if there is no such message
		return fmt.Errorf("release key: %w", err)
	}
	return nil
}

// dropReservations removes the reservations that an earlier process of this server has left.
func (l *Log) dropReservations(ctx context.Context) error {
	subjects, err := l.subjects(ctx, l.index, l.names.reserved(">"))
	for _, subject := range subjects {
		err = errors.Join(err, l.retry(ctx, func(ctx context.Context) error {
			r, err := l.reservation(ctx, subject)
			if errors.Is(err, errNone) || err == nil && r.Server != l.o.Server {
				return nil
			}
			if err != nil {
				return err
			}
			return l.Release(ctx, r)
		}))
	}
	return err
}
