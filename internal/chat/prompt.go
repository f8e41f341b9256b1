package chat

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/sluice-rag/sluice/client/display"
)

// Limits of the input: characters, lines, and visible lines.
const (
	maxTyped = 30_000
	maxLines = 400
	maxRows  = 8
)

// prompt is a text area of several lines with a history and completion.
type prompt struct {
	area    textarea.Model
	history *history
	session *conversation

	drawn []string // cached lines; nil if the text has changed

	from       int      // start of the completed text
	rest       string   // text after the cursor
	candidates []string // candidates of the last Tab
	at         int      // index of the shown candidate; -1 is the common prefix
}

func newPrompt(s *conversation, h *history) *prompt {
	a := textarea.New()
	a.Prompt, a.ShowLineNumbers, a.EndOfBufferCharacter = "› ", false, ' '
	a.SetPromptFunc(2, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return "› "
		}
		return "  "
	})
	a.Placeholder = "ask a question, or /help"
	a.CharLimit, a.MaxWidth = maxTyped, 0
	a.DynamicHeight, a.MinHeight, a.MaxHeight, a.MaxContentHeight = true, 1, maxRows, 4*maxTyped/10
	a.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	a.KeyMap.Paste.SetEnabled(false) // the terminal handles pasting
	a.KeyMap.PageUp.SetEnabled(false)
	a.KeyMap.PageDown.SetEnabled(false)
	state := textarea.StyleState{Prompt: lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true), Placeholder: lipgloss.NewStyle().Faint(true),
		Selection: lipgloss.NewStyle().Reverse(true)}
	a.SetStyles(textarea.Styles{Focused: state, Blurred: state, Cursor: textarea.CursorStyle{Shape: tea.CursorBlock}})
	a.Focus()
	return &prompt{area: a, history: h, session: s}
}

func (p *prompt) resize(width int) { p.area.SetWidth(max(width, 8)) }

func (p *prompt) empty() bool { return p.area.Value() == "" }

func (p *prompt) set(text string) {
	p.area.SetValue(fit(text))
	p.candidates, p.drawn = nil, nil
}

// take returns the text and clears the prompt.
func (p *prompt) take() (string, error) {
	text := strings.TrimSpace(p.area.Value())
	p.area.Reset()
	p.candidates, p.drawn = nil, nil
	return text, p.history.add(text)
}

// fit removes control sequences from a text and cuts it to the limits of the input.
func fit(text string) string {
	if len(text) > 4*maxTyped {
		text = text[:4*maxTyped]
	}
	text = display.Clean(text)
	at, lines := 0, 0
	for range maxTyped {
		if at >= len(text) {
			return text
		}
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == '\n' {
			if lines++; lines == maxLines {
				break
			}
		}
		at += n
	}
	return text[:at]
}

// paste inserts a text. cut reports whether it was cut.
func (p *prompt) paste(text string) (cut bool) {
	p.candidates = nil
	whole := display.Clean(strings.ReplaceAll(strings.ReplaceAll(text[:min(len(text), 8*maxTyped)], "\r\n", "\n"), "\r", "\n"))
	text = fit(whole)
	before := len(p.area.Value())
	p.area, _ = p.area.Update(tea.PasteMsg{Content: text})
	return len(text) < len(whole) || len(p.area.Value())-before < len(text)
}

// key handles a key press.
func (p *prompt) key(msg tea.KeyPressMsg) {
	p.candidates = nil
	switch msg.String() {
	case "up", "ctrl+p":
		if info := p.area.LineInfo(); p.area.Line() == 0 && info.RowOffset == 0 {
			if entry, ok := p.history.back(p.area.Value()); ok {
				p.set(entry)
			}
			return
		}
	case "down", "ctrl+n":
		if info := p.area.LineInfo(); p.area.Line() == p.area.LineCount()-1 && info.RowOffset+1 >= info.Height {
			if entry, ok := p.history.forth(); ok {
				p.set(entry)
			}
			return
		}
	}
	p.area, _ = p.area.Update(msg)
}

// tab completes the common prefix of the candidates, then cycles through them.
func (p *prompt) tab() {
	if n := len(p.candidates); n > 0 {
		p.at = (p.at + 1) % n
		p.put(p.candidates[p.at])
		return
	}
	line, before := p.area.Value(), p.before()
	from, candidates := p.session.complete(before)
	if len(candidates) == 0 {
		return
	}
	p.from, p.rest, p.at = from, line[len(before):], -1
	if len(candidates) == 1 {
		p.put(candidates[0])
		return
	}
	if begin := common(candidates); len(begin) > len(before)-from {
		p.put(begin)
	}
	p.candidates = candidates
}

// before returns the text before the cursor.
func (p *prompt) before() string {
	lines := strings.SplitAfter(p.area.Value(), "\n")
	at := 0
	for i, l := range lines {
		if i == p.area.Line() {
			r := []rune(strings.TrimSuffix(l, "\n"))
			return p.area.Value()[:at] + string(r[:min(p.area.Column(), len(r))])
		}
		at += len(l)
	}
	return p.area.Value()
}

// put replaces the completed text, which is on a single line.
func (p *prompt) put(text string) {
	line := p.area.Value()
	begin := line[:min(p.from, len(line))] + text
	p.area.SetValue(begin + p.rest)
	p.area.SetCursorColumn(utf8.RuneCountInString(begin))
}

// offer returns the candidates as one line, beginning with the shown one.
func (p *prompt) offer(width int) string {
	if len(p.candidates) == 0 {
		return ""
	}
	var parts []string
	size := 0
	for i := range p.candidates {
		c := strings.TrimSpace(p.candidates[(max(p.at, 0)+i)%len(p.candidates)])
		if size += lipgloss.Width(c) + 2; size > width && len(parts) > 0 {
			break
		}
		parts = append(parts, c)
	}
	return strings.Join(parts, "  ")
}

// lines renders the prompt. It caches the lines, because long texts are slow to render.
func (p *prompt) lines() []string {
	if p.drawn != nil {
		return p.drawn
	}
	all := strings.Split(p.area.View(), "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	p.drawn = all
	return all
}
