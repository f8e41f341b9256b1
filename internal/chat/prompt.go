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

// Bounds of what is typed: characters, lines, and lines that are in view.
const (
	maxTyped = 30_000
	maxLines = 400
	maxRows  = 8
)

// prompt is where questions are typed: a text of several lines with a history and completion.
type prompt struct {
	area    textarea.Model
	history *history
	session *session

	drawn []string // the lines, until something changes; nil: they are to be drawn

	from       int      // where what is completed begins
	rest       string   // what stands behind the cursor
	candidates []string // that the last Tab found
	at         int      // the one that is shown; -1: how all of them begin
}

func newPrompt(s *session, h *history) *prompt {
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
	a.KeyMap.Paste.SetEnabled(false) // terminals paste by themselves
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

// take gives what was typed and begins anew.
func (p *prompt) take() (string, error) {
	text := strings.TrimSpace(p.area.Value())
	p.area.Reset()
	p.candidates, p.drawn = nil, nil
	return text, p.history.add(text)
}

// fit cleans a text that comes from elsewhere than the keyboard, and cuts it to what is taken.
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

// paste takes a text in; cut tells that not all of it.
func (p *prompt) paste(text string) (cut bool) {
	p.candidates = nil
	whole := display.Clean(strings.ReplaceAll(strings.ReplaceAll(text[:min(len(text), 8*maxTyped)], "\r\n", "\n"), "\r", "\n"))
	text = fit(whole)
	before := len(p.area.Value())
	p.area, _ = p.area.Update(tea.PasteMsg{Content: text})
	return len(text) < len(whole) || len(p.area.Value())-before < len(text)
}

// key takes a key that means nothing else.
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

// tab completes as far as it is clear, and then goes through what there is.
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

// before gives what stands before the cursor.
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

// put sets what is completed, which is on the only line.
func (p *prompt) put(text string) {
	line := p.area.Value()
	begin := line[:min(p.from, len(line))] + text
	p.area.SetValue(begin + p.rest)
	p.area.SetCursorColumn(utf8.RuneCountInString(begin))
}

// offer gives the candidates on a line, the one that is shown first.
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

// lines draws the prompt, which takes a while where the text is long.
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
