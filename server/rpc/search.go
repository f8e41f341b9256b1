package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/search"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of a search.
const (
	defaultTopK = 10
	minRanked   = 20      // passages that are reranked, at least
	maxRanked   = 60      // and at most, unless more are returned
	maxText     = 4 << 20 // bytes of text in one reply
)

// Modes of a search.
const (
	Hybrid   = "hybrid"   // by words and by vectors
	Lexical  = "lexical"  // by words
	Semantic = "semantic" // by vectors
)

type searchArguments struct {
	_          struct{}       `additionalProperties:"false"`
	Query      string         `json:"query" required:"true" minLength:"1" description:"What to search for."`
	Collection string         `json:"collection,omitempty" description:"Names of collections and vector stores, separated by commas. Default: the collection of the server and all uploaded documents. files stands for all uploaded documents, and file:ID for one document."`
	TopK       int            `json:"top_k,omitempty" minimum:"1" maximum:"100" default:"10" description:"Number of results."`
	Mode       string         `json:"mode,omitempty" enum:"hybrid,lexical,semantic" default:"hybrid" description:"Whether words, vectors or both are compared."`
	Level      string         `json:"level,omitempty" enum:"section,passage,sentence" default:"passage" description:"How much text a result has."`
	Rerank     *bool          `json:"rerank,omitempty" default:"true" description:"Whether the best results are ordered again by comparing each with the query."`
	Filter     map[string]any `json:"filter,omitempty" description:"A condition on the attributes of passages: type, key and value, or type and filters."`
}

type searchResult struct {
	Passages []passage `json:"passages"`
	More     bool      `json:"more" description:"There are more results."`
}

// passage is a part of a document's text. Of the document it has what a reader needs to cite it.
type passage struct {
	Text       string           `json:"text"`
	Score      float64          `json:"score" minimum:"0" maximum:"1" description:"Relative to the other results."`
	ID         string           `json:"id"`
	Level      string           `json:"level" enum:"section,passage,sentence"`
	Index      int              `json:"index" description:"Position among the parts of the document of this level, from 0."`
	DocumentID string           `json:"document_id"`
	Name       string           `json:"name"`
	Title      string           `json:"title"`
	Headings   []string         `json:"headings,omitempty" description:"From the outermost to the innermost."`
	Page       int              `json:"page,omitempty" description:"The first one, from 1. Not set for formats without pages."`
	Pages      []int            `json:"pages,omitempty"`
	Start      int              `json:"start" description:"Byte offsets into the text of the document."`
	End        int              `json:"end"`
	MediaType  string           `json:"media_type"`
	Metadata   map[string]any   `json:"metadata,omitempty"`
	DublinCore *wire.DublinCore `json:"dublin_core,omitempty"`
}

// levels are the levels of results by their names in arguments.
var levels = map[string]corpus.Level{"section": corpus.Section, "passage": corpus.Passage, "sentence": corpus.Sentence}

// documents has the functions that read and change documents.
type documents struct{ o *Options }

// functions returns the functions, or none if there are no documents.
func (d *documents) functions() []function {
	if d.o.Files == nil {
		return nil
	}
	find := forrst.Func("rag.search", "1.0.0", d.search)
	find.Description = "Finds the passages that match a query best, without an answer."
	return append([]function{{find, auth.Read}}, d.documentFunctions()...)
}

func (d *documents) search(ctx context.Context, in searchArguments) (searchResult, error) {
	out, err := d.find(ctx, in)
	return out, callError(err)
}

func (d *documents) find(ctx context.Context, in searchArguments) (out searchResult, err error) {
	query := strings.TrimSpace(in.Query)
	switch {
	case query == "":
		return out, fault.Invalid("query", "required")
	case len(query) > d.o.MaxQuery:
		return out, fault.Invalid("query", "want at most %d bytes", d.o.MaxQuery)
	}
	f, err := filterOf(in.Filter)
	if err != nil {
		return out, err
	}
	in.Collection = cmp.Or(in.Collection, d.o.Scope)
	if err := d.checkList(ctx, in.Collection); err != nil {
		return out, err
	}
	topK, mode, level := cmp.Or(in.TopK, defaultTopK), cmp.Or(in.Mode, Hybrid), cmp.Or(levels[in.Level], corpus.Passage)
	x := d.searcher(mode).New(in.Collection, f)
	docs, err := x.Documents(ctx, 1)
	if err != nil {
		return out, err
	}
	if len(docs) == 0 {
		return searchResult{Passages: []passage{}}, d.checkCollections(ctx, in.Collection)
	}
	limit := topK + 1
	reranks := (in.Rerank == nil || *in.Rerank) && d.o.Rerank != nil
	if reranks {
		limit = max(limit, min(max(4*topK, minRanked), maxRanked))
	}
	hits, err := x.Hits(ctx, index.Query{Text: query, Levels: []corpus.Level{level}, Limit: limit}, docs)
	if err != nil {
		return out, err
	}
	if reranks {
		if err := d.rerank(ctx, in.Collection, query, hits); err != nil {
			return out, err
		}
	}
	return passagesOf(ctx, x, hits, topK)
}

