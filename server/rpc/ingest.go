package rpc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/google/uuid"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/search"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire"
)

// maxContent limits the bytes of a document in a call: the request is held in memory several times. Larger documents are uploaded as files or
// fetched from a URL.
const maxContent = 8 << 20

// IngestionFailed is the code of a document that cannot be read or indexed. The protocol has none for it.
const IngestionFailed forrst.Code = "DOCUMENT_INGESTION_FAILED"

type ingestArguments struct {
	_             struct{}         `additionalProperties:"false"`
	Name          string           `json:"name,omitempty" maxLength:"1000" description:"Name of the file. Its extension gives the format if the bytes do not; folders are dropped. May be left out with a url."`
	Content       *string          `json:"content,omitempty" description:"The text of the document. Set exactly one of content, content_base64 and url."`
	ContentBase64 *string          `json:"content_base64,omitempty" description:"The bytes of the document in base64."`
	URL           string           `json:"url,omitempty" maxLength:"8000" description:"A http or https URL to fetch. Only public addresses are fetched, unless the server allows others."`
	ID            string           `json:"id,omitempty" maxLength:"64" description:"Id of the document. Default: a new one."`
	Collection    string           `json:"collection,omitempty" maxLength:"64" default:"default" description:"The collection or vector store to add it to. A vector store is created if there is none. files adds it to none."`
	MediaType     string           `json:"media_type,omitempty" maxLength:"127" description:"Media type, if neither the name nor the bytes tell the format."`
	Metadata      map[string]any   `json:"metadata,omitempty" description:"Attributes for filters."`
	DublinCore    *wire.DublinCore `json:"dublin_core,omitempty" description:"Takes precedence over what the document states."`
	SkipExists    *bool            `json:"skip_exists,omitempty" description:"Whether a document with the same bytes is used instead, unless it failed. Default: true, and false with an id."`
}

// accepted is the first chunk of an ingestion.
type accepted struct {
	DocumentID string `json:"document_id"`
	Status     string `json:"status"`
	Existed    bool   `json:"existed"`
}

type ingestResult struct {
	Document     document `json:"document"`
	Collections  []string `json:"collections"`
	Existed      bool     `json:"existed" description:"The document existed. Its metadata has not changed."`
	PassageCount int      `json:"passage_count"`
	Warnings     []string `json:"warnings"`
}

// stageTexts describe the stages of an ingestion in progress events.
var stageTexts = map[files.Stage]string{files.Fetching: "fetching the document", files.Reading: "reading the document", files.Parsing: "extracting and dividing the text",
	files.Embedding: "embedding the passages", files.Indexing: "adding the passages to the index"}

func (d *documents) ingestFunction() forrst.Function {
	f := forrst.StreamFunc[ingestArguments, ingestResult]("documents.ingest", "1.0.0", nil)
	f.Description = "Adds a document and waits until searches find it. The ingestion goes on if the client leaves; a cancellation deletes the document."
	f.SideEffects = []string{"create", "update"}
	f.Prepare = func(ctx context.Context, call *forrst.Call) (context.Context, error) {
		in, err := d.store(ctx, call)
		if err != nil {
			return nil, callError(err)
		}
		return context.WithValue(ctx, ingestionKey{}, in), nil
	}
	f.Stream = func(ctx context.Context, _ *forrst.Call) iter.Seq2[forrst.Chunk, error] {
		in, ok := ctx.Value(ingestionKey{}).(*ingestion)
		return func(yield func(forrst.Chunk, error) bool) {
			if !ok {
				yield(forrst.Chunk{}, errors.New("the document was not stored"))
				return
			}
			in.follow(ctx, yield)
		}
	}
	return f
}

type ingestionKey struct{}

// ingestion is a document whose bytes are stored and that is being indexed.
type ingestion struct {
	*documents
	file    store.File
	existed bool
	watcher *files.Watcher
}

