package knowledge

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// maxLine limits a snapshot, in bytes: the public client reads lines of up to 128 KiB. The parts that can grow without end
// have limits of their own: calls and their queries, annotations, whose snippets become shorter the more there are, and
// reasoning. The text of the answer gets the remaining bytes.
const (
	maxLine        = 120_000
	maxCalls       = 48
	maxCallBytes   = 24 << 10
	maxCall        = 4 << 10 // of one call with the attributes of its documents
	maxAnnotations = MaxTopK
	maxQuotedBytes = 24 << 10
	maxThoughts    = 8 << 10
)

// minOther is the minimum number of bytes that are reserved for what surrounds the text of the answer in a snapshot or a
// delta.
const minOther = 500

// snippetLimits are the limits of a snippet, in characters. They are tried in this order until the annotations fit. At 0,
// headings are left out too and names are shortened. textLevel is the level that is used if the text of the answer does not
// fit.
var snippetLimits = [...]int{400, 200, 100, 50, 0}

const textLevel = 2

// Limits of other parts of a snapshot, in bytes.
const (
	maxQuery    = 500
	maxBrief    = 60 // of a query or a name if the calls are too large
	maxHeading  = 120
	maxFile     = 255
	maxPages    = 20 // of an annotation
	maxTrace    = 1000
	maxNotice   = 500
	maxWarnings = 8
)

// builder builds a response. It keeps the JSON of each part, and encodes a part again only when the part changes.
type builder struct {
	limit    int      // limit of a snapshot in bytes; 0: none
	r        Response // without its output
	idSuffix string   // suffix of the ids of items
	head     []byte   // JSON of the response up to its first item
	tail     []byte   // JSON of the response after its last item
	dirty    bool     // head and tail have to be encoded again
	items    []*outputItem
	size     int // of all parts except the text of the answer

	answer       *outputItem
	reasoning    *outputItem
	annotations  []Annotation // of the answer, with the longest snippets
	sources      []int        // number of the source of each annotation
	numbers      map[int]int  // number of the last annotation of each source
	snippetLevel int          // index into snippetLimits
	callSize     int
}

// outputItem is an item of the output with its JSON.
type outputItem struct {
	Item
	index int
	data  []byte // JSON of the item without its text
	at    int    // offset of the text in data, if the item has a text
	shown bool   // in a snapshot
	text  *textBuffer
}

func newBuilder(limit int) *builder {
	return &builder{limit: limit, numbers: map[int]int{}, dirty: true, r: Response{Object: "response", Status: StatusInProgress, Output: []Item{},
		Echo: Echo{Tools: []Tool{}, ToolChoice: []byte(`"auto"`), ParallelToolCalls: true}}}
}

// encode encodes the item.
func (d *builder) encode(s *outputItem) {
	const text = `"text":"` // unique: inside a string, the quotes would be escaped
	d.size -= len(s.data)
	if s.data = sse.AppendJSON(s.data[:0], s.Item); s.text != nil {
		s.at = bytes.Index(s.data, []byte(text)) + len(text)
	}
	d.size += len(s.data)
}

// add appends an item to the output.
func (d *builder) add(it Item, text *textBuffer) *outputItem {
	s := &outputItem{Item: it, text: text, index: len(d.items)}
	d.items = append(d.items, s)
	d.encode(s)
	return s
}

// encodeFrame encodes head and tail if they have changed.
func (d *builder) encodeFrame() {
	if !d.dirty {
		return
	}
	d.dirty = false
	const output = `"output":[`
	all := sse.AppendJSON(nil, d.r)
	at := bytes.Index(all, []byte(output)) + len(output) // unique: inside a string, the quotes would be escaped
	d.size -= len(d.head) + len(d.tail)
	d.head, d.tail = all[:at:at], all[at:]
	d.size += len(d.head) + len(d.tail)
}

// truncation follows a text that was cut off. It replaces the closing quote of the text.
const truncation = ellipsis + `","truncated":true`

