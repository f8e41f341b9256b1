package selfquery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewModel]. The zero value works.
type Options struct {
	Timeout time.Duration    // for a reply; default 8 s, and at most an eighth of the run's remaining time
	Now     func() time.Time // default time.Now
}

type modelExtractor struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback Extractor
	Options
}

// NewModel returns the [Extractor] that asks a model. Names and titles of its reply must consist of words of the question; others are
// ignored. If the model fails or is late, the extractor given by then answers, and the failure is reported to the trace.
func NewModel(chat model.Chat, prompts *prompt.Set, then Extractor, o Options) Extractor {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &modelExtractor{chat, prompts, then, o}
}

// reply is what the model says.
type reply struct {
	Creator   string `json:"creator"`
	Publisher string `json:"publisher"`
	Title     string `json:"title"`
	Type      string `json:"type"`
	Language  string `json:"language"`
	From      string `json:"from"`
	To        string `json:"to"`
	Query     string `json:"query"`
}

func (r *reply) check() error {
	for name, date := range map[string]string{"from": r.From, "to": r.To} {
		if _, err := time.Parse(time.DateOnly, date); date != "" && err != nil {
			return fmt.Errorf("%s is not a date YYYY-MM-DD", name)
		}
	}
	if r.From != "" && r.To != "" && r.From > r.To {
		return fmt.Errorf("from is later than to")
	}
	return nil
}

// Extract implements [Extractor].
func (m *modelExtractor) Extract(ctx context.Context, question string) (Filter, error) {
	share, cancel := prompt.WithShare(ctx, m.Timeout, 8)
	defer cancel()
	own, by := model.TrackModel(share)
	r, err := prompt.Ask(own, m.chat, m.prompts, prompt.Conditions{Question: question, Today: day(m.Now().UTC())}, (*reply).check)
	if err != nil {
		err = prompt.ShareError(ctx, share, m.chat.Name(), err)
		if ctx.Err() != nil {
			return Filter{}, err
		}
		f, ferr := m.fallback.Extract(ctx, question)
		model.Failed(ctx, err, m.chat.Name(), f.By)
		return f, ferr
	}
	f := Filter{From: r.From, To: r.To, Language: filter.LanguageCode(r.Language), Creator: stated(r.Creator, question), Publisher: stated(r.Publisher, question),
		Title: stated(r.Title, question), By: by(m.chat.Name())}
	if slices.Contains(filter.Types(), r.Type) {
		f.Type = r.Type
	}
	f.Query = strings.Join(strings.Fields(lang.Clean(lang.Truncate(r.Query, maxQuestion))), " ")
	if f.Empty() || len(lang.ContentWords(f.Query, 1)) == 0 {
		f.Query = question
	}
	return f, nil
}

// stated returns a name if the question has all its words.
func stated(name, question string) string {
	name = strings.Join(strings.Fields(lang.Clean(lang.Truncate(name, 200))), " ")
	have := folded(question)
	if slices.ContainsFunc(folded(name), func(w string) bool { return !slices.Contains(have, w) }) {
		return ""
	}
	return name
}
