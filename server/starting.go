package server

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Phases of the start.
const (
	PhaseOpening  = "opening"  // the data folder is being opened; questions are rejected
	PhaseIndexing = "indexing" // documents are being indexed
)

// Progress is the progress of the start of a server.
type Progress struct {
	Phase string `json:"phase" enum:"opening,indexing"`
	Done  int    `json:"files_done"`
	Total int    `json:"files_total" description:"As far as they have been found."`
	// Answering is set if questions are answered from the documents that are indexed so far.
	Answering bool `json:"answering"`
}

// Starting serves a listener until the [Server] is ready to be created. Health checks report that the process runs and is
// not ready; all other requests are rejected with 503.
type Starting struct {
	h       *http.Server
	l       *net.TCPListener
	stopped atomic.Bool
	done    chan struct{} // closed when no more connections are accepted
	open    atomic.Int64  // open connections
	conns   chan struct{} // receives an element when a connection closes
}

// NewStarting starts to serve l. It only uses the options Instance, Version, Protocols and Forms.
func NewStarting(l *net.TCPListener, o Options) *Starting {
	s := &Server{o: o}
	health := Health{Status: PartStarting, Version: o.Version, Instance: o.Instance}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { ReplyJSON(w, http.StatusOK, health) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ready := health
		ready.Progress = &Progress{Phase: PhaseOpening}
		w.Header().Set("Retry-After", "1")
		ReplyJSON(w, http.StatusServiceUnavailable, ready)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.defaultHandler().forPath(r).replyFault(w, http.StatusServiceUnavailable, fault.New(fault.Unavailable, "the server is starting; try again"))
	})
	st := &Starting{l: l, done: make(chan struct{}), conns: make(chan struct{}, 1), h: &http.Server{Handler: mux, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}}
	st.h.SetKeepAlivesEnabled(false) // the next request should go to the Server
	st.h.ConnState = st.count
	go func() {
		defer close(st.done)
		_ = st.h.Serve(st) // until Stop
	}()
	return st
}

// Stop stops accepting connections and waits until the open ones have received a reply. Shutdown of package http would
// close connections whose request is just arriving. The listener stays open, for [Server.Serve].
func (s *Starting) Stop() {
	s.stopped.Store(true)
	_ = s.l.SetDeadline(time.Unix(1, 0))
	<-s.done
	_ = s.l.SetDeadline(time.Time{})
	timeout := time.NewTimer(time.Second) // for connections that send nothing
	defer timeout.Stop()
	for s.open.Load() > 0 {
		select {
		case <-s.conns:
			continue
		case <-timeout.C:
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
