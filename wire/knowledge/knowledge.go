// Package knowledge implements the snapshot protocol of the Knowledge Forge: server-sent events whose data is the whole
// answer so far, a [Response]. A client that misses some of the events loses nothing.
package knowledge

import (
	"math"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "knowledge"

// The names of the events of a stream. There are also three names for each type of call, such as
// response.file_search_call.in_progress, .searching and .completed.
const (
	EventCreated         = "response.created"
	EventInProgress      = "response.in_progress"
	EventTextDelta       = "response.output_text.delta"
	EventTextDone        = "response.output_text.done"
	EventReasoningDelta  = "response.reasoning_summary_text.delta"
	EventAnnotationAdded = "response.output_text.annotation.added"
	EventCompleted       = "response.completed"
	EventIncomplete      = "response.incomplete"
	EventFailed          = "response.failed"
	EventDone            = "done"
)

// PerSecond is the default rate of snapshots. Requests may ask for MinPerSecond to MaxPerSecond.
const (
	PerSecond    = 10
	MinPerSecond = 0.1
	MaxPerSecond = 100
)

// The modes of a stream.
const (
	ModeSnapshot = "snapshot"
	ModeDelta    = "delta"
)

// Protocol implements [wire.Protocol]. The zero value sends snapshots at the default rate. Two values that are equal
// produce the same frames.
type Protocol struct {
	Delta     bool    // send text as deltas, and snapshots only when items begin and end
	PerSecond float64 // limit on snapshots that only add text; 0: the default. Not used with Delta.
}

var (
	_ wire.Protocol  = Protocol{}
	_ wire.Throttled = Protocol{}
)

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// ContentType implements [wire.Protocol].
func (Protocol) ContentType() string { return sse.ContentType }

// New implements [wire.Protocol].
func (p Protocol) New() wire.Projection { return newProjection(p.Delta, maxLine) }

// AppendFrame implements [wire.Protocol]. The id directly precedes the data: it always differs, and a fast compressor
// matches the data with that of earlier frames only if the bytes before it are the same from there on.
func (Protocol) AppendFrame(dst []byte, f wire.Frame) []byte {
	dst = append(append(dst, "event: "...), f.Event...)
	dst = f.ID.Append(append(dst, "\nid: "...))
	dst = append(append(dst, "\ndata: "...), f.Data...)
	return append(dst, "\n\n"...)
}

// MinInterval implements [wire.Throttled].
func (p Protocol) MinInterval() time.Duration {
	switch {
	case p.Delta:
		return 0
	case p.PerSecond <= 0:
		return time.Second / PerSecond
	}
	return time.Duration(float64(time.Second) / p.PerSecond)
}

// Coalesces implements [wire.Throttled]: text, and events that no frame shows.
func (p Protocol) Coalesces(b event.Body) bool {
	switch b := b.(type) {
	case event.Token, event.Reasoned, event.Cited, event.Graded, event.Reranked, event.ModelUsed, event.Attributed, event.HistorySummarized:
		return true
	case event.CacheChecked:
		return !b.Hit
	}
	return false
}

// API returns the description of the protocol for a server.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{}, Decode: Decode, Variant: Variant,
		Reply: func(log []event.Event) any { return ResponseOf(log) },
		Fault: func(f *fault.Error) any { return FaultOf(f) },
		Types: wire.Types{Request: Request{}, Reply: Response{}, Fault: Fault{}, Events: []any{
			Response{}, TextDelta{}, ReasoningDelta{}, AnnotationAdded{}, Done{}}, Variant: variantParams{}},
	}
}

// variantParams are the parameters of [Variant].
type variantParams struct {
	Mode               string  `query:"mode" enum:"snapshot,delta" default:"snapshot" description:"For the protocol knowledge: whether each event has the whole response, or text is sent as deltas."`
	SnapshotsPerSecond float64 `query:"snapshots_per_second" minimum:"0.1" maximum:"100" default:"10" description:"For the protocol knowledge: maximum rate of snapshots that only add text."`
}

// Variant returns the protocol with the parameters mode (snapshot, delta) and snapshots_per_second.
func Variant(p wire.Protocol, parameter func(name string) string) (wire.Protocol, error) {
	base, _ := p.(Protocol)
	mode, per := parameter("mode"), base.PerSecond
	if mode == "" && base.Delta {
		mode = ModeDelta
	}
	if s := parameter("snapshots_per_second"); s != "" {
		var err error
		if per, err = strconv.ParseFloat(s, 64); err != nil {
			return nil, fault.Invalid("snapshots_per_second", "want a number")
		}
		if err := checkRate("snapshots_per_second", per); err != nil {
			return nil, err
		}
	}
	if mode != "" && mode != ModeSnapshot && mode != ModeDelta {
		return nil, fault.Invalid("mode", "want %s or %s", ModeSnapshot, ModeDelta)
	}
	return variant(mode, per), nil
}

// variant returns the protocol for a mode and a rate. The result is the same for settings with the same effect.
func variant(mode string, per float64) Protocol {
	if mode == ModeDelta {
		return Protocol{Delta: true}
	}
	if per == PerSecond {
		per = 0
	}
	return Protocol{PerSecond: per}
}

func checkRate(field string, per float64) error {
	if math.IsNaN(per) || per < MinPerSecond || per > MaxPerSecond {
		return fault.Invalid(field, "want a number from %g to %d", MinPerSecond, MaxPerSecond)
	}
	return nil
}

// FaultOf converts an error that precedes a reply.
func FaultOf(f *fault.Error) Fault {
	return Fault{Code: string(f.Code), Message: f.Message, Detail: FaultDetail{Field: f.Field}}
}
