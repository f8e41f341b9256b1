package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// VectorStore is a named set of files, as its creation, its reading and its changes answer it.
type VectorStore struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	CreatedAt   int64           `json:"created_at"` // Unix seconds.
	UpdatedAt   int64           `json:"updated_at"`
	ExpiresAt   int64           `json:"expires_at,omitempty"`
	Status      string          `json:"status"`
	TaskID      string          `json:"task_id,omitempty"` // Of the creation, or of what the change set off.
	FileIDs     []string        `json:"file_ids"`          // At most 10,000; GET …/files lists them all.
	FileCounts  FileCounts      `json:"file_counts"`
	Bytes       int64           `json:"bytes"`
	Metadata    json.RawMessage `json:"metadata"`
}

// FileCounts tell how many files of a vector store are where.
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
	Data    []VectorStore `json:"data"` // Without the ids of their files.
	FirstID string        `json:"first_id,omitempty"`
	LastID  string        `json:"last_id,omitempty"` // Give it as after to get the next page.
	HasMore bool          `json:"has_more"`
}

// VectorStoreRequest creates a vector store.
type VectorStoreRequest struct {
	ID           string          `json:"id,omitempty"` // To be used as the store's id: letters, digits, dashes and underscores.
	Name         string          `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	FileIDs      []string        `json:"file_ids,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`      // An object.
	ExpiresAfter *int64          `json:"expires_after,omitempty"` // Seconds from now; 0: never.
}

// VectorStoreUpdate changes a vector store. Fields that are left out stay.
type VectorStoreUpdate struct {
	Name         *string         `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`      // An object, which takes the place of the one before.
	ExpiresAfter *int64          `json:"expires_after,omitempty"` // Seconds from now; 0: never.
	JoinFileIDs  []string        `json:"join_file_ids,omitempty"`
	LeftFileIDs  []string        `json:"left_file_ids,omitempty"`
}

// SearchRequest searches a vector store.
type SearchRequest struct {
	Query   string          `json:"query"`
	TopK    int             `json:"top_k,omitempty"`
	Filters json.RawMessage `json:"filters,omitempty"` // A comparison of an attribute, or several joined by and or or.
}

// SearchPage is what a search found. Nothing is cut off by its score.
type SearchPage struct {
	Object      string      `json:"object"`
	SearchQuery string      `json:"search_query"`
	Data        []SearchRow `json:"data"` // Best first; first passages of other documents, at score 0, fill it up.
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

// SearchAttributes are what is known of a passage, and what filters may ask for, besides the keys of the file's metadata.
type SearchAttributes struct {
	FileID       string `json:"file_id"`
	Filename     string `json:"filename"`
	Title        string `json:"title"`
	ContentType  string `json:"content_type"`
	SegmentIndex int    `json:"segment_index"`
	ChunkID      string `json:"chunk_id"`
	Heading      string `json:"heading,omitempty"`
	Page         int    `json:"page,omitempty"` // The first that it is on.
}

// SearchText is its text.
type SearchText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// VectorStoreSummary tells what a vector store is about.
type VectorStoreSummary struct {
	VectorStoreID string `json:"vector_store_id"`
	SummaryText   string `json:"summary_text"`
	ModelUsed     string `json:"model_used"`
	CreatedAt     int64  `json:"created_at"`  // Unix seconds.
	TokenCount    int    `json:"token_count"` // Estimated.
	DurationMS    int64  `json:"duration_ms"`
}

func storePath(id string) string { return "/v1/vector_stores/" + url.PathEscape(id) }

// CreateStore makes a vector store, of files that are there already or of none.
func (c *Client) CreateStore(ctx context.Context, r VectorStoreRequest) (s VectorStore, err error) {
	err = c.send(ctx, "create vector store", "/v1/vector_stores", r, &s)
	return s, err
}

// Store gets a vector store with its files and how many are where.
func (c *Client) Store(ctx context.Context, id string) (s VectorStore, err error) {
	err = c.call(ctx, "get vector store", get(storePath(id)), &s)
	return s, err
}

// Stores lists vector stores: at most limit, or the server's default for 0, behind the one of the id after.
func (c *Client) Stores(ctx context.Context, limit int, after string) (l VectorStoreList, err error) {
	err = c.call(ctx, "list vector stores", get("/v1/vector_stores"+page(limit, after)), &l)
	return l, err
}

// StoreFiles lists the files of a vector store, as [Client.Files] does.
func (c *Client) StoreFiles(ctx context.Context, id string, limit int, after string) (l FileList, err error) {
	err = c.call(ctx, "list files of vector store", get(storePath(id)+"/files"+page(limit, after)), &l)
	return l, err
}

// ModifyStore changes a vector store.
func (c *Client) ModifyStore(ctx context.Context, id string, u VectorStoreUpdate) (s VectorStore, err error) {
	err = c.send(ctx, "modify vector store", storePath(id), u, &s)
	return s, err
}

// Join puts files into a vector store. Those that are in it stay.
func (c *Client) Join(ctx context.Context, id string, files ...string) (VectorStore, error) {
	return c.ModifyStore(ctx, id, VectorStoreUpdate{JoinFileIDs: files})
}

// Leave takes files out of a vector store. They stay on the server.
func (c *Client) Leave(ctx context.Context, id string, files ...string) (VectorStore, error) {
	return c.ModifyStore(ctx, id, VectorStoreUpdate{LeftFileIDs: files})
}

// SearchStore finds passages of a vector store, the best first.
func (c *Client) SearchStore(ctx context.Context, id string, q SearchRequest) (p SearchPage, err error) {
	r, err := encoded(storePath(id)+"/search", q)
	if err != nil {
		return p, err
	}
	r.again = func(err error) bool { return repeatable(http.MethodGet, err) } // it changes nothing
	err = c.call(ctx, "search vector store", r, &p)
	return p, err
}

// SummarizeStore tells what a vector store is about, in about so many tokens; 0 is the server's default.
func (c *Client) SummarizeStore(ctx context.Context, id string, maxTokens int) (s VectorStoreSummary, err error) {
	path := storePath(id) + "/summary"
	if maxTokens > 0 {
		path += "?max_tokens=" + strconv.Itoa(maxTokens)
	}
	err = c.call(ctx, "summarize vector store", get(path), &s)
	return s, err
}

// DeleteStore deletes a vector store. Its files stay on the server.
func (c *Client) DeleteStore(ctx context.Context, id string) error {
	return c.delete(ctx, "delete vector store", storePath(id))
}
