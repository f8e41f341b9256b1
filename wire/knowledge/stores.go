package knowledge

import (
	"encoding/json"
	"maps"
)

// VectorStore is a named set of files.
type VectorStore struct {
	ID          string          `json:"id"`
	Object      string          `json:"object" enum:"vector_store"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	CreatedAt   int64           `json:"created_at" description:"Unix seconds."`
	UpdatedAt   int64           `json:"updated_at"`
	ExpiresAt   int64           `json:"expires_at,omitempty"`
	Status      string          `json:"status" enum:"in_progress,completed"`
	TaskID      string          `json:"task_id,omitempty" description:"Task of the creation or the change."`
	FileIDs     []string        `json:"file_ids" description:"At most 10,000; GET …/files lists them all."`
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
	Object  string        `json:"object" enum:"list"`
	Data    []VectorStore `json:"data" description:"Without the ids of their files."`
	FirstID string        `json:"first_id,omitempty"`
	LastID  string        `json:"last_id,omitempty" description:"Value of after for the next page."`
	HasMore bool          `json:"has_more"`
}

// VectorStoreRequest creates a vector store.
type VectorStoreRequest struct {
	ID           string          `json:"id,omitempty" description:"Id of the vector store: letters, digits, dashes and underscores."`
	Name         string          `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	FileIDs      []string        `json:"file_ids,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty" description:"An object."`
	ExpiresAfter *int64          `json:"expires_after,omitempty" description:"Seconds from now; 0: never."`
}

// VectorStoreUpdate changes a vector store. Fields that are left out do not change.
type VectorStoreUpdate struct {
	Name         *string         `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty" description:"An object, which takes the place of the one before."`
	ExpiresAfter *int64          `json:"expires_after,omitempty" description:"Seconds from now; 0: never."`
	JoinFileIDs  []string        `json:"join_file_ids,omitempty"`
	LeftFileIDs  []string        `json:"left_file_ids,omitempty"`
}

// SearchRequest searches a vector store.
type SearchRequest struct {
	Query   string          `json:"query"`
	TopK    int             `json:"top_k,omitempty" minimum:"1" maximum:"100" default:"10"`
	Filters json.RawMessage `json:"filters,omitempty" description:"A comparison with an attribute, or filters joined by and or or."`
	// MaxNumResults is an alias of TopK.
	MaxNumResults int `json:"max_num_results,omitempty"`
}

// SearchPage is the result of a search. There is no minimum score.
type SearchPage struct {
	Object      string      `json:"object" enum:"vector_store.search_results.page"`
	SearchQuery string      `json:"search_query"`
	Data        []SearchRow `json:"data" description:"Best first, followed by the first passages of other documents with score 0."`
	HasMore     bool        `json:"has_more"`
	NextPage    *string     `json:"next_page"`
	RequestID   string      `json:"request_id"`
}

// SearchRow is a passage that was found.
type SearchRow struct {
	FileID     string           `json:"file_id"`
	Filename   string           `json:"filename"`
	Score      float64          `json:"score" minimum:"0" maximum:"1"`
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
	Page         int    `json:"page,omitempty" description:"The first page of the passage."`
	// Metadata is that of the file, or the attributes of the source of the document. Keys that are named like a field above are left out.
	Metadata map[string]any `json:"-"`
}

// MarshalJSON writes the metadata beside the fields.
func (a SearchAttributes) MarshalJSON() ([]byte, error) {
	type fields SearchAttributes
	raw, err := json.Marshal(fields(a))
	if err != nil || len(a.Metadata) == 0 {
		return raw, err
	}
	all := maps.Clone(a.Metadata)
	delete(all, "heading")
	delete(all, "page")
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
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
	Type string `json:"type" enum:"text"`
	Text string `json:"text"`
}

// VectorStoreSummary is a summary of the content of a vector store.
type VectorStoreSummary struct {
	VectorStoreID string `json:"vector_store_id"`
	SummaryText   string `json:"summary_text"`
	ModelUsed     string `json:"model_used"`
	CreatedAt     int64  `json:"created_at" description:"Unix seconds."`
	TokenCount    int    `json:"token_count" description:"Estimated."`
	DurationMS    int64  `json:"duration_ms"`
}

// ResponseSummary is a stored response in a list.
type ResponseSummary struct {
	ID         string `json:"id"`
	Object     string `json:"object" enum:"response"`
	CreatedAt  int64  `json:"created_at" description:"Unix seconds."`
	Status     string `json:"status" enum:"in_progress,completed,failed,incomplete"`
	Model      string `json:"model" description:"The requested model."`
	Query      string `json:"query"`
	Collection string `json:"collection"`
	Protocol   string `json:"protocol" description:"Protocol of the request."`
	Previous   string `json:"previous_response_id,omitempty"`
}

// ResponseList is a page of stored responses, newest first.
type ResponseList struct {
	Object  string            `json:"object" enum:"list"`
	Data    []ResponseSummary `json:"data"`
	FirstID string            `json:"first_id,omitempty"`
	LastID  string            `json:"last_id,omitempty" description:"Value of after for the next page."`
	HasMore bool              `json:"has_more"`
}
