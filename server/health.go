package server

import (
	"context"
	"net/http"
)

// States of a [Part].
const (
	PartOK       = "ok"
	PartStarting = "starting" // not ready yet
	PartDegraded = "degraded" // works, but needs attention
	PartFailed   = "failed"   // cannot be read or written
)

// Part is the state of a part of the server, for example the run log.
type Part struct {
	Status string `json:"status" enum:"ok,starting,degraded,failed"`
	// Detail describes the problem and its remedy.
	Detail string `json:"detail,omitempty"`
}

// Health is the state of the server.
type Health struct {
	Status  string `json:"status" enum:"ok,draining,starting,failed"`
	Version string `json:"version"`
	Live    int    `json:"live_runs"`
	// Instance differs after each start.
	Instance string `json:"instance"`
	// Parts is set by /readyz.
	Parts map[string]Part `json:"parts,omitempty"`
	// Progress is set by /readyz while the server starts.
	Progress *Progress `json:"progress,omitempty"`
}

func (s *Server) health() Health {
	h := Health{Status: PartOK, Version: s.o.Version, Live: s.o.Live(), Instance: s.instance}
	if s.draining.Load() {
		h.Status = "draining"
	}
	return h
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	ReplyJSON(w, http.StatusOK, s.health())
}

// ready returns the state of the server and its parts. The server is ready if no part is starting or has failed.
func (s *Server) ready(ctx context.Context) Health {
	h := s.health()
	if s.o.Progress != nil {
		h.Progress = s.o.Progress(ctx)
	}
	if h.Progress != nil && h.Status == PartOK {
		h.Status = PartStarting
	}
	if s.o.Parts == nil {
		return h
	}
	h.Parts = s.o.Parts(ctx)
	for _, p := range h.Parts {
		if h.Status != "draining" && (p.Status == PartFailed || p.Status == PartStarting && h.Status != PartFailed) {
			h.Status = p.Status
		}
	}
	return h
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	h := s.ready(r.Context())
	status := http.StatusOK
	if h.Status != PartOK {
		status = http.StatusServiceUnavailable
	}
	ReplyJSON(w, status, h)
}
