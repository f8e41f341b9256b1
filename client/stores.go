package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

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
