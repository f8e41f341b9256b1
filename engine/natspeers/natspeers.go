// Package natspeers connects the engines of several servers over NATS: it implements [engine.Peers].
//
// Each server publishes its name several times in the time of a lease. No clocks are compared: a server is dead when this one has heard its own
// heartbeats for the time of a lease, and none of that server. So no lease runs out while NATS is away. A wrong decision does no harm, since a
// server that is taken for dead cannot write to the runs that others have claimed: see [eventlog.Sharer].
package natspeers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Options configure [Join]. Server is required.
type Options struct {
	Server string        // name of this server: letters and digits
	Prefix string        // beginning of all subjects; default "sluice"
	Lease  time.Duration // time without a heartbeat after which a server is dead; default 2 s
	// NameTaken is called once if another process has the same name, because one of them did not reply when the other one joined. It must not block. If younger is
	// true, this process was started later, by the clocks of both, and must stop.
	NameTaken func(younger bool)
}

// ErrNameTaken means that another process with the same name runs, for example because its data folder was copied.
var ErrNameTaken = errors.New("another running server has the same name")

// processHeader is the header of messages with the id of the process that sends them. Earlier versions send none.
const processHeader = "Sluice-Process"

const (
	defaultLease = 2 * time.Second

	beats      = 8         // heartbeats in the time of a lease
	takenBeats = 4 * beats // heartbeats of another process after which the name counts as taken
)

// Servers is the membership of this server among those that use the same NATS and prefix. It is safe for concurrent use. Close it when done.
type Servers struct {
	nc      *nats.Conn
	o       Options
	process string // id of this process; ids are in the order of start times
	others  int    // heartbeats of other processes with this name; only hear uses it
	sub     *nats.Subscription
	name    *nats.Subscription // see HoldName
	stop    context.CancelFunc
	work    sync.WaitGroup

	mu    sync.Mutex
	own   uint64             // heartbeats of this server that it has heard
	heard map[process]uint64 // own at the last heartbeat of each process of other servers that is alive
	lost  func(server string)
}

// process is a process of a server. There are several of a server if its data folder was copied.
type process struct{ server, name string }

// Join begins to send heartbeats. The connection must stay open until [Servers.Close]. If another process replies that it has the name, the error is [ErrNameTaken].
func Join(nc *nats.Conn, o Options) (*Servers, error) {
	o.Prefix, o.Lease = cmp.Or(o.Prefix, "sluice"), cmp.Or(o.Lease, defaultLease)
	if !event.RunID(o.Server).Valid() || o.Lease < 0 {
		return nil, fmt.Errorf("join servers: Server must be 1 to 64 letters, digits, dashes and underscores, and Lease must be positive")
	}
	s := &Servers{nc: nc, o: o, process: fmt.Sprintf("%016x-%s", time.Now().UnixNano(), rand.Text()), heard: map[process]uint64{}, lost: func(string) {}}
	var err error
	if s.name, err = HoldName(nc, o); err != nil {
		return nil, fmt.Errorf("join servers: %w", err)
	}
	if s.sub, err = nc.Subscribe(s.subject(), s.hear); err != nil {
		return nil, errors.Join(fmt.Errorf("join servers: %w", err), s.name.Unsubscribe())
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.work.Go(func() {
		tick := time.NewTicker(o.Lease / beats)
		defer tick.Stop()
		for {
			s.say(alive)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return s, nil
}

// HoldName replies to others that this process has the name of the options, until the connection is closed or the subscription ends. If another process replies that it
// has the name, the error is [ErrNameTaken]. A process that does not reply within the time of a lease counts as dead.
func HoldName(nc *nats.Conn, o Options) (*nats.Subscription, error) {
	subject := cmp.Or(o.Prefix, "sluice") + ".name." + o.Server
	_, err := nc.Request(subject, nil, cmp.Or(o.Lease, defaultLease))
	if err == nil {
		return nil, ErrNameTaken
	}
	if !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrTimeout) {
		return nil, fmt.Errorf("ask for the name %s: %w", o.Server, err)
	}
	return nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(nil) })
}

// What a server publishes before its name.
const (
	alive   = "alive " // a heartbeat
	here    = "here "  // the reply to the first heartbeat of another server
	leaving = "leaving "
)

func (s *Servers) subject() string { return s.o.Prefix + ".servers" }

// say publishes the name of this server. Without a connection it does nothing, and no server hears any.
func (s *Servers) say(what string) {
	_ = s.publish(what)
}

func (s *Servers) publish(what string) error {
	return s.nc.PublishMsg(&nats.Msg{Subject: s.subject(), Header: nats.Header{processHeader: {s.process}}, Data: []byte(what + s.o.Server)})
}

// hear notes what a server, or this one, has published.
func (s *Servers) hear(m *nats.Msg) {
	what, server, _ := strings.Cut(string(m.Data), " ")
	what += " "
	from := process{server, m.Header.Get(processHeader)}
	if server == s.o.Server && what != leaving && from.name != "" && from.name != s.process {
		if s.others++; s.others == takenBeats && s.o.NameTaken != nil { // NATS may deliver the last ones of an earlier process late
			s.o.NameTaken(s.process > from.name)
		}
		return // this server measures time by its own heartbeats, and this one is of another process
	}
	var dead []string
	s.mu.Lock()
	_, known := s.heard[from]
	switch {
	case server != s.o.Server && what != leaving:
		s.heard[from] = s.own
	case server != s.o.Server && known:
		dead = s.forget(dead, from)
	case what == alive:
		s.own++
		for p, at := range s.heard {
			if s.own-at > beats {
				dead = s.forget(dead, p)
			}
		}
	}
	lost := s.lost
	s.mu.Unlock()
	if server != s.o.Server && what == alive && !known {
		s.say(here)
	}
	for _, server := range dead {
		lost(server)
	}
}

// forget removes a process, and adds its server to the dead ones if no process of it is alive. The caller holds mu.
func (s *Servers) forget(dead []string, p process) []string {
	delete(s.heard, p)
	if s.hears(p.server) {
		return dead
	}
	return append(dead, p.server)
}

// hears reports whether a process of another server is alive. The caller holds mu.
func (s *Servers) hears(server string) bool {
	for p := range s.heard {
		if p.server == server {
			return true
		}
	}
	return false
}

// Name returns the name of this server.
func (s *Servers) Name() string { return s.o.Server }

// OnLost sets a function that is called once for each server that stops or whose lease runs out. It must not block.
func (s *Servers) OnLost(do func(server string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = do
}

// Alive reports whether the lease of a server has not run out. For the time of a lease after Join, all servers are alive.
func (s *Servers) Alive(server string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return server == s.o.Server || s.own <= beats || s.hears(server)
}

// Others reports whether another server is alive.
func (s *Servers) Others() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.heard) > 0
}

