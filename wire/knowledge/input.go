package knowledge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Roles of messages that are not part of the history.
const (
	roleSystem    = "system"
	roleDeveloper = "developer"
)

// inputMessage is a message of the input.
type inputMessage struct {
	role  string
	texts []string
	files []string // ids
	path  string
	bare  bool // a part without a message; consecutive ones are joined
}

// text returns the text of the message without the references to files that clients leave in it.
func (m inputMessage) text() string {
	text := strings.Join(m.texts, "\n")
	for _, id := range m.files {
		text = withoutReference(text, id)
	}
	return strings.TrimSpace(text)
}

// generatedID matches the ids that servers generate. The public client only recognizes these after an @. Other ids may be
// words of the question.
var generatedID = regexp.MustCompile(`^(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:file_|doc_|document_)[a-zA-Z0-9]+)$`)

// withoutReference removes @id, and a generated id on its own: the public client sends a file that is mentioned as @id as a
// separate part, and only removes the @ from the text.
func withoutReference(text, id string) string {
	generated := generatedID.MatchString(id)
	var out []byte
	for from := 0; ; {
		i := strings.Index(text[from:], id)
		if i < 0 {
			return string(append(out, text[from:]...))
		}
		end := from + i + len(id)
		before, at := strings.CutSuffix(text[from:from+i], "@")
		out = append(out, before...)
		last, _ := utf8.DecodeLastRune(out)
		next, _ := utf8.DecodeRuneInString(text[end:])
		if !at && !generated || inID(last) || inID(next) {
			out, from = append(out, text[from+len(before):end]...), end
			continue
		}
		out = bytes.TrimRight(out, " \t")
		rest := strings.TrimLeft(text[end:], " \t")
		if len(out) > 0 && len(rest) > 0 && len(rest) < len(text)-end { // no punctuation or line break follows
			out = append(out, ' ')
		}
		from = len(text) - len(rest)
	}
}

// inID reports whether r, next to an id, makes the id part of a longer word.
func inID(r rune) bool {
	return r == '_' || r == '-' || r == '@' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// input reads the messages. The last message of the user is the question; earlier messages are the history.
func (d *decoder) input(root value) error {
	in := root.get("input")
	if in.none() {
		in = root.get("messages")
	}
	if in.none() {
		return fault.Invalid("input", "required")
	}
	var all []inputMessage
	if _, plain := in.v.(string); plain {
		text, err := in.text()
		if err != nil {
			return err
		}
		all = []inputMessage{{role: event.RoleUser, texts: []string{text}, path: in.path}}
	} else {
		items, err := in.list(MaxItems)
		if err != nil {
			return err
		}
		for _, item := range items {
			m, err := message(item)
			if err != nil {
				return err
			}
			if n := len(all); m.bare && n > 0 && all[n-1].bare {
				all[n-1].texts, all[n-1].files = append(all[n-1].texts, m.texts...), append(all[n-1].files, m.files...)
			} else if m.role != "" {
				all = append(all, m)
			}
		}
	}
	last := len(all) - 1
	for last >= 0 && all[last].role != event.RoleUser {
		last--
	}
	if last < 0 {
		return in.invalid("no message of the role user")
	}
	d.before(all)
	d.history(all[:last])
	return d.question(all[last])
}

// before adds the instructions in the messages.
func (d *decoder) before(all []inputMessage) {
	for _, m := range all {
		if m.role == roleSystem || m.role == roleDeveloper {
			d.instructions = append(d.instructions, m.text())
		}
	}
}

// question sets the question from the last message of the user.
func (d *decoder) question(m inputMessage) error {
	text := m.text()
	for _, id := range m.files {
		if id := corpus.DocumentID(id); !slices.Contains(d.files, id) {
			d.files = append(d.files, id)
		}
	}
	if len(m.files) > 0 && (text == "" || slices.Contains(m.files, text)) { // a file without a question
		text = whatIsIt
	}
	d.q.Query, d.asked = text, m.path
	switch {
	case text == "":
		return fault.Invalid(m.path, "required, and not only white space")
	case len(d.files) > MaxStores:
		return fault.Invalid(m.path, "%d files; the limit is %d", len(d.files), MaxStores)
	}
	return nil
}

// history keeps the newest messages that are within the limits.
func (d *decoder) history(all []inputMessage) {
	size, from := 0, len(all)
	for from > 0 && len(d.q.History) < event.MaxMessages {
		m := all[from-1]
		if m.role == event.RoleUser || m.role == event.RoleAssistant {
			text := strings.TrimSpace(withoutMarkers(m.text()))
			if size += len(text); size > event.MaxHistory {
				break
			}
			if text != "" {
				d.q.History = append(d.q.History, event.Message{Role: m.role, Text: text})
			}
		}
		from--
	}
	slices.Reverse(d.q.History)
}

// withoutMarkers removes citation markers ⟦⟦n⟧⟧ and the space before each.
func withoutMarkers(s string) string {
	if !strings.Contains(s, openMarker) {
		return s
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, openMarker)
		if !found {
			b.WriteString(s)
			return b.String()
		}
		digits := strings.TrimLeft(rest, "0123456789")
		if after, closed := strings.CutPrefix(digits, closeMarker); closed && len(digits) < len(rest) {
			b.WriteString(strings.TrimSuffix(before, " "))
			s = after
			continue
		}
		b.WriteString(before + openMarker)
		s = rest
	}
}

