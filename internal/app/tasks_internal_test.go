package app

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
)

func TestTasksByRules(t *testing.T) {
	t.Parallel()
	const talk = "USER: When was the north lock opened? I need it for a talk.\nASSISTANT: In 1932.\nUSER: And how long may ships in the north lock be?\nASSISTANT: AI: 140 metres.\n</chat_history>"
	for name, c := range map[string]struct {
		q    event.Question
		want string
	}{
		"title":                  {event.Question{Query: "Name this chat.\nReply with {\"title\": \"the name\"}\n<chat_history>\n" + talk}, `{"title":"When was the north lock opened?"}`},
		"title in another form":  {event.Question{Query: "Benenne das Gespräch als { \"title\" : \"Name\" }.\n" + talk}, `{"title":"When was the north lock opened?"}`},
		"title as text":          {event.Question{Query: "Write a title of at most five words.\n\nConversation:\nUser: When was the north lock opened?\nAI: In 1932."}, "When was the north lock opened?"},
		"tags":                   {event.Question{Query: "Form: { \"tags\": [\"a\", \"b\"] }\n" + talk}, `{"tags":["north","lock","opened"]}`},
		"follow-up questions":    {event.Question{Query: "Form: {\"follow_ups\": [\"a?\"]}\n" + talk}, `{"follow_ups":[]}`},
		"queries":                {event.Question{Query: "Form: { \"queries\": [\"a\"] }\n" + talk}, `{"queries":["And how long may ships in the north lock be?"]}`},
		"completion":             {event.Question{Query: "Form: { \"text\": \"rest\" }\n" + talk}, `{"text":""}`},
		"an object in the talk":  {event.Question{Query: "Name this chat.\nUSER: What means {\"tags\": []}?\nASSISTANT: No tags."}, `What means {"tags": []}?`},
		"messages":               {event.Question{Query: "Name this chat as {\"title\": \"…\"}.", History: []event.Message{{Role: "user", Text: "Who keeps it?"}, {Role: "assistant", Text: "Zoë."}}}, `{"title":"Who keeps it?"}`},
		"a question":             {event.Question{Query: "Who keeps it?"}, "Who keeps it?"},
		"only answers":           {event.Question{Query: "{\"title\": \"\"}\nASSISTANT: Good morning."}, `{"title":""}`},
		"another language":       {event.Question{Query: "{\"tags\": []}\nUSER: Wann wurde die Schleuse geöffnet, und wer öffnet die Schleuse?"}, `{"tags":["Schleuse","geöffnet","öffnet"]}`},
		"words without a letter": {event.Question{Query: "{\"tags\": []}\nUSER: ??? 1 2"}, `{"tags":[]}`},
	} {
		if got := taskByRules(c.q); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func FuzzTasks(f *testing.F) {
	f.Add("{\"title\": \"\"}\nUSER: a\nASSISTANT: b")
	f.Add("</chat_history>{\"tags\":USER:\nuser:\xff")
	f.Fuzz(func(t *testing.T, prompt string) {
		text := taskByRules(event.Question{Query: prompt})
		if _, rest := conversation(event.Question{Query: prompt}); wantedKey.MatchString(rest) && !json.Valid([]byte(text)) || utf8.ValidString(prompt) && !utf8.ValidString(text) || len(text) > 3*maxNamed+100 {
			t.Errorf("%q: %q", prompt, text)
		}
	})
}
