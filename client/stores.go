package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluice-rag/sluice/wire/knowledge"
)

func storePath(id string) string { return "/v1/vector_stores/" + url.PathEscape(id) }

// CreateStore makes a vector store, of files that are there already or of none.
func (c *Client) CreateStore(ctx context.Context, r knowledge.VectorStoreRequest) (s knowledge.VectorStore, err error) {
	err = c.send(ctx, "create vector store", "/v1/vector_stores", r, &s)
	return s, err
}

// Store gets a vector store with its files and how many are where.
func (c *Client) Store(ctx context.Context, id string) (s knowledge.VectorStore, err error) {
	err = c.call(ctx, "get vector store", get(storePath(id)), &s)
	return s, err
}

// Stores lists vector stores: at most limit, or the server's default for 0, behind the one of the id after.
func (c *Client) Stores(ctx context.Context, limit int, after string) (l knowledge.VectorStoreList, err error) {
	err = c.call(ctx, "list vector stores", get("/v1/vector_stores"+page(limit, after)), &l)
	return l, err
}

// StoreFiles lists the files of a vector store, as [Client.Files] does.
func (c *Client) StoreFiles(ctx context.Context, id string, limit int, after string) (l knowledge.FileList, err error) {
	err = c.call(ctx, "list files of vector store", get(storePath(id)+"/files"+page(limit, after)), &l)
	return l, err
}

// ModifyStore changes a vector store.
func (c *Client) ModifyStore(ctx context.Context, id string, u knowledge.VectorStoreUpdate) (s knowledge.VectorStore, err error) {
	err = c.send(ctx, "modify vector store", storePath(id), u, &s)
	return s, err
}

// Join puts files into a vector store. Those that are in it stay.
func (c *Client) Join(ctx context.Context, id string, files ...string) (knowledge.VectorStore, error) {
	return c.ModifyStore(ctx, id, knowledge.VectorStoreUpdate{JoinFileIDs: files})
}

// Leave takes files out of a vector store. They stay on the server.
func (c *Client) Leave(ctx context.Context, id string, files ...string) (knowledge.VectorStore, error) {
	return c.ModifyStore(ctx, id, knowledge.VectorStoreUpdate{LeftFileIDs: files})
}

// SearchStore finds passages of a vector store, the best first.
func (c *Client) SearchStore(ctx context.Context, id string, q knowledge.SearchRequest) (p knowledge.SearchPage, err error) {
	r, err := encoded(storePath(id)+"/search", q)
	if err != nil {
		return p, err
	}
	r.again = func(err error) bool { return repeatable(http.MethodGet, err) } // it changes nothing
	err = c.call(ctx, "search vector store", r, &p)
	return p, err
}

// SummarizeStore tells what a vector store is about, in about so many tokens; 0 is the server's default.
func (c *Client) SummarizeStore(ctx context.Context, id string, maxTokens int) (s knowledge.VectorStoreSummary, err error) {
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