// skipped lists the types of items that are not messages. Clients send back the output of earlier responses.
var skipped = []string{ItemReasoning, ItemFileSearch, ItemWebSearch, ItemListDocuments, ItemPageReader, "file_reader_call", "function_call",
	"function_call_output", "computer_call", "computer_call_output", "item_reference", "code_interpreter_call", "mcp_call", "mcp_list_tools"}

// message reads an item of the input. The role is empty if the item is not a message.
func message(item value) (inputMessage, error) {
	if item.none() {
		return inputMessage{}, item.invalid("want an object, got null")
	}
	if err := item.object(); err != nil {
		return inputMessage{}, err
	}
	kind, err := item.get("type").one(slices.Concat([]string{ItemMessage, "input_text", "input_file", "input_image"}, skipped)...)
	switch {
	case err != nil:
		return inputMessage{}, err
	case slices.Contains(skipped, kind):
		return inputMessage{}, nil
	case strings.HasPrefix(kind, "input_"): // a part on its own is a message of the user
		m := inputMessage{role: event.RoleUser, path: item.path, bare: true}
		return m, m.part(item)
	}
	role := item.get("role")
	m := inputMessage{path: item.path + ".content"}
	if m.role, err = role.one(event.RoleUser, event.RoleAssistant, roleSystem, roleDeveloper); err != nil {
		return m, err
	}
	if m.role == "" {
		return m, role.invalid("required")
	}
	content := item.get("content")
	if _, plain := content.v.(string); plain {
		text, err := content.text()
		m.texts = []string{text}
		return m, err
	}
	parts, err := content.list(MaxParts)
	if err != nil {
		return m, err
	}
	for _, p := range parts {
		if err := m.part(p); err != nil {
			return m, err
		}
	}
	return m, nil
}

// part reads a part of a message. Images are skipped.
func (m *inputMessage) part(v value) error {
	if v.none() {
		return v.invalid("want an object, got null")
	}
	if err := v.object(); err != nil {
		return err
	}
	typ := v.get("type")
	kind, err := typ.one("input_text", "output_text", "text", "refusal", "input_file", "input_image", "image_url")
	if err != nil {
		return err
	}
	switch kind {
	case "":
		return typ.invalid("required")
	case "input_text", "output_text", "text":
		s, err := v.get("text").text()
		if err != nil {
			return err
		}
		if s != "" {
			m.texts = append(m.texts, s)
		}
	case "input_file":
		return m.file(v.get("file_id"))
	}
	return nil
}

func (m *inputMessage) file(v value) error {
	id, err := v.name(MaxNameLength)
	if err != nil {
		return err
	}
	if strings.Contains(id, ",") {
		return v.invalid("an id must not contain a comma")
	}
	if id != "" {
		m.files = append(m.files, id)
	}
	return nil
}