// snapshot appends the JSON of the response to dst.
func (d *builder) snapshot(dst []byte) []byte {
	d.encodeFrame()
	dst = append(dst, d.head...)
	for i, s := range d.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		s.shown = true
		if s.text == nil {
			dst = append(dst, s.data...)
			continue
		}
		text, whole := s.text.esc, !s.text.full
		if s == d.answer && d.limit > 0 {
			text, whole = s.text.prefix(d.room())
		}
		dst = append(append(dst, s.data[:s.at]...), text...)
		switch rest := s.data[s.at:]; {
		case whole:
			dst = append(dst, rest...)
		case s == d.answer:
			dst = append(append(dst, truncation...), rest[1:]...)
		default:
			dst = append(append(dst, ellipsis...), rest...)
		}
	}
	return append(dst, d.tail...)
}

// room returns the number of bytes that are left for the text of the answer.
func (d *builder) room() int {
	room := d.limit - d.size - len(d.items)*len(","+ellipsis) - len(truncation)
	if d.reasoning != nil {
		room -= len(d.reasoning.text.esc)
	}
	return room
}

// makeRoom shortens the snippets if the text of the answer does not fit.
func (d *builder) makeRoom() {
	d.encodeFrame()
	if d.limit > 0 && d.snippetLevel < textLevel && len(d.answer.text.esc) > d.room() {
		d.snippetLevel = textLevel
		d.encodeAnswer()
	}
}

// answerItem returns the item of the answer, and adds it if there is none.
func (d *builder) answerItem() *outputItem {
	if d.answer == nil {
		d.answer = d.add(messageItem("msg_"+d.idSuffix, StatusInProgress), &textBuffer{limit: max(d.limit-minOther, 0), spaced: true})
	}
	return d.answer
}

func messageItem(id, status string) Item {
	return Item{Type: ItemMessage, ID: id, Role: event.RoleAssistant, Status: status,
		Content: []Part{{Type: "output_text", Annotations: []Annotation{}}}}
}

// reasoningItem returns the item of the model's reasoning, and adds it if there is none.
func (d *builder) reasoningItem() *outputItem {
	if d.reasoning == nil {
		d.reasoning = d.add(Item{Type: ItemReasoning, ID: "rs_" + d.idSuffix, Status: StatusInProgress, Summary: []Summary{{Type: "summary_text"}}},
			&textBuffer{limit: maxThoughts, spaced: true})
	}
	return d.reasoning
}

// addNotice adds a message that is not part of the answer.
func (d *builder) addNotice(text string) {
	it := messageItem("msg_"+d.idSuffix+"_note", StatusCompleted)
	it.Content[0].Text = escapeMarkers(nil, wire.Clip(text, maxNotice))
	d.add(it, nil)
}

// warn adds a warning to the response. A warning about the model that writes the answer is also added as a reasoning item,
// because all clients show these.
func (d *builder) warn(b event.Warned) {
	d.r.Warnings = append(d.r.Warnings, Warning{string(b.Code), wire.Clip(b.Message, maxNotice)})
	d.dirty = true
	if b.Code == fault.Model && b.Step == "generate" {
		d.add(Item{Type: ItemReasoning, ID: fmt.Sprintf("rs_%s_note_%d", d.idSuffix, len(d.r.Warnings)), Status: StatusCompleted,
			Summary: []Summary{{Type: "summary_text", Text: escapeMarkers(nil, wire.Clip(sentence(b.Message), maxNotice))}}}, nil)
	}
}

// finishItem sets the final status of an item that is in progress.
func (d *builder) finishItem(s *outputItem, status string) {
	if s != nil && (s.Status == StatusInProgress || s.Status == StatusSearching) {
		s.Status = status
		d.encode(s)
	}
}