// rerank orders hits by their scores and those of the reranker, and sets their scores to the result.
func (d *documents) rerank(ctx context.Context, collection, query string, hits []index.Hit) error {
	scores, err := d.o.Rerank(ctx, collection, query, hits)
	if err != nil {
		return err
	}
	for i := range hits {
		hits[i].Score = scores[i]
	}
	slices.SortStableFunc(hits, func(a, b index.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return nil
}

// passagesOf returns the first hits, up to a limit of their number and their text.
func passagesOf(ctx context.Context, x *search.Search, hits []index.Hit, topK int) (out searchResult, err error) {
	out.Passages = []passage{}
	text := 0
	for _, h := range hits {
		if text += len(h.Chunk.Text); len(out.Passages) == topK || text > maxText && len(out.Passages) > 0 {
			out.More = true
			break
		}
		a, err := x.Info(ctx, h.Chunk.Document)
		if err != nil {
			return out, err
		}
		out.Passages = append(out.Passages, passageOf(h, a))
	}
	return out, nil
}

func passageOf(h index.Hit, a *search.Info) passage {
	c := h.Chunk
	p := passage{Text: c.Text, Score: min(max(h.Score, 0), 1), ID: string(c.ID), Level: levelName(c.Level), Index: c.Ordinal, DocumentID: string(c.Document),
		Name: a.Name(), Title: cmp.Or(a.Title(), c.Title), Headings: c.Headings, Pages: c.Pages, Start: c.Start, End: c.End, MediaType: a.MediaType(),
		Metadata: a.Metadata, DublinCore: wire.DublinCoreOfDocument(a.Document)}
	if len(c.Pages) > 0 {
		p.Page = c.Pages[0]
	}
	return p
}

func levelName(l corpus.Level) string {
	for name, level := range levels {
		if level == l {
			return name
		}
	}
	return ""
}

// filterOf returns the filter in the arguments of a call.
func filterOf(argument map[string]any) (*filter.Filter, error) {
	if argument == nil {
		return nil, nil
	}
	raw, err := json.Marshal(argument)
	if err != nil {
		return nil, err
	}
	return filter.Parse("filter", raw)
}

// searcher returns a searcher in a mode.
func (d *documents) searcher(mode string) *search.Searcher {
	return &search.Searcher{Files: d.o.Files, Index: d.o.Index, Find: func(ctx context.Context, q index.Query) ([]index.Hit, error) { return d.o.Search(ctx, mode, q) }}
}

// checkList is checkCollections for an argument with several names: without it, those that do not exist would be ignored.
func (d *documents) checkList(ctx context.Context, text string) error {
	if text == d.o.Scope || !strings.Contains(text, ",") {
		return nil
	}
	return d.checkCollections(ctx, text)
}

// checkCollections returns an error if a collection or document that an argument names does not exist. The collections that every server has always do.
func (d *documents) checkCollections(ctx context.Context, text string) error {
	s, err := corpus.ParseScope(text)
	if err != nil {
		return err
	}
	if whole, err := d.o.Files.HasStore(ctx, text); err != nil || whole { // the name may have a comma
		return err
	}
	for _, id := range s.Documents {
		docs, err := d.o.Index.Documents(ctx, corpus.Scope{Documents: []corpus.DocumentID{id}}.String(), "", 1)
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			return notFound(fmt.Sprintf("document: %.100s", id), "collection")
		}
	}
	always, _ := corpus.ParseScope(d.o.Scope)
	for _, name := range s.Collections {
		if name == files.Collection || name == corpus.DefaultCollection || slices.Contains(always.Collections, name) {
			continue
		}
		if found, err := d.o.Files.HasStore(ctx, name); err != nil {
			return err
		} else if !found {
			return notFound(fmt.Sprintf("collection: %.100s", name), "collection")
		}
	}
	return nil
}
