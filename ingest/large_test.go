package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest"
)

// slowGenerator counts concurrent calls, separately for large documents.
type slowGenerator struct{ large, small, mostLarge, mostSmall atomic.Int32 }

func (*slowGenerator) Name() string { return "slow" }

func (p *slowGenerator) Generate(_ context.Context, chunks []corpus.Chunk) error {
	now, most := &p.small, &p.mostSmall
	if len(chunks) > 100 {
		now, most = &p.large, &p.mostLarge
	}
	most.Store(max(most.Load(), now.Add(1)))
	time.Sleep(time.Second) // in the synctest bubble: all other goroutines block first
	now.Add(-1)
	return nil
}

// TestOneLargeDocumentAtATime ingests large and small documents with many workers: the chunks of a large one take much memory.
func TestOneLargeDocumentAtATime(t *testing.T) {
	var sources []ingest.Source
	for i := range 4 {
		sources = append(sources, ingest.Source{URI: fmt.Sprintf("large%d.txt", i), Data: []byte(strings.Repeat(strings.Repeat("word ", 200)+"end.\n\n", 5000))})
	}
	for i := range 8 {
		sources = append(sources, ingest.Source{URI: fmt.Sprintf("small%d.txt", i), Data: []byte("A few words.")})
	}
	synctest.Test(t, func(t *testing.T) {
		p := &slowGenerator{}
		g := ingest.New(newMemory(), nil, ingest.Options{Workers: 8, Propositions: p})
		report, err := g.IngestDocuments(t.Context(), "", sources, nil)
		if err != nil || report.Added != len(sources) {
			t.Fatalf("%+v, %v", report, err)
		}
		if p.mostLarge.Load() != 1 || p.mostSmall.Load() < 2 {
			t.Errorf("at once: %d large documents, want 1; %d small ones, want several", p.mostLarge.Load(), p.mostSmall.Load())
		}
	})
}
