package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// batch is how many records are changed in one transaction.
const batch = 500

// runSync syncs a source and stores the result. A sync that the end of the process stops stays to be resumed.
func (s *Service) runSync(ctx context.Context, id string, full bool, j *job) {
	src, err := s.o.Store.UpdateSource(ctx, id, func(src *store.Source) error {
		if src.State == store.SourceRemoving {
			return errRemoving
		}
		src.State = store.SourceSyncing
		return nil
	})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errRemoving) {
			s.o.Logger.Error("sync of a source could not begin", "source", id, "error", err)
		}
		return
	}
	y := &syncRun{Service: s, src: src, job: j, full: full, sums: map[string]string{}}
	y.result.Started = s.o.Now().UTC()
	err = y.run(ctx)
	if ctx.Err() != nil {
		return
	}
	y.result.Ended = s.o.Now().UTC()
	if err != nil {
		y.result.Error = fault.Public(err).Message
		s.o.Logger.Error("sync of a source failed", "source", src.ID, "error", err)
	}
	raw, err := json.Marshal(y.result)
	if err == nil {
		_, err = s.o.Store.UpdateSource(ctx, src.ID, func(src *store.Source) error {
			src.Sync = raw
			if src.State == store.SourceSyncing {
				src.State = store.SourceIdle
			}
			return nil
		})
	}
	if err != nil && ctx.Err() == nil {
		s.o.Logger.Error("result of a sync could not be stored", "source", src.ID, "error", err)
		return
	}
	r := y.result
	s.o.Logger.Info("source synced", "source", src.ID, "added", r.Added, "updated", r.Updated, "unchanged", r.Unchanged, "removed", r.Removed, "moved", r.Moved,
		"failed", r.Failed, "ms", r.Ended.Sub(r.Started).Milliseconds())
}

