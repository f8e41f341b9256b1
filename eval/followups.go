package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval/followup"
	"github.com/sluice-rag/sluice/event"
)

// MaxFollowUps is the number of cases that [Set.FollowUps] makes of a large set.
const MaxFollowUps = 200

// The ways in which the second question of a case is asked.
const (
	AskedOriginal     = "original"      // self-contained: an upper bound
	AskedNotRewritten = "not rewritten" // the follow-up without the first turn
	AskedRewritten    = "rewritten"     // the follow-up with the first turn
)

// FollowUpResult is the result of a case.
type FollowUpResult struct {
	followup.Case
	FirstAnswer string                    `json:"first_answer"` // the beginning of the answer
	Standalone  string                    `json:"standalone"`   // the rewritten question; empty: it was not rewritten
	Asked       map[string]FollowUpScores `json:"asked"`        // by the way of asking
}

// FollowUpScores are the scores of one way of asking: 0 or 1.
type FollowUpScores struct {
	Hit5      float64 `json:"hit_5"`     // a gold paragraph is among the first five documents
	Holds     float64 `json:"holds"`     // the answer contains a gold answer
	Abstained float64 `json:"abstained"` // the answer is an abstention
}

// FollowUpRow has the mean scores of the cases of a form that are asked in one way.
type FollowUpRow struct {
	Form      followup.Form `json:"form,omitempty"` // empty: all forms
	Asked     string        `json:"asked"`
	Cases     int           `json:"cases"`
	Hit5      Estimate      `json:"hit_5"`
	Holds     Estimate      `json:"holds"`
	Abstained Estimate      `json:"abstained"`
}

// FollowUpReport holds the results of a set.
type FollowUpReport struct {
	Set       string           `json:"set"`
	Half      string           `json:"half,omitempty"`
	Cases     int              `json:"cases"`
	Questions int              `json:"questions"` // different second questions
	Rows      []FollowUpRow    `json:"rows"`
	Results   []FollowUpResult `json:"results"`
}

// FollowUps returns conversations of two questions of the set: see [followup.Cases]. Those of a part of a set
// are those of the set whose second question is in that part. There are none without titles and texts of documents.
func (s *Set) FollowUps() []followup.Case {
	texts, articles := map[string][]string{}, map[string]string{}
	for _, d := range s.Docs {
		texts[d.Title] = append(texts[d.Title], d.Text)
		articles[d.ID] = d.Title
	}
	all := s.Questions
	if s.Part != "" {
		all = s.Whole
	}
	var questions []followup.Question
	for _, q := range all {
		gold := ""
		for _, d := range s.Docs {
			if s.Qrels[q.ID][d.ID] > 0 {
				gold = d.ID
				break
			}
		}
		if gold != "" && articles[gold] != "" && len(q.Answers) > 0 && !q.Unanswerable {
			questions = append(questions, followup.Question{ID: q.ID, Text: q.Text, Paragraph: gold, Article: articles[gold]})
		}
	}
	cases := followup.Cases(questions, texts, MaxFollowUps)
	return slices.DeleteFunc(cases, func(c followup.Case) bool {
		return !slices.ContainsFunc(s.Questions, func(q Question) bool { return q.ID == c.ID })
	})
}

