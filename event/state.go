package event

import (
	"slices"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Status is the status of a run.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Finished  Status = "finished"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Search is a retrieval with its result, once there is one.
type Search struct {
	RetrievalStarted
	Result *RetrievalFinished
}

// Call is a tool that does not retrieve passages, with its result, once there is one.
type Call struct {
	ToolCalled
	Result *ToolReturned
}

// Citation is a citation with its position in the answer's text. Its Source is set, with the quote and the pages of this citation, if this or
// an earlier citation of the source has it.
type Citation struct {
	Cited
	At int // byte offset into the text, after the cited text
}

// State is the fold of a log: what is known of a run so far. The zero value is the state before the first event. Apply owns
// the slices that it appends to: copy them before you keep them and apply more events.
type State struct {
	RunStarted
	Seq        Seq       // of the last event applied
	StartedAt  time.Time // of the first
	UpdatedAt  time.Time // of the last
	Status     Status
	Failure    *RunFailed // for failed and cancelled runs
	Summarized *HistorySummarized
	Analysis   *QueryAnalyzed
	Cache      *CacheChecked
	Searches   []Search
	Calls      []Call
	Grades     []Graded
	Rerank     *Reranked
	Generation *GenerationStarted
	Stop       string // the reason of GenerationFinished
	// Answerability is the writer's estimate that the passages hold the answer, 0..1; 0: it has none.
	Answerability float64
	Reasoning     []byte // reasoning of models so far
	Text          []byte // the answer so far
	Tokens        int    // token events so far
	Citations     []Citation
	Quoted        []Source // the sources cited so far, by number, each with the quote of its first citation
	Check         *Verified
	Sources       []Source // nil before Attributed
	Confidence    float64  // estimated probability that the answer is right, 0..1; 0: no estimate, as for an abstention
	Settlement    *Settled // nil if nothing was charged
	Warnings      []Warned
	Usage         []ModelUsed
	Tools         []string // names of the tools used, in the order of first use
	Iterations    int      // the highest iteration so far
	// Idle is how long nothing worked on the run between its last event in a process that crashed and its continuation in this one. It is not in
	// the log, so only the process that works on the run knows it.
	Idle time.Duration
}

// Fold returns the state after the events.
func Fold(es []Event) State {
	var s State
	for _, e := range es {
		s.Apply(e)
	}
	return s
}

// Apply applies the next event of a log that [Check] accepts.
func (s *State) Apply(e Event) {
	s.Seq, s.UpdatedAt = e.Seq, e.At
	switch b := e.Body.(type) {
	case Token:
		s.Text = append(s.Text, b.Text...)
		s.Tokens++
	case Cited:
		c := Citation{Cited: b, At: len(s.Text)}
		c.Source = s.sourceOf(b)
		s.Citations = append(s.Citations, c)
		if b.Source != nil && b.N > len(s.Quoted) {
			s.Quoted = append(s.Quoted, *b.Source)
		}
	case RunStarted:
		s.RunStarted, s.StartedAt, s.Status = b, e.At, Running
	case RunFinished:
		s.Status = Finished
	case RunFailed:
		s.Failure, s.Status = &b, Failed
		if b.Code == fault.Cancelled {
			s.Status = Cancelled
		}
	case Reasoned:
		s.Reasoning = append(s.Reasoning, b.Text...)
	case Warned:
		s.Warnings = append(s.Warnings, b)
	case ModelUsed:
		s.Usage = append(s.Usage, b)
	default:
		s.applyStep(e.Body)
	}
}

func (s *State) applyStep(body Body) {
	switch b := body.(type) {
	case HistorySummarized:
		s.Summarized = &b
	case QueryAnalyzed:
		s.Analysis = &b
	case CacheChecked:
		s.Cache, s.Answerability = &b, b.Answerability
	case ToolCalled:
		s.use(b.Tool)
		s.Iterations = max(s.Iterations, b.Iteration)
		s.Calls = append(s.Calls, Call{ToolCalled: b})
	case ToolReturned:
		s.Calls = slices.Clone(s.Calls) // a copy of the state may be read elsewhere
		for i := range s.Calls {
			if s.Calls[i].Call == b.Call {
				s.Calls[i].Result = &b
			}
		}
	case RetrievalStarted:
		s.use(b.Tool)
		s.Iterations = max(s.Iterations, b.Iteration)
		s.Searches = append(s.Searches, Search{RetrievalStarted: b})
	case RetrievalFinished:
		s.Searches = slices.Clone(s.Searches) // a copy of the state may be read elsewhere
		for i := range s.Searches {
			if s.Searches[i].Call == b.Call {
				s.Searches[i].Result = &b
			}
		}
	case Graded:
		s.Grades = append(s.Grades, b)
	case Reranked:
		s.use(ToolRerank)
		s.Rerank = &b
	case GenerationStarted:
		s.use(ToolGenerate)
		s.Generation = &b
	case GenerationFinished:
		s.Stop, s.Answerability = b.Reason, b.Answerability
	case Verified:
		s.Check = &b
	case Attributed:
		s.Confidence = b.Confidence
		if s.Sources = b.Sources; s.Sources == nil {
			s.Sources = []Source{}
		}
	case Settled:
		s.Settlement = &b
	}
}

// sourceOf returns the source of the next citation: its own, or that of the previous citation of the source with the quote of this one.
func (s *State) sourceOf(c Cited) *Source {
	if c.Source != nil {
		return c.Source
	}
	for i := len(s.Citations) - 1; i >= 0; i-- {
		previous := s.Citations[i]
		if previous.N != c.N {
			continue
		}
		if previous.Source == nil || c.QuoteEnd == 0 {
			return previous.Source
		}
		src := *previous.Source
		src.Quote, src.QuoteEnd = c.Quote, c.QuoteEnd
		return &src
	}
	return nil
}

func (s *State) use(tool string) {
	if !slices.Contains(s.Tools, tool) {
		s.Tools = append(s.Tools, tool)
	}
}

// ClaimSupport returns how well the sources support the claims of the answer, 0..1: the confidence of the verification, or of that of the
// cached answer. It is 0 if there is neither.
func (s *State) ClaimSupport() float64 {
	switch {
	case s.Check != nil:
		return s.Check.Confidence
	case s.Cache != nil:
		return s.Cache.Confidence
	}
	return 0
}

// Abstained reports whether the answer is an abstention: it is complete and cites nothing, although the documents were searched.
func (s *State) Abstained() bool {
	whole := s.Stop == StopEnd || s.Cached() && (s.Status == Finished || len(s.Sources) > 0)
	searched := s.Cached() || len(s.Searches)+len(s.Calls)+len(s.Sources) > 0
	return whole && searched && len(s.Citations) == 0
}

// maxWeight is the greatest weight of a source: sums of weights stay finite. Weights are at most 1, unless a log is damaged.
const maxWeight = 1e9

// Contributing returns the sources on which a complete answer rests, with weights above zero: those that support a part of it. It is empty if the
// verification flagged the answer, or if the answer cites nothing. If no source has a weight, it returns those that are cited, with equal weights.
func (s *State) Contributing() []Source {
	cited := func(src Source) bool { return src.Cited }
	complete := s.Check != nil && !s.Check.Flagged || s.Check == nil && s.Cached()
	if !complete || !slices.ContainsFunc(s.Sources, cited) {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(s.Sources), func(src Source) bool { return !(src.Weight > 0 && src.Weight <= maxWeight) })
	if len(out) > 0 {
		return out
	}
	for _, src := range s.Sources {
		if src.Cited {
			src.Weight = 1
			out = append(out, src)
		}
	}
	return out
}

// Cost returns the sum of what models cost, without a step and a model.
func (s *State) Cost() ModelUsed {
	var sum ModelUsed
	for _, u := range s.Usage {
		sum.Calls += u.Calls
		sum.Input += u.Input
		sum.Output += u.Output
		sum.Reasoning += u.Reasoning
		sum.Cached += u.Cached
		sum.Estimated = sum.Estimated || u.Estimated
	}
	return sum
}

// Incomplete reports whether the answer lacks its end.
func (s *State) Incomplete() bool {
	switch s.Stop {
	case StopLength, StopFiltered, StopIncomplete:
		return true
	}
	return false
}

// Cached reports whether the answer came from the cache.
func (s *State) Cached() bool { return s.Cache != nil && s.Cache.Hit }

// Elapsed returns the time from the first event to the last one applied.
func (s *State) Elapsed() time.Duration { return s.UpdatedAt.Sub(s.StartedAt) }

// Worked returns the part of Elapsed in which a process worked on the run.
func (s *State) Worked() time.Duration { return max(s.Elapsed()-s.Idle, 0) }
