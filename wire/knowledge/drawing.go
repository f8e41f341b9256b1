package knowledge

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/sse"
)

// maxLine bounds a snapshot in bytes: the public client reads lines of up to 128 KiB. What grows without end is bounded by
// less: the calls and their queries, the annotations, whose snippets become shorter the more there are, and what a model
// thinks. The answer's text has what they leave.
const (
	maxLine        = 120_000
	maxCalls       = 48
	maxCallBytes   = 24 << 10
	maxAnnotations = MaxTopK
	maxQuotedBytes = 24 << 10
	maxThoughts    = 8 << 10
)

// beside is what stands beside the answer's text at least, in a snapshot or in a delta, in bytes.
const beside = 500

// snippets are the most characters of a snippet, in the order in which they are tried until the annotations fit. At 0 headings
// are left out too, and names are cut. leastWithText is the one that makes room for a text that does not fit.
var snippets = [...]int{400, 200, 100, 50, 0}

const leastWithText = 2

// The most bytes of what else stands in a snapshot.
const (
	maxQuery    = 500
	maxBrief    = 60 // of a query and a name, where there are too many
	maxHeading  = 120
	maxFile     = 255
	maxPages    = 20 // of an annotation
	maxTrace    = 1000
	maxNotice   = 500
	maxWarnings = 8
)

// drawing is a response with the JSON of its parts.
type drawing struct {
	most  int      // bytes of a snapshot; 0: any number
	r     Response // without its output
	base  string   // what ids of items are made of
	head  []byte   // up to the output's first item
	tail  []byte   // behind its last
	stale bool     // head and tail are not what r says
	items []*segment
	size  int // of all parts but the answer's text

	answer   *segment
	thought  *segment
	notes    []Annotation // of the answer, with whole texts; cut to what fits by quote
	sources  []int        // the sources of the notes, by number
	numbers  map[int]int  // of a source, to that of its last annotation
	level    int          // of the snippets
	callSize int
}

// segment is an output item with its JSON.
type segment struct {
	Item
	place int
	data  []byte // all of it but the text
	at    int    // where the text stands, if there is one
	shown bool   // by a snapshot
	text  *growing
}

func newDrawing(most int) *drawing {
	return &drawing{most: most, numbers: map[int]int{}, stale: true, r: Response{Object: "response", Status: StatusInProgress, Output: []Item{},
		Echo: Echo{Tools: []Tool{}, ToolChoice: []byte(`"auto"`), ParallelToolCalls: true}}}
}

// encode makes the JSON of an item anew.
func (d *drawing) encode(s *segment) {
	const text = `"text":"` // nothing else in an item holds it: in a string, its quotes would be escaped
	d.size -= len(s.data)
	if s.data = sse.AppendJSON(s.data[:0], s.Item); s.text != nil {
		s.at = bytes.Index(s.data, []byte(text)) + len(text)
	}
	d.size += len(s.data)
}

// add puts an item behind the others.
func (d *drawing) add(it Item, text *growing) *segment {
	s := &segment{Item: it, text: text, place: len(d.items)}
	d.items = append(d.items, s)
	d.encode(s)
	return s
}

// frameParts makes head and tail anew where they have changed.
func (d *drawing) frameParts() {
	if !d.stale {
		return
	}
	d.stale = false
	const output = `"output":[`
	all := sse.AppendJSON(nil, d.r)
	at := bytes.Index(all, []byte(output)) + len(output) // no text in JSON holds it, since its quotes would be escaped
	d.size -= len(d.head) + len(d.tail)
	d.head, d.tail = all[:at:at], all[at:]
	d.size += len(d.head) + len(d.tail)
}

// cut stands behind a text that is cut off, in the place of its last quote.
const cut = ellipsis + `","truncated":true`

// snapshot appends the response as it is now.
func (d *drawing) snapshot(dst []byte) []byte {
	d.frameParts()
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
		if s == d.answer && d.most > 0 {
			text, whole = s.text.within(d.room())
		}
		dst = append(append(dst, s.data[:s.at]...), text...)
		switch rest := s.data[s.at:]; {
		case whole:
			dst = append(dst, rest...)
		case s == d.answer:
			dst = append(append(dst, cut...), rest[1:]...)
		default:
			dst = append(append(dst, ellipsis...), rest...)
		}
	}
	return append(dst, d.tail...)
}

// room is what the other parts leave for the answer's text.
func (d *drawing) room() int {
	room := d.most - d.size - len(d.items)*len(","+ellipsis) - len(cut)
	if d.thought != nil {
		room -= len(d.thought.text.esc)
	}
	return room
}

// fit makes room for the answer's text, if it needs more than there is.
func (d *drawing) fit() {
	d.frameParts()
	if d.most > 0 && d.level < leastWithText && len(d.answer.text.esc) > d.room() {
		d.level = leastWithText
		d.quote()
	}
}

// message gives the item of the answer.
func (d *drawing) message() *segment {
	if d.answer == nil {
		d.answer = d.add(messageItem("msg_"+d.base, StatusInProgress), &growing{most: max(d.most-beside, 0), gap: true})
	}
	return d.answer
}

