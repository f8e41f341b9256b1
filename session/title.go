package session

import (
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// titleLength is the length of a title that is made by rules, in bytes.
const titleLength = 80

// byRules is the value of [Session.TitleBy] for a title that is made by rules.
const byRules = "rules"

// title returns the first sentence of a question, without its last words if it is long.
func title(question string) string {
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

// makeTitle lets a model make the title of a session after its first turn, in the background.
func (s *Service) makeTitle(found Session, answer Message, question, text string) {
	if s.o.Title == nil || found.TitleBy != byRules || answer.Depth != 1 || text == "" {
		return
	}
	s.work.Go(func() {
		name, by, err := s.o.Title(s.ctx, question, text)
		if err == nil {
			if name = strings.Join(strings.Fields(lang.Clean(lang.Truncate(name, MaxTitle))), " "); name != "" {
				_, err = s.store.Update(s.ctx, found.Key, Change{Title: &name, TitleBy: by})
			}
		}
		if err != nil && s.ctx.Err() == nil {
			s.o.Logger.Warn("no title was made by the model; the one by rules stays", "error", err)
		}
	})
}
