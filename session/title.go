package session

import (
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// titleLength is the maximum length of a title by rules, in bytes.
const titleLength = 80

// byRules is the value of [Session.TitleBy] for a title by rules.
const byRules = "rules"

// Title returns the first sentence of a question. If the sentence is too long, its last words are left out.
func Title(question string) string {
	text := strings.Join(strings.Fields(lang.Clean(lang.Truncate(question, 8*titleLength))), " ")
	if spans := lang.Sentences(text); len(spans) > 0 {
		text = strings.TrimSpace(text[spans[0].Start:spans[0].End])
	}
	if len(text) <= titleLength {
		return text
	}
	cut := lang.Truncate(text, titleLength-len("…"))
	if space := strings.LastIndexByte(cut, ' '); space > titleLength/2 {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ,;:-–—") + "…"
}

// makeTitle has Options.Title replace the title of a session after its first turn, in the background.
func (s *Service) makeTitle(found Session, answer Message, question, text string) {
	if s.o.Title == nil || found.TitleBy != byRules || answer.Depth != 1 || text == "" {
		return
	}
	s.background(func() {
		name, by, err := s.o.Title(s.ctx, question, text)
		if err == nil {
			if name = strings.Join(strings.Fields(lang.Clean(lang.Truncate(name, MaxTitle))), " "); name != "" {
				_, err = s.store.Update(s.ctx, found.Key, Change{Title: &name, TitleBy: by})
			}
		}
		if err != nil && s.ctx.Err() == nil {
			s.o.Logger.Warn("make title with model; the session keeps its title by rules", "error", err)
		}
	})
}
