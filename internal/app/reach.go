package app

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server"
)

const (
	reachAge     = 30 * time.Second // how long a result is used: the servers belong to others
	reachTimeout = 4 * time.Second  // of one check; package forrst waits for 5 s
)

// reach is the last result of the check of the models.
type reach struct {
	client *http.Client

	mu   sync.Mutex // held during a check, so that one runs at a time
	at   time.Time
	part server.Part
}

// health reports whether the servers of the models reply. It sends no key and starts no model: any reply of the server counts.
func (m *Models) health(ctx context.Context, cfg config.Models) server.Part {
	m.reach.mu.Lock()
	defer m.reach.mu.Unlock()
	if now := time.Now(); m.reach.at.IsZero() || now.Sub(m.reach.at) >= reachAge {
		m.reach.part, m.reach.at = m.reach.check(ctx, cfg), now
	}
	return m.reach.part
}

func (r *reach) check(ctx context.Context, cfg config.Models) server.Part {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reachTimeout)
	defer cancel()
	var asking sync.WaitGroup
	var replies []*bool
	ask := func(e config.Endpoint) *bool {
		replied := new(bool)
		asking.Go(func() { *replied = r.replies(ctx, e.Address()) })
		return replied
	}
	for _, e := range cfg.Chain() {
		if e.Kind != config.KindLocal {
			replies = append(replies, ask(e))
		}
	}
	var embeds *bool
	if cfg.Embeds() {
		embeds = ask(cfg.Embedding())
	}
	asking.Wait()
	silent := 0
	for _, replied := range replies {
		if !*replied {
			silent++
		}
	}
	switch {
	case silent > 0 && silent == len(replies) && !cfg.FallsBack():
		return server.Part{Status: server.PartFailed, Detail: "no model replies"}
	case silent > 0:
		return server.Part{Status: server.PartDegraded, Detail: fmt.Sprintf("%d of %d models do not reply; others answer", silent, len(replies))}
	case embeds != nil && !*embeds:
		return server.Part{Status: server.PartDegraded, Detail: "the embedding model does not reply; searches compare words alone"}
	}
	return server.Part{Status: server.PartOK}
}

// replies reports whether a server replies to a request.
func (r *reach) replies(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	res, err := r.client.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return true
}
