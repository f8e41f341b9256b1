package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// recorder is a transport that keeps the body of the last reply.
type recorder struct{ body []byte }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.body, err = io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(r.body))
	return res, err
}

// fields returns the JSON object of v as maps and lists.
func fields(t *testing.T, v any) (out any) {
	t.Helper()
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%v: %.200s", err, b)
	}
	return out
}

// TestTypesMatchServer calls the routes of the service. The types of the replies must have every field that the server sends, and no other.
// The server rejects unknown fields of requests.
func TestTypesMatchServer(t *testing.T) {
	t.Parallel()
	last := new(recorder)
	ctx, s := t.Context(), newSite(t, func(o *sitting) { o.client.HTTP = &http.Client{Transport: last} })
	same := func(v any, err error) {
		t.Helper()
		require.NoError(t, err)
		if diff := cmp.Diff(fields(t, last.body), fields(t, v)); diff != "" {
			t.Errorf("%T (-sent by the server +decoded by the client):\n%s", v, diff)
		}
	}
	f := s.uploaded(t, "gold.md", gold)
	text, number, object := func(s string) *string { return &s }, int64(3600), json.RawMessage(`{"a":1}`)
	same(s.c.File(ctx, f.ID))
	same(s.c.Task(ctx, f.TaskID))
	same(s.c.Files(ctx, 1, ""))
	same(s.c.CreateStore(ctx, client.VectorStoreRequest{ID: "mining", Name: "Mining", Description: text("gold"), FileIDs: []string{f.ID}, Metadata: object, ExpiresAfter: &number}))
	same(s.c.ModifyStore(ctx, "mining", client.VectorStoreUpdate{Name: text("Gold"), Description: text("all"), Metadata: object, ExpiresAfter: &number,
		JoinFileIDs: []string{f.ID}, LeftFileIDs: []string{"none"}}))
	same(s.c.ModifyStore(ctx, "mining", client.VectorStoreUpdate{JoinFileIDs: []string{f.ID}}))
	same(s.c.Store(ctx, "mining"))
	same(s.c.Stores(ctx, 1, ""))
	same(s.c.StoreFiles(ctx, "mining", 1, ""))
	same(s.c.SearchStore(ctx, "mining", client.SearchRequest{Query: "gold", TopK: 3, Filters: json.RawMessage(`{"type":"eq","key":"filename","value":"gold.md"}`)}))
	same(s.c.SummarizeStore(ctx, "mining", 100))
	same(s.c.Content(ctx, f.ID))
	same(s.c.Pages(ctx, f.ID, 1, 1))
	progress, favourite := 0.5, true
	same(s.c.UpdateFile(ctx, f.ID, client.DocumentUpdate{Title: text("Gold"), Author: text("A"), Owner: text("B"), ReadProgress: &progress, Bookmarks: []int{1},
		Highlights: []string{"x"}, Notes: []string{"y"}, RelatedDocs: []string{"z"}, Permissions: []string{"all"}, IsFavorite: &favourite, Metadata: object,
		VectorStoreIDs: []string{"mining"}}))
	same(s.c.Content(ctx, f.ID))
	q := client.Question("Why does gold settle behind the riffles?")
	q.Tools = []knowledge.Tool{client.FileSearch("mining")}
	run, err := s.c.Respond(ctx, q).Wait()
	require.NoError(t, err)
	same(s.c.Responses(ctx, 1, ""))
	same(s.c.Response(ctx, run.Run))
	same(s.c.Runs(ctx, 1, ""))
	same(s.c.Run(ctx, run.Run))
	same(s.c.Health(ctx))
	same(s.c.ServerStatus(ctx))
}
