package ragevents

import (
	"fmt"
	"math"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Evidence is what the confidence of an answer depends on.
type Evidence struct {
	Searched    bool    // the documents were searched
	Found       int     // passages retrieved
	Relevance   float64 // best grade of a passage, 0..1
	Contributed bool    // cited passages support the answer
	Probability float64 // estimate that the answer is right, 0..1: that of [event.Attributed]
}

// The ranges of the confidence, in percent.
const (
	lowest       = 10
	belowFound   = 29 // up to here: no relevant passage was found
	unsupported  = 30
	belowCited   = 40 // up to here: the answer does not rest on the passages found, or none were searched
	moderate     = 65
	contributing = 75 // from here on: the passages support the answer, which is probably right
	highest      = 95
)

// relevant is the relevance from which a passage may hold an answer: it is graded AMBIGUOUS or CORRECT.
const relevant = 0.4

// Confidence returns the confidence in percent, from 10 to 95. It never falls if a field of the evidence rises while the others
// stay the same; for Found and Relevance that is so if the documents were searched.
//
//	75 to 95  the answer rests on the passages found: the percentage is the probability
//	65 to 74  the answer rests on the passages, but may be wrong: the probability is below 75 %
//	30 to 40  the answer does not rest on the passages found, or the documents were not searched
//	10 to 29  nothing relevant was found
func (e Evidence) Confidence() int {
	relevance := unit(e.Relevance)
	switch {
	case !e.Searched:
		return unsupported
	case e.Found == 0:
		return lowest
	case e.Contributed:
		p := unit(e.Probability)
		if p < contributing/100.0 {
			return scale(moderate, contributing-1, p/(contributing/100.0))
		}
		return min(int(math.Round(100*p)), highest)
	case relevance >= relevant:
		return scale(unsupported, belowCited, (relevance-relevant)/(1-relevant))
	}
	return scale(lowest, belowFound, relevance/relevant)
}

// scale returns the whole number at x, 0..1, between two others.
func scale(from, to int, x float64) int { return from + int(math.Round(float64(to-from)*x)) }

// unit limits x to 0..1. A value that is not a number is 0.
func unit(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// Reason says why an answer does not rest on its sources.
type Reason string

// The reasons.
const (
	NotSearched  Reason = "not_searched"         // the answer needs no documents
	NothingFound Reason = "no_documents_found"   // the searches found no passage
	NotRelevant  Reason = "not_relevant"         // no passage found is relevant to the question
	NoAnswer     Reason = "no_answer_in_sources" // the passages do not hold the answer
	NotSupported Reason = "not_supported"        // the verification found that the sources do not support the answer
)

var messages = map[Reason]string{
	NotSearched:  "The documents were not searched",
	NothingFound: "No source was found for the question",
	NotRelevant:  "Sources were retrieved but none of them is relevant to the question",
	NoAnswer:     "Sources were retrieved but did not contribute meaningful information to the answer",
	NotSupported: "Sources were retrieved but they do not support the answer",
}

// assessment is the confidence in an answer with its reasons.
type assessment struct {
	AnswerConfidence
	Reason Reason // empty: the sources contributed
}

// assessed reports whether a run has an answer to assess: one that was verified, or is from the cache.
func assessed(s *event.State) bool { return s.Check != nil || s.Cached() }

// EvidenceOf returns the evidence for the answer of a run. It returns false if there is no answer: the run failed, or has not been
// verified yet.
func EvidenceOf(s *event.State) (Evidence, bool) {
	if !assessed(s) {
		return Evidence{}, false
	}
	e := Evidence{Searched: s.Cached() || len(s.Searches)+len(s.Calls)+len(s.Sources) > 0, Found: len(retrieved(s)), Probability: s.Confidence}
	for _, src := range s.Sources {
		e.Relevance = max(e.Relevance, src.Score)
	}
	for _, g := range s.Grades {
		for _, d := range g.Grades {
			e.Relevance = max(e.Relevance, d.Score)
		}
	}
	e.Contributed = len(s.Contributing()) > 0
	return e, true
}

// citedSources returns the sources that the answer cites.
func citedSources(s *event.State) (cited []*event.Source) {
	for i := range s.Sources {
		if s.Sources[i].Cited {
			cited = append(cited, &s.Sources[i])
		}
	}
	return cited
}

// assess returns the assessment of the answer of a run for which assessed is true.
func assess(s *event.State) assessment {
	e, _ := EvidenceOf(s)
	var reason Reason
	switch {
	case !e.Searched:
		reason = NotSearched
	case e.Found == 0:
		reason = NothingFound
	case e.Contributed:
	case s.Check != nil && s.Check.Flagged:
		reason = NotSupported
	case e.Relevance < relevant:
		reason = NotRelevant
	default:
		reason = NoAnswer
	}
	return assessment{AnswerConfidence{Confidence: e.Confidence(), Reasoning: reasoning(s, &e, reason), SourcesFound: e.Found,
		SourcesContributed: reason == "", LLMAssessmentConfidence: scale(0, 100, unit(s.ClaimSupport())), Probability: wire.Round(e.Probability)}, reason}
}

// retrieved returns the passages that searches and tools found, or the sources of a cached answer.
func retrieved(s *event.State) map[corpus.ChunkID]event.Found {
	found := map[corpus.ChunkID]event.Found{}
	for _, search := range s.Searches {
		if search.Result == nil {
			continue
		}
		for _, f := range search.Result.Found {
			if old, seen := found[f.Chunk]; !seen || f.Score > old.Score {
				found[f.Chunk] = f
			}
		}
	}
	for _, call := range s.Calls {
		if call.Result == nil {
			continue
		}
		for _, p := range call.Result.Passages {
			if _, seen := found[p.Chunk]; !seen {
				found[p.Chunk] = event.Found{Chunk: p.Chunk, Score: p.Grade}
			}
		}
	}
	if len(found) == 0 {
		for _, src := range s.Sources {
			found[src.Chunk] = event.Found{Chunk: src.Chunk, Score: src.Score, Document: src.Document}
		}
	}
	return found
}

// reasoning explains an assessment by counts.
func reasoning(s *event.State, e *Evidence, reason Reason) string {
	var b strings.Builder
	passages, documents := citedSources(s), map[corpus.DocumentID]bool{}
	for _, src := range passages {
		documents[src.Document] = true
	}
	cited := len(passages)
	switch {
	case !e.Searched:
		b.WriteString("The documents were not searched.")
	case s.Cached():
		fmt.Fprintf(&b, "The answer is from the cache. %s.", count(e.Found, "passage was", "passages were")+" read for it")
	default:
		fmt.Fprintf(&b, "%s.", count(e.Found, "passage was", "passages were")+" found")
	}
	switch {
	case cited > 0:
		fmt.Fprintf(&b, " The answer cites %s of %s.", count(cited, "passage", "passages"), count(len(documents), "document", "documents"))
	case e.Searched:
		b.WriteString(" The answer cites none.")
	}
	if c := s.Check; c != nil && len(c.Claims) > 0 {
		fmt.Fprintf(&b, " The passages support %d of %s", c.Count(event.Supported), count(len(c.Claims), "claim", "claims"))
		if partly := c.Count(event.PartiallySupported); partly > 0 {
			fmt.Fprintf(&b, ", and %d in part", partly)
		}
		b.WriteString(".")
	} else if s.Cached() && cited > 0 {
		fmt.Fprintf(&b, " When it was written, its sources supported %d %% of its claims.", scale(0, 100, unit(s.ClaimSupport())))
	}
	if s.Answerability > 0 {
		fmt.Fprintf(&b, " The writer estimates that they hold the answer with %d %%.", scale(0, 100, unit(s.Answerability)))
	}
	switch {
	case reason == NotSupported:
		b.WriteString(" The verification found that they do not support the answer.")
	case reason == NotRelevant:
		b.WriteString(" No passage is relevant to the question.")
	case s.Incomplete():
		b.WriteString(" The end of the answer is missing.")
	}
	return b.String()
}

func count(n int, one, many string) string {
	switch n {
	case 0:
		return "No " + one
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