func messageItem(id, status string) Item {
	return Item{Type: ItemMessage, ID: id, Role: event.RoleAssistant, Status: status,
		Content: []Part{{Type: "output_text", Annotations: []Annotation{}}}}
}

// thoughts gives the item of what the model thinks.
func (d *drawing) thoughts() *segment {
	if d.thought == nil {
		d.thought = d.add(Item{Type: ItemReasoning, ID: "rs_" + d.base, Status: StatusInProgress, Summary: []Summary{{Type: "summary_text"}}},
			&growing{most: maxThoughts, gap: true})
	}
	return d.thought
}

// notice adds a message that is not the answer's.
func (d *drawing) notice(text string) {
	it := messageItem("msg_"+d.base+"_note", StatusCompleted)
	it.Content[0].Text = plain(short(text, maxNotice))
	d.add(it, nil)
}

// plain gives a text that is shown as an answer and holds no marker.
func plain(s string) string { return unmistakable(nil, s) }

// warn adds a warning to the response. One of the model that writes the answer is a reasoning item too, which all clients show.
func (d *drawing) warn(b event.Warned) {
	d.r.Warnings = append(d.r.Warnings, Warning{string(b.Code), short(b.Message, maxNotice)})
	d.stale = true
	if b.Code == fault.Model && b.Step == "generate" {
		d.add(Item{Type: ItemReasoning, ID: fmt.Sprintf("rs_%s_note_%d", d.base, len(d.r.Warnings)), Status: StatusCompleted,
			Summary: []Summary{{Type: "summary_text", Text: plain(short(sentence(b.Message), maxNotice))}}}, nil)
	}
}

// settle gives an item that is in progress its last status.
func (d *drawing) settle(s *segment, status string) {
	if s != nil && (s.Status == StatusInProgress || s.Status == StatusSearching) {
		s.Status = status
		d.encode(s)
	}
}

// call encodes a call with what of it fits.
func (d *drawing) call(s *segment) {
	d.callSize -= len(s.data)
	d.encode(s)
	if d.callSize += len(s.data); d.callSize > maxCallBytes {
		s.ExecutionTrace, s.DocumentID, s.Results = "", short(s.DocumentID, maxBrief), nil
		for i, q := range s.Queries {
			s.Queries[i] = short(q, maxBrief)
		}
		s.Queries = s.Queries[:min(len(s.Queries), 1)]
		d.callSize -= len(s.data)
		d.encode(s)
		d.callSize += len(s.data)
	}
}

// number returns the annotation of a citation, counted from 1, and adds one for a source that has none for the cited pages. If there
// is no room for it, it returns the last annotation of the source, or 0. Annotations are in the order of their first citations.
func (d *drawing) number(c event.Cited) (n int, added bool) {
	note := Annotation{Type: "file_citation", Filename: string(c.Chunk), ChunkID: string(c.Chunk)}
	if c.Source != nil {
		note = annotation(*c.Source)
	}
	n = d.numbers[c.N]
	switch {
	case n > 0 && c.Source != nil && d.notes[n-1].FileID == "":
		d.notes[n-1] = note
	case n > 0 && (c.Source == nil || d.same(n, note)):
		return n, false
	default:
		for i, source := range d.sources {
			if source == c.N && d.same(i+1, note) {
				d.numbers[c.N] = i + 1
				return i + 1, false
			}
		}
		if len(d.notes) == maxAnnotations {
			return n, false
		}
		d.notes, d.sources = append(d.notes, note), append(d.sources, c.N)
		n, added = len(d.notes), true
		d.numbers[c.N] = n
	}
	d.quote()
	return n, added
}

// same reports whether an annotation, counted from 1, names the same pages as another of its source.
func (d *drawing) same(n int, a Annotation) bool {
	return d.notes[n-1].Page == a.Page && slices.Equal(d.notes[n-1].Pages, a.Pages)
}

// quote encodes the answer with its annotations, and their snippets as long as they fit.
func (d *drawing) quote() {
	for {
		m := d.message()
		m.Content[0].Annotations = make([]Annotation, len(d.notes))
		for i, a := range d.notes {
			m.Content[0].Annotations[i] = d.brief(a)
		}
		if d.encode(m); d.most == 0 || len(m.data) <= maxQuotedBytes || d.level == len(snippets)-1 {
			return
		}
		d.level++
	}
}

// brief gives an annotation as it is shown now.
func (d *drawing) brief(a Annotation) Annotation {
	most := snippets[d.level]
	whole := a.Snippet
	a.Snippet, a.Quote = clip(a.Snippet, max(most, 1)), clip(a.Quote, max(most, 1))
	if most == 0 {
		a.Snippet, a.Quote, a.Path, a.Heading, a.Filename = "", "", "", "", short(a.Filename, maxBrief)
	}
	a.Truncated = a.Truncated || a.Snippet != whole
	return a
}

// complete tells of the sources what their citations may have left out.
func (d *drawing) complete(sources []event.Source) {
	changed := false
	for _, s := range sources {
		if n := d.numbers[s.N]; n > 0 && d.notes[n-1].FileID == "" {
			d.notes[n-1] = annotation(s)
			changed = true
		}
	}
	if changed {
		d.quote()
	}
}
