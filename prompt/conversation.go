package prompt

// Condensing is the data of condense.md: .Question, the list .History and .Summary, that of the conversation before the history. It may be
// empty.
type Condensing struct {
	Question string
	History  []Message
	Summary  string
}

// Summarizing is the data of summarize_history.md: the list .History, .Summary, that of the conversation before the history, which may be empty,
// and .Words, the maximum length of the new summary.
type Summarizing struct {
	History []Message
	Summary string
	Words   int
}

// Titling is the data of title.md: .Question, and the list .History with the answer.
type Titling struct {
	Question string
	Answer   string
}

// Message is a message of a conversation. Answers of the program are quoted like other text.
type Message struct {
	Role string // "user" or "assistant"
	Text string
}

// conversationView is the data of the prompts about conversations.
type conversationView struct {
	Question, Summary Quote
	History           []Quote
	Words             int
}

func (Condensing) name() string  { return "condense" }
func (Summarizing) name() string { return "summarize_history" }
func (Titling) name() string     { return "title" }

func (c Condensing) answer() int  { return 200 + len(c.Question)/2 }
func (s Summarizing) answer() int { return 200 + 2*s.Words }
func (Titling) answer() int       { return 100 }

func (c Condensing) fenced(f fence) any {
	return conversationView{Question: f.question(c.Question), Summary: f.summary(c.Summary), History: f.history(c.History)}
}
func (s Summarizing) fenced(f fence) any {
	view := conversationView{Words: s.Words, Summary: f.summary(s.Summary)}
	for _, m := range s.History {
		view.History = append(view.History, f.quote("turn", by(m.Role), m.Text, maxSaid))
	}
	return view
}
func (t Titling) fenced(f fence) any {
	return conversationView{Question: f.question(t.Question), History: f.history([]Message{{"assistant", t.Answer}})}
}

// history quotes the messages of a conversation. A template may leave them out.
func (f fence) history(all []Message) []Quote {
	out := make([]Quote, len(all))
	for i, t := range all {
		out[i] = f.optional("turn", by(t.Role), t.Text, maxSaid)
	}
	return out
}

// by returns the attribute for the role of a message.
func by(role string) string {
	if role == "assistant" {
		return ` by="assistant"`
	}
	return ` by="user"`
}

// summary quotes the summary of a conversation. A template may leave it out.
func (f fence) summary(s string) Quote {
	if s == "" {
		return ""
	}
	return f.optional("summary", "", s, maxSummary)
}
