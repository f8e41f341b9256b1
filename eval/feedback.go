package eval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

// RatedAnswer is an answer that a user rated, with the question that led to it.
type RatedAnswer struct {
	ID        string              `json:"id"`       // of the message
	Question  event.Question      `json:"question"` // self-contained, without a history
	Good      bool                `json:"good"`
	Reason    string              `json:"reason,omitempty"` // of the user
	Answer    string              `json:"answer"`
	Abstained bool                `json:"abstained,omitempty"`
	Documents []corpus.DocumentID `json:"documents,omitempty"` // cited
	Sentences []string            `json:"sentences,omitempty"` // the cited sentences
}

// FeedbackResult compares a rated answer with a new one to the same question.
type FeedbackResult struct {
	RatedAnswer
	NewAnswer string `json:"new_answer"` // the beginning of the answer
	Failed    string `json:"failed,omitempty"`
	// Sentences and Documents are the shares of the cited sentences and documents that the new answer has or cites; nil: the rated answer
	// cites none.
	HeldSentences *float64 `json:"held_sentences,omitempty"`
	HeldDocuments *float64 `json:"held_documents,omitempty"`
	Changed       bool     `json:"changed"` // the words differ, or one of them is an abstention
}

// FeedbackRow has the means over the answers with one rating.
type FeedbackRow struct {
	Good      bool     `json:"good"`
	Answers   int      `json:"answers"`
	Failed    int      `json:"failed"`
	Sentences Estimate `json:"held_sentences"`
	Documents Estimate `json:"held_documents"`
	Changed   Estimate `json:"changed"`
}

// FeedbackReport holds the results of all rated answers.
type FeedbackReport struct {
	Rows    []FeedbackRow    `json:"rows"` // good ones first
	Results []FeedbackResult `json:"results"`
}

// Feedback asks the questions of rated answers again and compares the answers. It stops at the first error; failed runs are counted.
func Feedback(ctx context.Context, rated []RatedAnswer, ask func(ctx context.Context, q event.Question) (event.State, error)) (*FeedbackReport, error) {
	r := &FeedbackReport{Results: make([]FeedbackResult, len(rated))}
	err := parallel(ctx, 0, len(rated), func(ctx context.Context, i int) error {
		s, err := ask(ctx, rated[i].Question)
		if err != nil {
			return fmt.Errorf("ask again for message %.100q: %w", rated[i].ID, err)
		}
		r.Results[i] = rated[i].compare(&s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, good := range []bool{true, false} {
		r.Rows = append(r.Rows, r.row(good))
	}
	return r, nil
}

func (a RatedAnswer) compare(s *event.State) FeedbackResult {
	r := FeedbackResult{RatedAnswer: a, NewAnswer: lang.Truncate(string(s.Text), maxAnswer)}
	if s.Failure != nil {
		r.Failed = s.Failure.Message
	}
	said := " " + strings.Join(normal(string(s.Text)), " ") + " "
	var cited []corpus.DocumentID
	for _, src := range s.Sources {
		if src.Cited {
			cited = append(cited, src.Document)
			said += strings.Join(normal(cmp.Or(src.CitedText(), src.Text)), " ") + " "
		}
	}
	held := 0
	for _, one := range a.Sentences {
		if strings.Contains(said, " "+strings.Join(normal(one), " ")+" ") {
			held++
		}
	}
	if n := len(a.Sentences); n > 0 {
		r.HeldSentences = new(share(held, n))
	}
	held = 0
	for _, doc := range a.Documents {
		held += int(one(slices.Contains(cited, doc)))
	}
	if n := len(a.Documents); n > 0 {
		r.HeldDocuments = new(share(held, n))
	}
	r.Changed = a.Abstained != s.Abstained() || !slices.Equal(normal(a.Answer), normal(string(s.Text)))
	return r
}

func (r *FeedbackReport) row(good bool) FeedbackRow {
	row := FeedbackRow{Good: good}
	columns := make([][]float64, 3)
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	for _, a := range r.Results {
		if a.Good != good {
			continue
		}
		row.Answers++
		if a.Failed != "" {
			row.Failed++
		}
		for i, v := range []float64{value(a.HeldSentences), value(a.HeldDocuments), one(a.Changed)} {
			columns[i] = append(columns[i], v)
		}
	}
	if row.Answers > 0 {
		e := Intervals(columns...)
		row.Sentences, row.Documents, row.Changed = e[0], e[1], e[2]
	}
	return row
}

// WriteFeedback writes the table of a report, and a line for each answer that was rated bad.
func WriteFeedback(w io.Writer, r *FeedbackReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rated\tanswers\tfailed\tholds sentences\t95 %\tcites documents\t95 %\tchanged\t95 %\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t", map[bool]string{true: "good", false: "bad"}[row.Good], row.Answers, row.Failed)
		for _, e := range []Estimate{row.Sentences, row.Documents, row.Changed} {
			if e.N == 0 {
				fmt.Fprint(t, "\t\t")
				continue
			}
			fmt.Fprintf(t, "%.3f\t%.2f–%.2f\t", e.Mean, e.Low, e.High)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	line := func(s string) string { return strings.Join(strings.Fields(lang.Clean(lang.Truncate(s, 200))), " ") }
	for _, a := range r.Results {
		if a.Good {
			continue
		}
		state := "unchanged"
		if a.Changed {
			state = "changed"
		}
		if _, err := fmt.Fprintf(w, "\nbad, %s: %s\n  reason: %s\n  answer: %s\n", state, line(a.Question.Query), line(a.Reason), line(a.NewAnswer)); err != nil {
			return err
		}
	}
	return nil
}