// FollowUps asks the second question of each case in three ways. It answers the first question once for each case; how is the question that
// all of them take their mode and number of passages from. It stops at the first error.
func FollowUps(ctx context.Context, set *Set, ask AskFunc, how event.Question, progress func(done, total int)) (*FollowUpReport, error) {
	cases := set.FollowUps()
	if len(cases) == 0 {
		return nil, fmt.Errorf("ask follow-ups of %s: there are none; the set needs expected answers, and documents with titles", set.Name)
	}
	byID := map[string]Question{}
	for _, q := range append(slices.Clone(set.Whole), set.Questions...) {
		byID[q.ID] = q
	}
	r := &FollowUpReport{Set: set.Name, Half: set.Part, Cases: len(cases), Results: make([]FollowUpResult, len(cases))}
	var done atomic.Int64
	err := parallel(ctx, 0, len(cases), func(ctx context.Context, i int) error {
		out, err := set.followUp(ctx, ask, how, cases[i], byID[cases[i].ID])
		if err != nil {
			return fmt.Errorf("ask follow-ups of %s: query %.100q: %w", set.Name, cases[i].ID, err)
		}
		r.Results[i] = out
		progress(int(done.Add(1)), len(cases))
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.summarize()
	return r, nil
}

// followUp holds the conversation of a case.
func (s *Set) followUp(ctx context.Context, ask AskFunc, how event.Question, c followup.Case, q Question) (FollowUpResult, error) {
	r := FollowUpResult{Case: c, Asked: map[string]FollowUpScores{}}
	turn := func(query string, history ...event.Message) (Outcome, error) {
		asked := how
		asked.Query, asked.History = query, history
		out, err := ask(ctx, asked)
		if err == nil && out.State.Failure != nil {
			err = errors.New(out.State.Failure.Message)
		}
		return out, err
	}
	first, err := turn(c.First)
	if err != nil {
		return r, err
	}
	r.FirstAnswer = string(first.State.Text[:min(len(first.State.Text), maxAnswer)])
	history := []event.Message{{Role: event.RoleUser, Text: c.First}, {Role: event.RoleAssistant, Text: r.FirstAnswer}}
	for _, a := range []struct {
		name, query string
		history     []event.Message
	}{{AskedOriginal, c.Second, nil}, {AskedNotRewritten, c.FollowUp, nil}, {AskedRewritten, c.FollowUp, history}} {
		out, err := turn(a.query, a.history...)
		if err != nil {
			return r, err
		}
		if a.history != nil && out.State.Analysis != nil {
			r.Standalone = out.State.Analysis.Standalone
		}
		r.Asked[a.name] = s.scores(out, q)
	}
	return r, nil
}

func (s *Set) scores(out Outcome, q Question) FollowUpScores {
	hit := slices.ContainsFunc(out.ranked(5), func(doc string) bool { return s.Qrels[q.ID][doc] > 0 })
	return FollowUpScores{one(hit), ContainsGold(string(out.State.Text), q.Answers), one(out.State.Abstained())}
}

// ranked returns the first documents of the ranking.
func (o *Outcome) ranked(limit int) []string {
	docs := []string{}
	var chunks []corpus.ChunkID
	if o.State.Rerank != nil {
		for _, f := range o.State.Rerank.Outputs {
			chunks = append(chunks, f.Chunk)
		}
	} else { // a summary or a list, which no search precedes
		for _, s := range o.State.Sources {
			chunks = append(chunks, s.Chunk)
		}
	}
	for _, chunk := range chunks {
		if doc := o.Documents[chunk]; len(docs) < limit && doc != "" && !slices.Contains(docs, doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}

// summarize computes the rows: first those of all cases, then those of each form.
func (r *FollowUpReport) summarize() {
	forms := []followup.Form{""}
	seconds := map[string]bool{}
	for _, c := range r.Results {
		seconds[c.ID] = true
		if !slices.Contains(forms, c.Form) {
			forms = append(forms, c.Form)
		}
	}
	slices.Sort(forms)
	r.Questions = len(seconds)
	for _, form := range forms {
		for _, asked := range []string{AskedOriginal, AskedNotRewritten, AskedRewritten} {
			row := FollowUpRow{Form: form, Asked: asked}
			columns := make([][]float64, 3)
			for _, c := range r.Results {
				values := []float64{math.NaN(), math.NaN(), math.NaN()}
				if form == "" || c.Form == form {
					s := c.Asked[asked]
					values = []float64{s.Hit5, s.Holds, s.Abstained}
					row.Cases++
				}
				for i, v := range values {
					columns[i] = append(columns[i], v)
				}
			}
			e := Intervals(columns...)
			row.Hit5, row.Holds, row.Abstained = e[0], e[1], e[2]
			r.Rows = append(r.Rows, row)
		}
	}
}

// WriteFollowUps writes a table for each report.
func WriteFollowUps(w io.Writer, reports ...*FollowUpReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tfollow-ups\tcases\tasked\thit@5\t95 %\tholds gold\t95 %\tabstained\t95 %\t")
	for _, r := range reports {
		name := r.Set
		if r.Half != "" {
			name += ", half " + r.Half
		}
		for _, row := range r.Rows {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t", name, cmp.Or(string(row.Form), "all"), row.Cases, row.Asked)
			for _, e := range []Estimate{row.Hit5, row.Holds, row.Abstained} {
				fmt.Fprintf(t, "%.3f\t%.2f–%.2f\t", e.Mean, e.Low, e.High)
			}
			fmt.Fprintln(t)
		}
	}
	return t.Flush()
}
