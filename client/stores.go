package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// VectorStore is a named set of files.
type VectorStore struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	CreatedAt   int64           `json:"created_at"` // Unix seconds
	UpdatedAt   int64           `json:"updated_at"`
	ExpiresAt   int64           `json:"expires_at,omitempty"`
	Status      string          `json:"status"`
	TaskID      string          `json:"task_id,omitempty"` // of the creation or the change
	FileIDs     []string        `json:"file_ids"`          // at most 10,000; see [Client.StoreFiles]
	FileCounts  FileCounts      `json:"file_counts"`
	Bytes       int64           `json:"bytes"`
	Metadata    json.RawMessage `json:"metadata"`
}

// FileCounts counts the files of a vector store by status.
type FileCounts struct {
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Cancelled  int `json:"cancelled"`
	Total      int `json:"total"`
}

// VectorStoreList is a page of vector stores.
type VectorStoreList struct {
	Object  string        `json:"object"`
	Data    []VectorStore `json:"data"` // without FileIDs
	FirstID string        `json:"first_id,omitempty"`
	LastID  string        `json:"last_id,omitempty"` // pass it as after to get the next page
	HasMore bool          `json:"has_more"`
}

// VectorStoreRequest creates a vector store.
type VectorStoreRequest struct {
	ID           string          `json:"id,omitempty"` // letters, digits, dashes and underscores; empty: chosen by the server
	Name         string          `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	FileIDs      []string        `json:"file_ids,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`      // an object
	ExpiresAfter *int64          `json:"expires_after,omitempty"` // seconds from now; 0: never
}

// VectorStoreUpdate changes a vector store. Fields that are left out do not change.
type VectorStoreUpdate struct {
	Name         *string         `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`      // an object; it replaces the previous one
	ExpiresAfter *int64          `json:"expires_after,omitempty"` // seconds from now; 0: never
	JoinFileIDs  []string        `json:"join_file_ids,omitempty"`
	LeftFileIDs  []string        `json:"left_file_ids,omitempty"`
}

// SearchRequest searches a vector store.
type SearchRequest struct {
	Query   string          `json:"query"`
	TopK    int             `json:"top_k,omitempty"`
	Filters json.RawMessage `json:"filters,omitempty"` // a comparison with an attribute, or filters joined by "and" or "or"
}

// SearchPage is the result of a search. There is no minimum score.
type SearchPage struct {
	Object      string      `json:"object"`
	SearchQuery string      `json:"search_query"`
	Data        []SearchRow `json:"data"` // best first, followed by the first passages of other documents with score 0
	HasMore     bool        `json:"has_more"`
	NextPage    *string     `json:"next_page"`
	RequestID   string      `json:"request_id"`
}

// SearchRow is a passage that was found.
type SearchRow struct {
	FileID     string           `json:"file_id"`
	Filename   string           `json:"filename"`
	Score      float64          `json:"score"`
	Attributes SearchAttributes `json:"attributes"`
	Content    []SearchText     `json:"content"`
}

// SearchAttributes are the attributes of a passage, and beside them the keys of the file's metadata. Filters may refer to all of them.
type SearchAttributes struct {
	FileID       string `json:"file_id"`
	Filename     string `json:"filename"`
	Title        string `json:"title"`
	ContentType  string `json:"content_type"`
	SegmentIndex int    `json:"segment_index"`
	ChunkID      string `json:"chunk_id"`
	Heading      string `json:"heading,omitempty"`
	Page         int    `json:"page,omitempty"` // the first page

	Metadata map[string]any `json:"-"` // of the file, or the attributes of the source of the document
}

// UnmarshalJSON reads the metadata from beside the fields.
func (a *SearchAttributes) UnmarshalJSON(data []byte) error {
	type fields SearchAttributes
	if err := json.Unmarshal(data, (*fields)(a)); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &a.Metadata); err != nil {
		return err
	}
	for _, name := range []string{"file_id", "filename", "title", "content_type", "segment_index", "chunk_id", "heading", "page"} {
		delete(a.Metadata, name)
	}
	return nil
}

// SearchText is the text of a passage.
type SearchText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// VectorStoreSummary is a summary of the content of a vector store.
type VectorStoreSummary struct {
	VectorStoreID string `json:"vector_store_id"`
	SummaryText   string `json:"summary_text"`
	ModelUsed     string `json:"model_used"`
	CreatedAt     int64  `json:"created_at"`  // Unix seconds
	TokenCount    int    `json:"token_count"` // estimated
	DurationMS    int64  `json:"duration_ms"`
}

func storePath(id string) string { return "/v1/vector_stores/" + url.PathEscape(id) }

// CreateStore creates a vector store of existing files. It may be empty.
func (c *Client) CreateStore(ctx context.Context, r VectorStoreRequest) (s VectorStore, err error) {
	err = c.send(ctx, "create vector store", "/v1/vector_stores", r, &s)
	return s, err
}

// Store returns a vector store with its files.
func (c *Client) Store(ctx context.Context, id string) (s VectorStore, err error) {
	err = c.call(ctx, "get vector store", get(storePath(id)), &s)
	return s, err
}

// Stores lists at most limit vector stores after the one with the id after. The limit 0 selects the server's default.
func (c *Client) Stores(ctx context.Context, limit int, after string) (l VectorStoreList, err error) {
	err = c.call(ctx, "list vector stores", get("/v1/vector_stores"+page(limit, after)), &l)
	return l, err
}

// StoreFiles lists the files of a vector store; see [Client.Files].
func (c *Client) StoreFiles(ctx context.Context, id string, limit int, after string) (l FileList, err error) {
	err = c.call(ctx, "list files of vector store", get(storePath(id)+"/files"+page(limit, after)), &l)
	return l, err
}

// ModifyStore changes a vector store.
func (c *Client) ModifyStore(ctx context.Context, id string, u VectorStoreUpdate) (s VectorStore, err error) {
	err = c.send(ctx, "modify vector store", storePath(id), u, &s)
	return s, err
}

// AddFiles adds files to a vector store.
func (c *Client) AddFiles(ctx context.Context, id string, files ...string) (VectorStore, error) {
	return c.ModifyStore(ctx, id, VectorStoreUpdate{JoinFileIDs: files})
}

// RemoveFiles removes files from a vector store. It does not delete them.
func (c *Client) RemoveFiles(ctx context.Context, id string, files ...string) (VectorStore, error) {
	return c.ModifyStore(ctx, id, VectorStoreUpdate{LeftFileIDs: files})
}

// SearchStore finds passages in a vector store, best first.
func (c *Client) SearchStore(ctx context.Context, id string, q SearchRequest) (p SearchPage, err error) {
	r, err := encoded(storePath(id)+"/search", q)
	if err != nil {
		return p, err
	}
	r.retryable = func(err error) bool { return repeatable(http.MethodGet, err) } // a search changes nothing
	err = c.call(ctx, "search vector store", r, &p)
	return p, err
}

// SummarizeStore summarizes the content of a vector store in about maxTokens tokens; 0 selects the server's default.
func (c *Client) SummarizeStore(ctx context.Context, id string, maxTokens int) (s VectorStoreSummary, err error) {
	path := storePath(id) + "/summary"
	if maxTokens > 0 {
		path += "?max_tokens=" + strconv.Itoa(maxTokens)
	}
	err = c.call(ctx, "summarize vector store", get(path), &s)
	return s, err
}

// DeleteStore deletes a vector store. Its files are not deleted.
func (c *Client) DeleteStore(ctx context.Context, id string) error {
	return c.delete(ctx, "delete vector store", storePath(id))
}
