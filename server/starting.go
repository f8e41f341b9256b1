package server

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// The phases of a start.
const (
	PhaseOpening  = "opening"  // the data folder is being opened; nothing is answered
	PhaseIndexing = "indexing" // documents are being indexed
)

// Progress tells how far the start of a server has come.
type Progress struct {
	Phase string `json:"phase" enum:"opening,indexing"`
	Done  int    `json:"files_done"`
	Total int    `json:"files_total" description:"As far as they have been found."`
	// Answering tells that questions are answered from the documents that are indexed so far.
	Answering bool `json:"answering"`
}

// Starting answers on a listener while what a [Server] needs is being opened: probes learn that the process lives and is not
// ready, and everything else is refused with 503.
type Starting struct {
	h       *http.Server
	l       *net.TCPListener
	stopped atomic.Bool
	done    chan struct{} // closed when no connection is accepted any more
	open    atomic.Int64  // connections
	conns   chan struct{} // has an element after one was closed
}

// NewStarting starts to answer on l. Of the options, Instance, Version and Protocols count.
func NewStarting(l *net.TCPListener, o Options) *Starting {
	s := &Server{o: o}
	health := Health{Status: PartStarting, Version: o.Version, Instance: o.Instance}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { replyJSON(w, http.StatusOK, health) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ready := health
		ready.Progress = &Progress{Phase: PhaseOpening}
		w.Header().Set("Retry-After", "1")
		replyJSON(w, http.StatusServiceUnavailable, ready)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		port{s, s.o.Protocols[0]}.of(r).replyFault(w, http.StatusServiceUnavailable, fault.New(fault.Unavailable, "the server is starting; try again"))
	})
	st := &Starting{l: l, done: make(chan struct{}), conns: make(chan struct{}, 1), h: &http.Server{Handler: mux, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}}
	st.h.SetKeepAlivesEnabled(false) // so that the next request is for the server itself
	st.h.ConnState = st.count
	go func() {
		defer close(st.done)
		_ = st.h.Serve(st) // until Stop
	}()
	return st
}

// Stop stops accepting connections and waits until those that are open have had their answer. Package http's Shutdown would
// close those whose request comes at this moment. The listener stays open, for [Server.Serve].
func (s *Starting) Stop() {
	s.stopped.Store(true)
	_ = s.l.SetDeadline(time.Unix(1, 0))
	<-s.done
	_ = s.l.SetDeadline(time.Time{})
	patience := time.NewTimer(time.Second) // for those that send nothing
	defer patience.Stop()
	for s.open.Load() > 0 {
		select {
		case <-s.conns:
			continue
		case <-patience.C:
		}
		break
	}
	_ = s.h.Close()
}

func (s *Starting) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
		select {
		case s.conns <- struct{}{}:
		default:
		}
	}
}

// Accept implements [net.Listener].
func (s *Starting) Accept() (net.Conn, error) {
	c, err := s.l.Accept()
	if err != nil && s.stopped.Load() {
		return nil, net.ErrClosed
	}
	return c, err
}

// Close implements [net.Listener]. The listener stays open.
func (s *Starting) Close() error { return nil }

// Addr implements [net.Listener].
func (s *Starting) Addr() net.Addr { return s.l.Addr() }
