package answer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// TestDeadlineAmidLongTable lets the deadline pass while all parts of a long table are read: those that the answer does not cite are no sources.
func TestDeadlineAmidLongTable(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("hut,beds,price of a night,warden\n")
	for i := range 400 {
		fmt.Fprintf(&table, "Hut %d,%d,%d,Warden of hut %d\n", i, 10+i%7, 20+(i*37)%400, i)
	}
	p := holding(t, "huts.csv", table.String())
	const question = "Which hut has the lowest price of a night?"
	whole := askDirect(t, p, question)
	s := event.Fold(whole)
	if s.Generation == nil || s.Generation.Chunks < len(s.Sources)+3 {
		t.Fatalf("no more parts are read than are sources: %+v, %d sources", s.Generation, len(s.Sources))
	}
	var want []corpus.ChunkID
	for _, source := range s.Sources {
		want = append(want, source.Chunk)
	}
	ranked := slices.IndexFunc(whole, func(e event.Event) bool { return e.Body.Kind() == event.KindReranked })
	for _, e := range whole[ranked : len(whole)-2] {
		ctx := &deadline{Context: t.Context(), done: make(chan struct{})}
		log := runIn(t, ctx, event.Direct, p, stopping{eventlog.NewMemory(), e.Seq, func() { close(ctx.done) }}, question)
		got := event.Fold(log).Sources
		if len(got) == 0 || slices.ContainsFunc(got, func(source event.Source) bool { return !slices.Contains(want, source.Chunk) }) {
			t.Errorf("after %s there are %d sources; the whole run has %d", e.Body.Kind(), len(got), len(want))
		}
	}
}
