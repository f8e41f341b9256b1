package knowledge

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// The marker of a citation in a text: ⟦⟦n⟧⟧.
const (
	openMarker  = "⟦⟦"
	closeMarker = "⟧⟧"
)

// maxLine bounds a snapshot in bytes: the public client reads lines of up to 128 KiB.
const maxLine = 120_000

type projection struct{}

func newProjection(delta bool, most int) *projection { return new(projection) }

func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame { return dst }

// ResponseOf folds a run's events to the response that they add up to, with the whole text.
func ResponseOf(log []event.Event) Response { return Response{} }
