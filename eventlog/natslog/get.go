package natslog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
)

// message is a message of the stream of the runs.
type message struct {
	seq     uint64 // of the stream
	subject string
	record
}

var (
	errNone = errors.New("no such message")
	errLost = errors.New("a part of NATS's reply is missing")
)

// getRequest selects messages: see JetStream's API, STREAM.MSG.GET and DIRECT.GET.
type getRequest struct {
	Seq      uint64   `json:"seq,omitempty"`          // the first at or after this one
	Last     string   `json:"last_by_subj,omitempty"` // the last of a subject
	Next     string   `json:"next_by_subj,omitempty"` // the next of a subject
	Lasts    []string `json:"multi_last,omitempty"`   // the last of each subject
	Batch    int      `json:"batch,omitempty"`
	MaxBytes int      `json:"max_bytes,omitempty"`
}

// stored is a message as the leader of a stream returns it.
type stored struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Header  []byte `json:"hdrs"`
	Data    []byte `json:"data"`
}

// get asks the leader of a stream for one message. Unlike a direct get, which any replica answers, it sees all messages that were acknowledged.
func (l *Log) get(ctx context.Context, stream string, r getRequest) (stored, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return stored{}, err
	}
	reply, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, raw)
	if err != nil {
		return stored{}, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *stored             `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return stored{}, fmt.Errorf("parse reply of NATS: %w", err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return stored{}, errNone
	case answer.Error != nil:
		return stored{}, answer.Error
	case answer.Message == nil:
		return stored{}, errNone
	}
	return *answer.Message, nil
}

// message returns one message of the runs.
func (l *Log) message(ctx context.Context, r getRequest) (message, error) {
	s, err := l.get(ctx, l.names.runs, r)
	if err != nil {
		return message{}, err
	}
	h, err := nats.DecodeHeadersMsg(s.Header)
	if err != nil {
		return message{}, fmt.Errorf("%w: %w", errRecord, err)
	}
	l.saw(s.Seq)
	m := message{seq: s.Seq, subject: s.Subject}
	m.record, err = parseRecord(h, s.Data)
	return m, err
}

// last returns the last message of a subject.
func (l *Log) last(ctx context.Context, subject string) (m message, err error) {
	err = l.retry(ctx, func(ctx context.Context) error { m, err = l.message(ctx, getRequest{Last: subject}); return err })
	return m, err
}

// next returns the first message of a subject whose stream sequence is at least from.
func (l *Log) next(ctx context.Context, subject string, from uint64) (m message, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		m, err = l.message(ctx, getRequest{Next: subject, Seq: from})
		return err
	})
	return m, err
}

// The size of one batch of messages: what one Load returns, and what NATS sends at once.
const (
	batchMessages = 256
	batchBytes    = 256 << 10
)

// batch returns messages of a subject whose stream sequences are at least from, in order: a direct get. A replica may lack the newest ones.
func (l *Log) batch(ctx context.Context, subject string, from uint64) (ms []message, err error) {
	err = l.retry(ctx, func(ctx context.Context) error { ms, err = l.batchOnce(ctx, subject, from); return err })
	return ms, err
}

func (l *Log) batchOnce(ctx context.Context, subject string, from uint64) ([]message, error) {
	ms, _, err := l.direct(ctx, getRequest{Next: subject, Seq: from, Batch: batchMessages, MaxBytes: batchBytes})
	return ms, err
}

// direct gets several messages from any replica, which has all messages up to a sequence of the stream, and may lack later ones. The sequence is 0 if
// there is no message.
func (l *Log) direct(ctx context.Context, r getRequest) (ms []message, upTo uint64, err error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, 0, err
	}
	inbox := l.nc.NewInbox()
	sub, err := l.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := l.nc.PublishRequest("$JS.API.DIRECT.GET."+l.names.runs, inbox, raw); err != nil {
		return nil, 0, err
	}
	for {
		reply, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, 0, err
		}
		switch status := reply.Header.Get("Status"); {
		case status == "204": // the end of the batch
			upTo, _ = strconv.ParseUint(reply.Header.Get("Nats-UpTo-Sequence"), 10, 64)
			l.saw(upTo)
			return ms, upTo, complete(ms, reply)
		case status == "404":
			return ms, 0, nil
		case status == "503" || status == "" && len(reply.Header) == 0:
			return nil, 0, nats.ErrNoResponders
		case status != "":
			return nil, 0, fmt.Errorf("read from NATS: status %s: %s", status, reply.Header.Get("Description"))
		}
		m := message{subject: reply.Header.Get(jetstream.SubjectHeader)}
		if m.seq, err = strconv.ParseUint(reply.Header.Get(jetstream.SequenceHeader), 10, 64); err != nil {
			return nil, 0, errRecord
		}
		l.saw(m.seq)
		if m.record, err = parseRecord(reply.Header, reply.Data); err != nil {
			return nil, 0, err
		}
		ms = append(ms, m)
	}
}

// complete returns errLost unless the last message is that which the end of a batch names.
func complete(ms []message, end *nats.Msg) error {
	last := uint64(0)
	if len(ms) > 0 {
		last = ms[len(ms)-1].seq
	}
	if text := end.Header.Get("Nats-Last-Sequence"); text != "" && text != strconv.FormatUint(last, 10) {
		return errLost
	}
	return nil
}

// tail is the end of a run, as the leader of the stream has it.
type tail struct {
	seq     uint64    // stream sequence of the last message
	last    event.Seq // the last event that readers see
	ended   bool
	whole   bool    // no part of its last record is missing
	claim   string  // server of the last message, if that is a claim
	message message // the last message
}

// tail returns the end of a run. Errors: errNone.
func (l *Log) tail(ctx context.Context, id event.RunID) (tail, error) {
	m, err := l.last(ctx, l.names.run(id))
	if err != nil {
		return tail{}, err
	}
	return tailOf(m)
}

// saw notes that the stream of the runs has a sequence.
func (l *Log) saw(seq uint64) {
	for before := l.seen.Load(); seq > before && !l.seen.CompareAndSwap(before, seq); before = l.seen.Load() {
	}
}

// confirmTimeout bounds how long a reader whose cursor seems to be beyond the end of its run waits for a replica that has all that this process has seen. NATS has no such
// replica if it lost messages that it had acknowledged.
const confirmTimeout = 10 * time.Second

// tailAfter returns the end of a run for a reader with a cursor. If the leader of the stream has fewer events, it may be one that was paused and does not know yet that it
// has been replaced, so a replica is asked that has all that this process has seen. Errors: errNone.
func (l *Log) tailAfter(ctx context.Context, id event.RunID, after event.Seq) (tail, error) {
	t, err := l.tail(ctx, id)
	switch missing := errors.Is(err, errNone); {
	case err != nil && !missing, err == nil && after <= t.last, missing && after == 0, after == math.MaxInt64: // the last is no cursor of a reader: it asks whether there is a run
		return t, err
	}
	confirm, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	newer, cerr := l.tailSince(confirm, id, l.seen.Load())
	if cerr != nil && confirm.Err() != nil && ctx.Err() == nil {
		return t, err
	}
	return newer, cerr
}

// tailSince returns the end of a run as a replica has it that has all messages up to a sequence of the stream. A leader that was paused, and does not know
// yet that it has been replaced, would reply with an earlier end. Errors: errNone.
func (l *Log) tailSince(ctx context.Context, id event.RunID, seq uint64) (tail, error) {
	var ms []message
	var upTo uint64
	err := l.retry(ctx, func(ctx context.Context) (err error) {
		if ms, upTo, err = l.direct(ctx, getRequest{Lasts: []string{l.names.run(id)}}); err == nil && upTo > 0 && upTo < seq {
			err = errLost
		}
		return err
	})
	switch {
	case err != nil:
		return tail{}, err
	case len(ms) == 0 || upTo == 0: // the replica lacks the run, or there is none
		return l.tail(ctx, id)
	}
	return tailOf(ms[0])
}

// tailOf returns the end of a run whose last message is m.
func tailOf(m message) (tail, error) {
	if !m.whole() { // the writer ended before it had written the other parts
		if m.first == 1 {
			return tail{}, errNone
		}
		return tail{seq: m.seq, last: m.first - 1, claim: m.claim}, nil
	}
	return tail{seq: m.seq, last: m.last, whole: true, ended: m.end, message: m}, nil
}

// lastEvent returns the last event of a run that readers see.
func (l *Log) lastEvent(ctx context.Context, id event.RunID, t tail) (event.Event, error) {
	switch {
	case !t.whole: // the event before the record that is being written
		es, err := l.Load(ctx, id, t.last-1)
		if err != nil || len(es) == 0 {
			return event.Event{}, errors.Join(err, errNone)
		}
		return es[0], nil
	case t.message.parts > 1:
		es, err := l.record(ctx, t.message)
		if err != nil {
			return event.Event{}, err
		}
		return es[len(es)-1], nil
	}
	key, err := l.sealer(ctx, id)
	if err != nil {
		return event.Event{}, err
	}
	r, err := key.open(t.message.record)
	if err != nil {
		return event.Event{}, err
	}
	data := bytes.TrimSuffix(r.data, []byte("\n"))
	return event.ParseJSON(data[bytes.LastIndexByte(data, '\n')+1:])
}