// encodeCall encodes a call, and shortens it if the calls are too large together.
func (d *builder) encodeCall(s *outputItem) {
	d.callSize -= len(s.data)
	d.encode(s)
	if len(s.data) > maxCall { // the ids and the results of later calls matter more than attributes
		for i := range s.Results {
			maps.DeleteFunc(s.Results[i].Attributes, func(name string, _ any) bool { return name != "chunk_id" && name != "level" })
		}
		d.encode(s)
	}
	if d.callSize += len(s.data); d.callSize > maxCallBytes {
		s.ExecutionTrace, s.DocumentID, s.Results = "", wire.Clip(s.DocumentID, maxBrief), nil
		for i, q := range s.Queries {
			s.Queries[i] = wire.Clip(q, maxBrief)
		}
		s.Queries = s.Queries[:min(len(s.Queries), 1)]
		d.callSize -= len(s.data)
		d.encode(s)
		d.callSize += len(s.data)
	}
}

// annotate returns the number of the annotation for a citation, from 1. It adds an annotation if the source has none for
// the cited pages. If there are too many annotations, it returns the last one of the source, or 0. Annotations are in the
// order of their first citations.
func (d *builder) annotate(c event.Cited) (n int, added bool) {
	note := Annotation{Type: "file_citation", Filename: string(c.Chunk), ChunkID: string(c.Chunk)}
	if c.Source != nil {
		note = annotation(*c.Source)
	}
	n = d.numbers[c.N]
	switch {
	case n > 0 && c.Source != nil && d.annotations[n-1].FileID == "":
		d.annotations[n-1] = note
	case n > 0 && (c.Source == nil || d.samePages(n, note)):
		return n, false
	default:
		for i, source := range d.sources {
			if source == c.N && d.samePages(i+1, note) {
				d.numbers[c.N] = i + 1
				return i + 1, false
			}
		}
		if len(d.annotations) == maxAnnotations {
			return n, false
		}
		d.annotations, d.sources = append(d.annotations, note), append(d.sources, c.N)
		n, added = len(d.annotations), true
		d.numbers[c.N] = n
	}
	d.encodeAnswer()
	return n, added
}

// samePages reports whether annotation n has the same pages as a.
func (d *builder) samePages(n int, a Annotation) bool {
	return d.annotations[n-1].Page == a.Page && slices.Equal(d.annotations[n-1].Pages, a.Pages)
}

// encodeAnswer encodes the answer with its annotations. It shortens the snippets until they fit.
func (d *builder) encodeAnswer() {
	for {
		m := d.answerItem()
		m.Content[0].Annotations = make([]Annotation, len(d.annotations))
		for i, a := range d.annotations {
			m.Content[0].Annotations[i] = d.shortened(a)
		}
		if d.encode(m); d.limit == 0 || len(m.data) <= maxQuotedBytes || d.snippetLevel == len(snippetLimits)-1 {
			return
		}
		d.snippetLevel++
	}
}

// shortened returns an annotation with the current length of snippets.
func (d *builder) shortened(a Annotation) Annotation {
	limit := snippetLimits[d.snippetLevel]
	whole := a.Snippet
	a.Snippet, a.Quote = clip(a.Snippet, max(limit, 1)), clip(a.Quote, max(limit, 1))
	if d.snippetLevel > 0 {
		a.DublinCore, a.Attributes = nil, nil // the snippets matter more
	}
	if limit == 0 {
		a.Snippet, a.Quote, a.Path, a.URL, a.Heading, a.Filename = "", "", "", "", "", wire.Clip(a.Filename, maxBrief)
	}
	a.Truncated = a.Truncated || a.Snippet != whole
	return a
}

// completeAnnotations fills in annotations that were made from a citation without a source.
func (d *builder) completeAnnotations(sources []event.Source) {
	changed := false
	for _, s := range sources {
		if n := d.numbers[s.N]; n > 0 && d.annotations[n-1].FileID == "" {
			d.annotations[n-1] = annotation(s)
			changed = true
		}
	}
	if changed {
		d.encodeAnswer()
	}
}