// Close tells the other servers that this one stops, so that they take over at once what it has left.
func (s *Servers) Close() error {
	s.stop()
	s.work.Wait()
	if !s.nc.IsConnected() {
		return nil
	}
	err := errors.Join(s.sub.Unsubscribe(), s.name.Unsubscribe(), s.publish(leaving), s.nc.FlushTimeout(replyTimeout))
	if err != nil {
		return fmt.Errorf("leave servers: %w", err)
	}
	return nil
}

// Peers are the engines of a tenant.
type Peers struct {
	*Servers
	tenant string
}

var _ engine.Peers = Peers{}

// Tenant returns the engines of a tenant on the other servers.
func (s *Servers) Tenant(name string) Peers { return Peers{s, name} }

func (p Peers) subject(what string) string { return p.o.Prefix + "." + what + "." + p.tenant }

func (p Peers) joinSubject(server string) string { return p.subject("join") + "." + server }

// reading is the message that runs have readers on a server.
type reading struct {
	Server string        `json:"server"`
	Runs   []event.RunID `json:"runs"`
}

// Serve implements [engine.Peers].
func (p Peers) Serve(h engine.Handlers) (stop func(), err error) {
	cancel, err := p.nc.Subscribe(p.subject("cancel"), func(m *nats.Msg) {
		var c engine.Cancellation
		if json.Unmarshal(m.Data, &c) == nil && h.Cancel(c) {
			_ = m.Respond(nil)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to requests of other servers: %w", err)
	}
	read, err := p.nc.Subscribe(p.subject("reading"), func(m *nats.Msg) {
		var r reading
		if json.Unmarshal(m.Data, &r) == nil && r.Server != p.o.Server {
			h.Read(r.Runs)
		}
	})
	if err != nil {
		_ = cancel.Unsubscribe()
		return nil, fmt.Errorf("subscribe to requests of other servers: %w", err)
	}
	join, err := p.nc.Subscribe(p.joinSubject(p.o.Server), func(m *nats.Msg) {
		var j engine.Joining
		if json.Unmarshal(m.Data, &j) == nil {
			h.Join(j, func(done bool) { _ = m.Respond(strconv.AppendBool(nil, done)) })
		}
	})
	if err != nil {
		_, _ = cancel.Unsubscribe(), read.Unsubscribe()
		return nil, fmt.Errorf("subscribe to requests of other servers: %w", err)
	}
	if p.nc.IsConnected() {
		_ = p.nc.FlushTimeout(replyTimeout) // so that no request is missed from now on; if NATS is away, it gets the subscriptions when it is back
	}
	return func() {
		for _, s := range []*nats.Subscription{cancel, read, join} {
			_ = s.Unsubscribe() // it fails if the connection is closed
		}
	}, nil
}

// replyTimeout bounds the wait for the server that answers a run.
const replyTimeout = 2 * time.Second

// Cancel implements [engine.Peers].
func (p Peers) Cancel(ctx context.Context, c engine.Cancellation) (done bool, err error) {
	if !p.nc.IsConnected() {
		return false, fault.New(fault.Unavailable, "the other servers cannot be reached; try again")
	}
	data, err := json.Marshal(c)
	if err != nil {
		return false, err
	}
	wait, stop := context.WithTimeout(ctx, replyTimeout)
	defer stop()
	_, err = p.nc.RequestWithContext(wait, p.subject("cancel"), data)
	if err == nil {
		return true, nil
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) {
		return false, nil
	}
	return false, fault.Wrap(fault.Unavailable, err, "the other servers cannot be reached; try again")
}

// Join implements [engine.Peers].
func (p Peers) Join(ctx context.Context, server string, j engine.Joining) (done bool, err error) {
	if !p.nc.IsConnected() {
		return false, nats.ErrDisconnected
	}
	data, err := json.Marshal(j)
	if err != nil {
		return false, err
	}
	ctx, stop := context.WithTimeout(ctx, replyTimeout)
	defer stop()
	m, err := p.nc.RequestWithContext(ctx, p.joinSubject(server), data)
	if errors.Is(err, nats.ErrNoResponders) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("join run of another server: %w", err)
	}
	return string(m.Data) == "true", nil
}

// maxRuns bounds the runs of one message.
const maxRuns = 1000

// Read implements [engine.Peers].
func (p Peers) Read(runs []event.RunID) {
	for len(runs) > 0 {
		n := min(len(runs), maxRuns)
		if data, err := json.Marshal(reading{p.o.Server, runs[:n]}); err == nil {
			_ = p.nc.Publish(p.subject("reading"), data) // it is repeated
		}
		runs = runs[n:]
	}
}
