package eval

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

// Statement is a sentence of an answer with the passages that it cites, without duplicates.
type Statement struct {
	Text  string
	Cited []corpus.Chunk
}

const (
	maxStatements = 100 // statements of an answer
	maxCited      = 3   // citations of a statement, as in ALCE's script
)

// Statements splits the answer of a run into sentences with the citations in and directly after them. Sentences without a claim and
// without citations are left out.
func Statements(s *event.State) []Statement {
	sources := map[corpus.ChunkID]corpus.Chunk{}
	for _, src := range s.Sources {
		sources[src.Chunk] = corpus.Chunk{ID: src.Chunk, Document: src.Document, Level: src.Level, Title: src.Title, Text: src.Text}
	}
	all := string(s.Text)
	spans := lang.Sentences(all)
	var out []Statement
	next := 0 // of the citations
	for i, span := range spans {
		until := len(all)
		if i+1 < len(spans) {
			until = spans[i+1].Start
		}
		st := Statement{Text: all[span.Start:span.End]}
		for ; next < len(s.Citations) && s.Citations[next].At <= until; next++ {
			id := s.Citations[next].Chunk
			if !slices.ContainsFunc(st.Cited, func(c corpus.Chunk) bool { return c.ID == id }) && len(st.Cited) < maxCited {
				c := sources[id]
				c.ID = id // an unknown source has no text and supports nothing
				st.Cited = append(st.Cited, c)
			}
		}
		if len(st.Cited) > 0 || verify.IsClaim(st.Text) {
			out = append(out, st)
		}
		if len(out) == maxStatements {
			break
		}
	}
	return out
}

// CitationScores holds the citation scores of an answer.
type CitationScores struct{ Recall, Precision float64 }

// Citations measures the citations of an answer as ALCE does (Gao et al. 2023, arXiv:2305.14627), with a [verify.Verifier] in place of
// an entailment model: the verdict SUPPORTED counts as entailment. Recall is the share of statements that their cited passages
// support together. Precision is the share of citations that are relevant: their statement is supported, and either they support it
// alone or the other citations do not support it without them. Both are 0 without statements. The error is that of ctx.
func Citations(ctx context.Context, v verify.Verifier, question string, statements []Statement) (CitationScores, error) {
	var supported, precise, total int
	carries := func(st Statement, cited []corpus.Chunk) (bool, error) {
		if len(cited) == 0 {
			return false, nil
		}
		check, err := v.Verify(ctx, question, []verify.Claim{{Text: st.Text, Cited: cited}})
		return err == nil && check.Verdicts[0].Verdict == event.Supported, err
	}
	for _, st := range statements {
		total += len(st.Cited)
		all, err := carries(st, st.Cited)
		if err != nil {
			return CitationScores{}, err
		}
		if !all {
			continue
		}
		supported++
		if len(st.Cited) == 1 {
			precise++
			continue
		}
		for i, c := range st.Cited {
			alone, err := carries(st, []corpus.Chunk{c})
			if err != nil {
				return CitationScores{}, err
			}
			without := false
			if !alone {
				if without, err = carries(st, slices.Delete(slices.Clone(st.Cited), i, i+1)); err != nil {
					return CitationScores{}, err
				}
			}
			if alone || !without {
				precise++
			}
		}
	}
	return CitationScores{Recall: share(supported, len(statements)), Precision: share(precise, total)}, nil
}
