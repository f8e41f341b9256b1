package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/prompt"
)

const (
	titleTimeout = 20 * time.Second
	maxTitle     = 100  // bytes
	maxNamed     = 4000 // bytes of the question, and of the answer, in the prompt
)

// Titler returns the function by which a model makes the titles of sessions: see session.Options.Title. A title is one line of at most 100
// bytes. The function is nil if rules make the titles, or if there is no model.
func (m *Models) Titler(cfg config.Models, logger *slog.Logger) func(ctx context.Context, question, answer string) (title, by string, err error) {
	if cfg.SessionTitles != config.SessionTitlesModel || len(m.Chats) == 0 {
		return nil
	}
	judge := prompt.NewJudge(failover.New(m.Chats, failover.Options{Logger: logger}))
	return func(ctx context.Context, question, answer string) (string, string, error) {
		ctx, cancel := context.WithTimeout(ctx, titleTimeout)
		defer cancel()
		r, err := prompt.Ask(ctx, judge, m.Prompts, prompt.Titling{Question: lang.Truncate(question, maxNamed), Answer: lang.Truncate(answer, maxNamed)}, (*titleReply).check)
		if err != nil {
			return "", "", err
		}
		return r.Title, judge.Name(), nil
	}
}

type titleReply struct {
	Title string `json:"title"`
}

// check removes quotation marks, line breaks and a full stop from a title. It returns an error if the title is empty or too long.
func (r *titleReply) check() error {
	r.Title = strings.Trim(strings.Join(strings.Fields(lang.Clean(r.Title)), " "), ` "'“”„«».`)
	switch {
	case len(lang.Words(r.Title)) == 0:
		return errors.New("the title is empty")
	case len(r.Title) > maxTitle:
		return errors.New("the title is too long: two to six words")
	}
	return nil
}