// runRemoval deletes the documents of a source and then its record.
func (s *Service) runRemoval(ctx context.Context, src store.Source) {
	docs, err := s.o.Store.SourceDocuments(ctx, src.ID)
	if err == nil {
		err = s.o.Ingester.DeleteDocuments(ctx, src.Collection, idsOf(docs))
	}
	if forget := s.o.Kinds[src.Kind].Forget; err == nil && forget != nil {
		err = forget(src.Location)
	}
	if err == nil {
		err = s.o.Store.RemoveSource(ctx, src.ID)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	s.o.Logger.Error("source could not be removed; it is tried again at the next start, or when it is removed again", "source", src.ID, "error", err)
	now := s.o.Now().UTC()
	raw, err := json.Marshal(Result{Started: now, Ended: now, Error: "not removed: " + fault.Public(err).Message})
	if err == nil {
		_, err = s.o.Store.UpdateSource(ctx, src.ID, func(src *store.Source) error { src.Sync = raw; return nil })
	}
	if err != nil {
		s.o.Logger.Error("result of a removal could not be stored", "source", src.ID, "error", err)
	}
}

func idsOf(docs []store.SourceDocument) []corpus.DocumentID {
	ids := make([]corpus.DocumentID, len(docs))
	for i, d := range docs {
		ids[i] = corpus.DocumentID(d.ID)
	}
	return ids
}

// syncRun is one sync. Its order makes it restartable: a new document gets a record before it gets into the index, and a vanished one loses it after it
// left the index. So each document in the index has a record.
type syncRun struct {
	*Service
	src    store.Source
	job    *job
	full   bool
	known  map[string]store.SourceDocument // by id of the document
	listed map[string]Document             // by id of the document
	gone   []store.SourceDocument
	fresh  []store.SourceDocument // to be written
	result Result

	mu   sync.Mutex
	sums map[string]string // SHA-256 of the documents that were read, by URI
}

func (y *syncRun) run(ctx context.Context) (err error) {
	kind, ok := y.o.Kinds[y.src.Kind]
	if !ok {
		return fault.New(fault.InvalidRequest, "this version has no sources of the kind %s", y.src.Kind)
	}
	conn, err := kind.open(y.src.Location, y.src.Credentials, y.o.CredentialsFolder)
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	listing, err := conn.List(ctx)
	if err != nil {
		return fmt.Errorf("list documents of source: %w", err)
	}
	records, err := y.o.Store.SourceDocuments(ctx, y.src.ID)
	if err != nil {
		return err
	}
	y.compare(listing, records)
	if err := y.announce(ctx); err != nil {
		return err
	}
	if err := y.ingest(ctx, conn); err != nil {
		return err
	}
	return y.removeGone(ctx)
}

// compare finds what is listed and what has vanished.
func (y *syncRun) compare(l Listing, records []store.SourceDocument) {
	y.result.Ignored = l.Ignored
	y.fail(l.Failed)
	y.known = make(map[string]store.SourceDocument, len(records))
	y.listed = make(map[string]Document, len(l.Documents))
	for _, d := range records {
		y.known[d.ID] = d
	}
	for _, d := range l.Documents {
		if !selects(y.src.Include, y.src.Exclude, d.Path) {
			y.result.Ignored++
			continue
		}
		y.listed[string(ingest.DocumentID(y.src.Collection, d.URI))] = d
	}
	vanished := make(map[string]bool, len(l.Gone))
	for _, uri := range l.Gone {
		vanished[parse.PrintableName(uri)] = true
	}
	for _, d := range records {
		unread := !vanished[d.URI] && slices.ContainsFunc(l.Unread, func(prefix string) bool { return within(d.URI, parse.PrintableName(prefix)) })
		if _, ok := y.listed[d.ID]; !ok && !unread {
			y.gone = append(y.gone, d)
		}
	}
}

// fail counts failures and keeps the first ones.
func (y *syncRun) fail(failures []ingest.Failure) {
	y.result.Failed += len(failures)
	y.result.Failures = append(y.result.Failures, failures[:min(len(failures), maxFailures-len(y.result.Failures))]...)
}

// announce writes records of the new documents, without hashes.
func (y *syncRun) announce(ctx context.Context) error {
	var added []store.SourceDocument
	for id, d := range y.listed {
		if _, ok := y.known[id]; !ok {
			added = append(added, store.SourceDocument{ID: id, URI: parse.PrintableName(d.URI)})
		}
	}
	for part := range slices.Chunk(added, batch) {
		if err := y.o.Store.ChangeSourceDocuments(ctx, y.src.ID, part, nil); err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of a document together with that of the ingestion, or an empty text if it is unknown.
func (y *syncRun) version(d Document) string {
	if d.Version == "" {
		return ""
	}
	return d.Version + " " + y.o.Ingester.Version()
}

// ingest brings the index up to date with the listed documents, in the order of their URIs. What is done is recorded also after an error.
func (y *syncRun) ingest(ctx context.Context, conn Connector) (err error) {
	items := make([]ingest.Item, 0, len(y.listed))
	for id, d := range y.listed {
		it := ingest.Item{URI: d.URI, Path: d.Name, Name: d.File, Read: func(ctx context.Context, limit int64) ([]byte, error) {
			data, err := conn.Read(ctx, d, limit)
			if err == nil {
				sum := sha256.Sum256(data)
				y.mu.Lock()
				y.sums[d.URI] = hex.EncodeToString(sum[:])
				y.mu.Unlock()
			}
			return data, err
		}}
		if k := y.known[id]; !y.full && k.Version != "" && k.Version == y.version(d) {
			it.Hash = k.Hash
		}
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b ingest.Item) int { return strings.Compare(a.URI, b.URI) })
	moved := map[string]int{} // vanished documents by the hash of their bytes
	for _, d := range y.gone {
		if d.SHA256 != "" {
			moved[d.SHA256]++
		}
	}
	var written error
	report, err := y.o.Ingester.IngestItems(ctx, y.src.Collection, items, func(done ingest.Indexed) {
		if werr := y.record(ctx, done, moved); written == nil {
			written = werr
		}
	}, func(p ingest.Progress) { y.job.progress.Store(&p) })
	y.result.Added, y.result.Updated, y.result.Unchanged = report.Added, report.Updated, report.Unchanged
	y.fail(report.Failed)
	if report.Unembedded > 0 {
		y.result.Warning = fmt.Sprintf("%d passages and sentences are only found by their words until the embedder answers: %s", report.Unembedded, report.EmbedFailure)
	}
	return errors.Join(err, written, y.write(context.WithoutCancel(ctx)))
}

// record records that a document is in the index.
func (y *syncRun) record(ctx context.Context, done ingest.Indexed, moved map[string]int) error {
	id := string(done.ID)
	d, before := y.listed[id], y.known[id]
	y.mu.Lock()
	sum, read := y.sums[done.URI]
	y.mu.Unlock()
	if !read {
		return nil // its record has not changed
	}
	if before.Hash == "" && moved[sum] > 0 {
		moved[sum]--
		y.result.Moved++
	}
	y.fresh = append(y.fresh, store.SourceDocument{ID: id, URI: parse.PrintableName(d.URI), Version: y.version(d), Hash: done.Hash, SHA256: sum})
	if len(y.fresh) < batch {
		return nil
	}
	return y.write(ctx)
}

// write writes the records of documents that are in the index.
func (y *syncRun) write(ctx context.Context) error {
	if len(y.fresh) == 0 {
		return nil
	}
	err := y.o.Store.ChangeSourceDocuments(ctx, y.src.ID, y.fresh, nil)
	y.fresh = nil
	return err
}

// removeGone removes the documents that have vanished.
func (y *syncRun) removeGone(ctx context.Context) error {
	if len(y.gone) == 0 {
		return nil
	}
	if err := y.o.Ingester.DeleteDocuments(ctx, y.src.Collection, idsOf(y.gone)); err != nil {
		return err
	}
	for part := range slices.Chunk(y.gone, batch) {
		ids := make([]string, len(part))
		for i, d := range part {
			ids[i] = d.ID
			if d.Hash != "" {
				y.result.Removed++
			}
		}
		if err := y.o.Store.ChangeSourceDocuments(ctx, y.src.ID, nil, ids); err != nil {
			return err
		}
	}
	return nil
}