// tools reads the tools. Unknown tools are left out of the response, because the public client would drop a response that
// contains one.
func (d *decoder) tools(root value) error {
	list, err := root.get("tools").list(MaxTools)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.none() {
			return v.invalid("want an object, got null")
		}
		if err := v.object(); err != nil {
			return err
		}
		if err := d.tool(v); err != nil {
			return err
		}
	}
	if len(d.stores) > MaxStores {
		return fault.Invalid("tools", "%d vector stores; the limit is %d", len(d.stores), MaxStores)
	}
	if d.q.Tools == nil && !root.get("tools").none() {
		d.q.Tools = []string{} // the request names its tools, and has none of those for documents
	}
	return d.choice(root.get("tool_choice"))
}

func (d *decoder) tool(v value) error {
	kind, err := v.get("type").name(MaxNameLength)
	if err != nil {
		return err
	}
	if kind == "" {
		return v.get("type").invalid("required")
	}
	t := Tool{Type: kind}
	switch {
	case kind == "file_search", kind == "list_documents":
		if err := v.only("type", "vector_store_ids", "max_num_results", "filters", "ranking_options"); err != nil {
			return err
		}
		if err := d.storesOf(v.get("vector_store_ids"), &t); err != nil {
			return err
		}
		if err := d.filter(v.get("filters")); err != nil {
			return err
		}
		if kind == "list_documents" {
			d.use(event.ToolListDocuments)
			break
		}
		n, err := v.get("max_num_results").integer(-1<<31, 1<<31)
		if err != nil {
			return err
		}
		if !v.get("max_num_results").none() {
			t.MaxNumResults = min(max(n, 1), MaxTopK)
			d.q.TopK = max(d.q.TopK, t.MaxNumResults)
		}
	case kind == "page_reader", kind == "file_reader":
		d.use(event.ToolReadPages)
	case kind == toolWebSearch, strings.HasPrefix(kind, toolWebSearch+"_preview"):
		t.Type = toolWebSearch
	default:
		return nil
	}
	d.echo.Tools = append(d.echo.Tools, t)
	return nil
}

// filter reads the filter of a tool. All searches of a question have one filter, so tools with different filters are refused.
func (d *decoder) filter(v value) error {
	if v.none() {
		return nil
	}
	raw, err := json.Marshal(v.v)
	if err != nil {
		return v.invalid("not valid JSON")
	}
	f, err := filter.Parse(v.path, raw)
	switch {
	case err != nil || f == nil:
		return err
	case d.q.Filter != nil && !reflect.DeepEqual(d.q.Filter, f):
		return v.invalid("want the same filter as in the other tools")
	}
	d.q.Filter = f
	return f.ValidateDocuments(v.path)
}

// toolWebSearch is a tool that is accepted, but has no effect.
const toolWebSearch = "web_search"

func (d *decoder) use(tool string) {
	if !slices.Contains(d.q.Tools, tool) {
		d.q.Tools = append(d.q.Tools, tool)
	}
}

func (d *decoder) storesOf(v value, t *Tool) error {
	ids, err := v.list(MaxStores)
	if err != nil {
		return err
	}
	t.VectorStoreIDs = []string{}
	for _, v := range ids {
		id, err := v.name(MaxNameLength)
		switch {
		case err != nil:
			return err
		case strings.TrimSpace(id) == "" || strings.Contains(id, ","):
			return v.invalid("want an id without a comma")
		}
		t.VectorStoreIDs = append(t.VectorStoreIDs, id)
		if !slices.Contains(d.stores, id) {
			d.stores = append(d.stores, id)
		}
	}
	return nil
}

// choice reads tool_choice. It is repeated in the response if the public client can read it.
func (d *decoder) choice(v value) error {
	if _, word := v.v.(string); word || v.none() {
		s, err := v.one("none", "auto", "required")
		if s != "" {
			d.echo.ToolChoice = json.RawMessage(`"` + s + `"`)
		}
		return err
	}
	if err := v.object(); err != nil {
		return err
	}
	kind, err := v.get("type").name(MaxNameLength)
	if err != nil {
		return err
	}
	if kind == "file_search" {
		d.echo.ToolChoice = json.RawMessage(`{"type":"file_search"}`)
	}
	return nil
}