// store stores the document of a call. From then on it is indexed even if the call ends.
func (d *documents) store(ctx context.Context, call *forrst.Call) (*ingestion, error) {
	var in ingestArguments
	if json.Unmarshal(call.Arguments, &in) != nil { // the schema has accepted them
		return nil, forrst.Errorf(forrst.InvalidArguments, "the arguments cannot be decoded").At("/call/arguments")
	}
	u, err := in.upload(int(min(d.o.MaxFileBytes, maxContent)))
	if err != nil {
		return nil, err
	}
	if by, ok := auth.From(ctx); ok && by.Key != "" {
		u.Contributor = by.Account
	}
	if u.Stores, err = d.ensureCollection(ctx, cmp.Or(in.Collection, corpus.DefaultCollection)); err != nil {
		return nil, err
	}
	existed := false
	if u.ID == "" {
		u.ID = newID(call)
	}
	if key, _ := call.IdempotencyKey(); in.ID != "" || key != "" {
		_, err := d.o.Files.File(ctx, u.ID)
		if existed = err == nil; err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	watcher := d.o.Files.Watch(u.ID)
	f, _, err := d.o.Files.Upload(ctx, u)
	if err == nil && f.ID != u.ID {
		existed = true
		watcher.Close()
		watcher = d.o.Files.Watch(f.ID)
	}
	if err != nil {
		watcher.Close()
		return nil, in.renamed(err)
	}
	context.AfterFunc(ctx, watcher.Close) // the context ends after the call
	return &ingestion{d, f, existed, watcher}, nil
}

// newID returns the id of a new document. Calls that are the same to their client add one document, also if the client of the first has left.
func newID(call *forrst.Call) string {
	if attempt := attemptOf(call); attempt != "" {
		return uuid.NewHash(sha256.New(), uuid.Nil, []byte(attempt), 8).String()
	}
	return uuid.Must(uuid.NewV7()).String()
}

// renamed returns an error of an upload with the name of its argument.
func (in *ingestArguments) renamed(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.InvalidRequest {
		return err
	}
	switch f.Field {
	case "file":
		field := "content"
		if in.ContentBase64 != nil {
			field = "content_base64"
		}
		return fault.Invalid(field, "%s", strings.TrimPrefix(f.Message, "file: "))
	case "vector_store_ids[0]":
		return fault.Invalid("collection", "was deleted while the document was stored")
	}
	if strings.HasPrefix(f.Field, "dc_") {
		f.Field = "dublin_core." + f.Field
	}
	return f
}

// upload returns the upload that the arguments describe. The bytes of a document in the call are limited.
func (in *ingestArguments) upload(limit int) (u files.Upload, err error) {
	u = files.Upload{ID: in.ID, MediaType: in.MediaType, URL: in.URL, SkipExists: in.ID == ""}
	if in.SkipExists != nil {
		u.SkipExists = *in.SkipExists
	}
	given := 0
	for _, is := range []bool{in.Content != nil, in.ContentBase64 != nil, in.URL != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return u, fault.Invalid("content", "want exactly one of content, content_base64 and url")
	}
	if in.Name != "" || in.URL == "" {
		if u.Name, err = files.CleanName(in.Name); err != nil {
			return u, fault.Invalid("name", "want the name of a file without control characters")
		}
	}
	switch {
	case in.Content != nil && len(*in.Content) > limit:
		return u, tooLong("content", limit)
	case in.ContentBase64 != nil && len(*in.ContentBase64) > base64.StdEncoding.EncodedLen(limit):
		return u, tooLong("content_base64", limit)
	case in.Content != nil:
		u.Body, u.MediaType = strings.NewReader(*in.Content), cmp.Or(u.MediaType, "text/plain")
	case in.ContentBase64 != nil:
		u.Body = base64Body{base64.NewDecoder(base64.StdEncoding, strings.NewReader(*in.ContentBase64))}
	}
	if in.DublinCore != nil {
		u.Meta = corpus.DublinCore(*in.DublinCore)
	}
	if in.Metadata != nil {
		u.Metadata, err = encodeMetadata(in.Metadata)
	}
	return u, err
}

func tooLong(field string, limit int) error {
	return fault.Invalid(field, "want at most %d bytes; larger documents are uploaded as files or fetched from a url", limit)
}

// encodeMetadata returns the JSON of metadata, without escapes that would make it longer than it was sent.
func encodeMetadata(metadata map[string]any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(metadata); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// base64Body reads the bytes of base64. Its errors name the argument.
type base64Body struct{ io.Reader }

// Read implements [io.Reader].
func (b base64Body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fault.Invalid("content_base64", "is not base64 with the standard alphabet and padding")
	}
	return n, err
}

// ensureCollection returns the vector stores to join for a collection, and creates the one that does not exist.
func (d *documents) ensureCollection(ctx context.Context, name string) ([]string, error) {
	if name == files.Collection {
		return nil, nil
	}
	_, err := d.o.Files.Store(ctx, name)
	if fault.CodeOf(err) == fault.NotFound {
		_, err = d.o.Files.CreateStore(ctx, files.StoreParams{ID: name})
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.Conflict { // another call has created it
			err = nil
		} else if ok && f.Field == "id" {
			err = fault.Invalid("collection", "want 1 to 64 letters, digits, dashes and underscores")
		}
	}
	return []string{name}, err
}

// follow yields the progress of the ingestion and its result. A cancelled call deletes the document that it has added.
func (in *ingestion) follow(ctx context.Context, yield func(forrst.Chunk, error) bool) {
	defer func() {
		cause, ok := errors.AsType[*forrst.CallError](context.Cause(ctx))
		if ok && cause.Code == forrst.Cancelled && !in.existed {
			if err := in.o.Files.DeleteFile(ctx, in.file.ID); err != nil && fault.CodeOf(err) != fault.NotFound {
				in.o.Logger.Error("a document of a cancelled call could not be deleted", "document", in.file.ID, "error", err)
			}
		}
	}()
	if !yield(forrst.Data(accepted{in.file.ID, cmp.Or(statuses[in.file.Status], pending), in.existed}), nil) {
		return
	}
	var percent int64
	for {
		p, err := in.watcher.Next(ctx)
		if fault.CodeOf(err) == fault.NotFound || err == nil && p.Task.Status == store.Cancelled {
			err = forrst.Errorf(forrst.Gone, "the document was deleted while it was ingested").With(map[string]any{"document_id": in.file.ID})
		}
		if err == nil && p.Task.Status == store.Failed {
			err = forrst.Errorf(IngestionFailed, "%s", p.Task.Failure).With(map[string]any{"document_id": in.file.ID})
		}
		if err != nil {
			yield(forrst.Chunk{}, callError(err))
			return
		}
		percent = min(max(percent, int64(p.Task.Progress)), 100) // the task may be read before its progress is stored
		if p.Task.Status == store.Completed {
			if !yield(forrst.Progress(percent, 100, "the document can be found"), nil) {
				return
			}
			out, err := in.result(ctx, p)
			if err != nil {
				yield(forrst.Chunk{}, callError(err))
				return
			}
			yield(forrst.Done(out), nil)
			return
		}
		if !yield(forrst.Progress(percent, 100, cmp.Or(stageTexts[p.Stage], "waiting for a worker")), nil) {
			return
		}
	}
}

// result returns the result of a completed ingestion.
func (in *ingestion) result(ctx context.Context, p files.Progress) (out ingestResult, err error) {
	found, err := in.o.Files.Document(ctx, in.file.ID, 0, 0)
	if fault.CodeOf(err) == fault.NotFound || err == nil && found.Document.ID == "" {
		return out, forrst.Errorf(forrst.Gone, "the document was deleted while it was ingested").With(map[string]any{"document_id": in.file.ID})
	}
	if err != nil {
		return out, err
	}
	out = ingestResult{Document: documentOf(search.NewInfo(found.File, found.Document)), Collections: orEmpty(found.Stores), Existed: in.existed, Warnings: []string{}}
	if out.PassageCount, err = in.countPassages(ctx, found.Document); err != nil {
		return out, err
	}
	if p.Unembedded > 0 {
		out.Warnings = append(out.Warnings, "the embedding model failed: until it works again, the document is found by its words alone")
	}
	return out, nil
}
