package answer

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

// maxName bounds the name of a document's file, in bytes.
const maxName = 255

// contents gives the part of the index that reads documents as such; nil if it has none.
func (p *Pipeline) contents() index.Contents {
	c, _ := p.Index.(index.Contents)
	return c
}

// describe learns the names of the documents' files. What cannot be learned stays without a name: an answer needs none.
func (j *job) describe(ctx context.Context, chunks []corpus.Chunk) {
	c := j.contents()
	if c == nil {
		return
	}
	var ids []corpus.DocumentID
	if j.names == nil {
		j.names = map[corpus.DocumentID]string{}
	}
	for _, chunk := range chunks {
		if _, known := j.names[chunk.Document]; !known {
			j.names[chunk.Document] = ""
			ids = append(ids, chunk.Document)
		}
	}
	if len(ids) == 0 {
		return
	}
	docs, err := c.Describe(ctx, j.q.Collection, ids)
	if err != nil {
		return
	}
	for _, d := range docs {
		j.names[d.ID] = nameOf(d.URI)
	}
}

// nameOf gives the name of a file by its path or address, without folders: of an address without a path, its host.
func nameOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme != "" && u.Host != "" {
		uri = u.Path
		if path.Base(uri) == "/" || uri == "" {
			uri = u.Hostname()
		}
	}
	name := path.Base(strings.TrimSuffix(uri, "/"))
	if name == "." || name == "/" {
		return ""
	}
	return strings.TrimSpace(text.Head(strings.Join(strings.Fields(text.Clean(text.Head(name, 4*maxName))), " "), maxName))
}

// sourceOf tells of a source all but its weight and whether it is cited.
func (j *job) sourceOf(n int, c candidate) event.Source {
	return event.Source{N: n, Chunk: c.Chunk.ID, Document: c.Chunk.Document, Title: c.Chunk.Title, Name: j.names[c.Chunk.Document],
		Ordinal: c.Chunk.Ordinal, Heading: c.Chunk.Heading(), Level: c.Chunk.Level, Pages: c.Chunk.Pages, Start: c.Chunk.Start, End: c.Chunk.End,
		Text: c.Chunk.Text, Score: c.grade, Path: c.path, Quote: j.quote(n)}
}

func (j *job) quote(n int) int {
	if n > len(j.quotes) {
		return 0
	}
	return j.quotes[n-1]
}

// What is read to find a quotation, in bytes: of what was said, and of the passage.
const (
	maxSaid   = 2000
	maxQuoted = 16 << 10
)

// quoted gives where in a passage the sentence begins that holds most of the words of what was said; 0 where none holds as many as
// half of them.
func quoted(passage, said string) int {
	words := text.Set(text.Head(said, maxSaid))
	at, most := 0, (len(words)+1)/2-1
	for _, s := range text.Sentences(text.Head(passage, maxQuoted)) {
		n := 0
		for w := range text.Set(passage[s.Start:s.End]) {
			if _, is := words[w]; is {
				n++
			}
		}
		if n > max(most, 0) {
			at, most = s.Start, n
		}
	}
	return at
}

// citation tells of a citation of what stands at a place of the context: of a source's first, with the source. What was said
// since the last citation rests on it.
func (j *job) citation(place int, said string) event.Cited {
	known := len(j.order)
	c := event.Cited{N: j.number(place), Chunk: j.context[place].Chunk.ID}
	if len(j.order) > known {
		j.quotes = append(j.quotes, quoted(j.context[place].Chunk.Text, said))
		s := j.sourceOf(c.N, j.context[place])
		s.Cited = true
		c.Source = &s
	}
	return c
}
