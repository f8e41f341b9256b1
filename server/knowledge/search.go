package knowledge

import (
	"context"
	"net/http"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files/search"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// listing is the query by which the client of the service lists the files of a vector store. The reply has one row for each
// file.
const listing = "document content text information"

// Limits of a search.
const (
	defaultTopK = 10
	maxTopK     = 100
)

type searchRequest struct {
	idParam
	knowledge.SearchRequest
}

// acceptedSearch has the fields that a search may have: ours, and those of OpenAI's API that are ignored.
type acceptedSearch struct {
	knowledge.SearchRequest
	Filters        acceptedFilter `json:"filters"`
	RankingOptions any            `json:"ranking_options"`
	RewriteQuery   any            `json:"rewrite_query"`
}

type acceptedFilter struct {
	Type    any              `json:"type"`
	Key     any              `json:"key"`
	Value   any              `json:"value"`
	Filters []acceptedFilter `json:"filters"`
}

func (s *routes) search(w http.ResponseWriter, r *http.Request) error {
	body, err := server.ReadJSON(r)
	if err != nil {
		return err
	}
	var in knowledge.SearchRequest
	if err := wire.DecodeLike(body, &in, acceptedSearch{}); err != nil {
		return err
	}
	limit := "top_k"
	if in.TopK == 0 && in.MaxNumResults != 0 {
		limit, in.TopK = "max_num_results", in.MaxNumResults
	}
	if in.TopK == 0 {
		in.TopK = defaultTopK
	}
	query := strings.TrimSpace(in.Query)
	switch {
	case query == "":
		return fault.Invalid("query", "required")
	case len(query) > s.o.MaxQuery:
		return fault.Invalid("query", "want at most %d bytes", s.o.MaxQuery)
	case in.TopK < 1 || in.TopK > maxTopK:
		return fault.Invalid(limit, "want 1 to %d", maxTopK)
	}
	f, err := filter.Parse("filters", in.Filters)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if _, err := s.o.Files.Store(r.Context(), id); err != nil {
		return notFound(err, "vector store")
	}
	rows, more, err := s.rows(r.Context(), id, query, in.TopK, f)
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, knowledge.SearchPage{Object: "vector_store.search_results.page", SearchQuery: in.Query, Data: rows, HasMore: more,
		RequestID: "req_" + strings.ToLower(s.o.NewID())})
	return nil
}

// rows returns the best passages, followed by the first passages of documents without a hit. More reports whether hits were
// left out.
func (s *routes) rows(ctx context.Context, collection, query string, topK int, f *filter.Filter) (rows []knowledge.SearchRow, more bool, err error) {
	x := (&search.Searcher{Files: s.o.Files, Index: s.o.Index, Find: s.o.Search}).New(collection, f)
	docs, err := x.Documents(ctx, 2*topK+1)
	if err != nil {
		return nil, false, err
	}
	limit := topK + 1
	if query == listing && f == nil {
		limit *= 4 // a file with several hits has one row
	}
	hits, err := x.Hits(ctx, index.Query{Text: query, Limit: limit}, docs)
	if err != nil {
		return nil, false, err
	}
	rows = []knowledge.SearchRow{}
	shown := map[corpus.DocumentID]bool{}
	for _, h := range hits {
		if query == listing && shown[h.Chunk.Document] {
			continue
		}
		if len(rows) == topK {
			return rows, true, nil
		}
		shown[h.Chunk.Document] = true
		a, err := x.Info(ctx, h.Chunk.Document)
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, row(h.Chunk, h.Score, a))
	}
	for _, d := range docs {
		if shown[d] {
			continue
		}
		if len(rows) == topK {
			return rows, true, nil
		}
		first, err := s.o.Index.DocumentChunks(ctx, collection, d, corpus.Passage, 0, 1)
		if err != nil {
			return nil, false, err
		}
		for _, c := range first {
			matches, err := x.Matches(ctx, c)
			if err != nil {
				return nil, false, err
			}
			if a, err := x.Info(ctx, d); err != nil {
				return nil, false, err
			} else if matches {
				rows = append(rows, row(c, 0, a))
			}
		}
	}
	return rows, false, nil
}

func row(c corpus.Chunk, score float64, a *search.Info) knowledge.SearchRow {
	out := knowledge.SearchRow{FileID: string(c.Document), Filename: a.Name(), Score: min(max(score, 0), 1),
		Content: []knowledge.SearchText{{Type: "text", Text: c.Text}},
		Attributes: knowledge.SearchAttributes{FileID: string(c.Document), Filename: a.Name(), Title: a.Title(), ContentType: a.MediaType(),
			SegmentIndex: c.Ordinal, ChunkID: string(c.ID), Heading: c.Heading(), Metadata: a.Metadata}}
	if len(c.Pages) > 0 {
		out.Attributes.Page = c.Pages[0]
	}
	return out
}
