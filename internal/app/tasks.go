package app

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/session"
)

// maxTags is the number of tags of a conversation by rules.
const maxTags = 3

// task returns the function that writes titles, tags and follow-up questions for front ends. The prompt goes to a model as it is, without documents. If
// there is none, or it fails, rules extract the text from the conversation in the prompt.
func (a *App) task(asker *server.Asker) server.Task {
	return func(ctx context.Context, q event.Question, c engine.Caller) ([]event.Body, error) {
		if a.noGenerate() != "" {
			return said(taskByRules(q), "rules", event.StopEnd), nil
		}
		giveBack, err := asker.Count(ctx) // as ai.generate does
		if err != nil {
			return nil, err
		}
		release, err := a.limiter.Acquire(ctx, c.Client)
		if err != nil {
			giveBack()
			return nil, err
		}
		defer release()
		bodies, err := a.taskByModel(ctx, q)
		if err != nil {
			giveBack()
			a.logger.Warn("the model failed to write a title, tags or questions; rules extract them instead", "error", err)
			return said(taskByRules(q), "rules", event.StopEnd), nil
		}
		return bodies, nil
	}
}

// said returns the events of a text.
func said(text, by string, stop string) []event.Body {
	return []event.Body{event.GenerationStarted{Model: by}, event.Token{Text: text}, event.GenerationFinished{Reason: stop}}
}

// taskByModel lets the model follow the prompt.
func (a *App) taskByModel(ctx context.Context, q event.Question) ([]event.Body, error) {
	ctx, cancel := context.WithTimeout(ctx, titleTimeout)
	defer cancel()
	r := model.Request{Temperature: q.Temperature, MaxTokens: a.Config.Models.AnswerTokens}
	if q.MaxTokens > 0 && (r.MaxTokens == 0 || q.MaxTokens < r.MaxTokens) {
		r.MaxTokens = q.MaxTokens
	}
	if q.Instructions != "" {
		r.Messages = append(r.Messages, model.Message{Role: model.System, Text: q.Instructions})
	}
	for _, m := range q.History {
		role := model.User
		if m.Role == event.RoleAssistant {
			role = model.Assistant
		}
		r.Messages = append(r.Messages, model.Message{Role: role, Text: m.Text})
	}
	r.Messages = append(r.Messages, model.Message{Role: model.User, Text: q.Query})
	used := event.ModelUsed{Step: event.StepGenerate}
	var mu sync.Mutex // models that fail over may report at once
	trace := &model.Trace{Used: func(name string, u model.Usage) {
		mu.Lock()
		defer mu.Unlock()
		used.Model, used.Calls = name, used.Calls+1
		used.Input, used.Output, used.Estimated = used.Input+u.Input, used.Output+u.Output, used.Estimated || u.Estimated
	}}
	var text strings.Builder
	stop := model.StopEnd
	for p, err := range a.Models.chatByName(a.logger)("").Complete(model.WithTrace(ctx, trace), r) {
		if err != nil {
			return nil, err
		}
		text.WriteString(p.Text)
		stop = cmp.Or(p.Stop, stop)
	}
	mu.Lock()
	defer mu.Unlock()
	return append(said(lang.Clean(text.String()), used.Model, string(stop)), used), nil
}

// wantedKey finds the key of the JSON object that a front end reads from the reply: it shows the form of the object in its prompt. The rest of the prompt may have any
// words, since administrators change it.
var wantedKey = regexp.MustCompile(`\{\s*"(title|tags|follow_ups|queries|text)"\s*:`)

// speaker finds the messages of a conversation that a front end writes into its prompt as text, such as "USER: Why?" of Open WebUI and "User: Why?" of LibreChat.
var speaker = regexp.MustCompile(`(?im)^(user|human|assistant|ai|system|tool):[ \t]*`)

// conversation returns the messages of the conversation that a prompt is about, and the rest of the prompt: the text before them. A prompt without
// a conversation follows its messages, or is one itself.
func conversation(q event.Question) (said []event.Message, rest string) {
	at := speaker.FindAllStringSubmatchIndex(q.Query, -1)
	for i, m := range at {
		end := len(q.Query)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		text, _, _ := strings.Cut(q.Query[m[1]:end], "</chat_history>")
		role := event.RoleUser
		switch strings.ToLower(q.Query[m[2]:m[3]]) {
		case "assistant", "ai":
			role = event.RoleAssistant
		case "system", "tool":
			continue
		}
		said = append(said, event.Message{Role: role, Text: strings.TrimSpace(text)})
	}
	switch {
	case len(said) > 0:
		return said, q.Query[:at[0][0]]
	case len(q.History) > 0:
		return q.History, q.Query
	}
	return []event.Message{{Role: event.RoleUser, Text: q.Query}}, ""
}

// taskByRules returns the text that a prompt wants, as far as it can be extracted from the conversation: the title is the first question, and tags are
// the words that the questions have in common. Rules write no follow-up questions and complete no text, so their list is empty.
func taskByRules(q event.Question) string {
	said, rest := conversation(q)
	said = slices.DeleteFunc(slices.Clone(said), func(m event.Message) bool { return m.Role != event.RoleUser || m.Text == "" })
	questions := make([]string, len(said))
	for i, m := range said {
		questions[i] = lang.Truncate(m.Text, maxNamed)
	}
	if len(questions) == 0 {
		questions = []string{""}
	}
	title := session.Title(questions[0])
	var value any
	key := wantedKey.FindStringSubmatch(rest)
	if key == nil {
		return title
	}
	switch key[1] {
	case "title":
		value = title
	case "tags":
		value = tagsOf(strings.Join(questions, "\n"))
	case "queries":
		value = questions[len(questions)-1:]
	case "follow_ups":
		value = []string{}
	case "text":
		value = ""
	}
	text, _ := json.Marshal(map[string]any{key[1]: value}) // texts always encode
	return string(text)
}

// tagsOf returns the most frequent words of a text that are no stop words, the longest of several first.
func tagsOf(text string) []string {
	type word struct {
		text string
		n    int
	}
	words := []word{}
	at := map[string]int{}
	language := lang.Detect(text)
	if language == nil {
		language = lang.English
	}
	for _, w := range lang.Words(text) {
		if language.IsStopWord(w.Text) || utf8.RuneCountInString(w.Text) < 3 {
			continue
		}
		i, known := at[w.Text]
		if !known {
			i, at[w.Text] = len(words), len(words)
			words = append(words, word{text: text[w.Start:w.End]})
		}
		words[i].n++
	}
	slices.SortStableFunc(words, func(a, b word) int { return cmp.Or(b.n-a.n, len(b.text)-len(a.text)) })
	tags := []string{}
	for _, w := range words[:min(maxTags, len(words))] {
		tags = append(tags, w.text)
	}
	return tags
}
