package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// syncRequest says what a sync has to do.
type syncRequest struct {
	SyncOptions
	due        bool     // only if the sync is still due
	unrecorded bool     // only if the store still has it as in progress
	only       []string // URIs of what has changed; nil: all documents are listed
	onFailure  func()   // called if the sync cannot begin because the store fails; may be nil
}

// startSync starts a sync in the background, and returns its ingestion. If another job of the source is active, it returns nil.
func (s *Service) startSync(id string, req syncRequest) (*Ingestion, error) {
	src, err := s.Get(s.ctx, id)
	switch {
	case s.ctx.Err() != nil:
		return nil, errStopping
	case err != nil:
		return nil, err
	case src.Source.State == store.SourceRemoving:
		return nil, errRemoving
	case s.elsewhere(src.Source):
		return nil, errElsewhere
	}
	i := newIngestion(newIngestionID(), id, src.Collection, 1, s.o.Now().UTC())
	if src.State == store.SourceSyncing && src.Source.Ingestion != "" { // an earlier process has begun it
		i.ID, i.Attempt = src.Source.Ingestion, src.Attempt+1
	}
	started, err := s.startJob(id, i, func(ctx context.Context, _ *job) { s.runSync(ctx, i, req) })
	if err != nil || !started {
		return nil, err
	}
	s.follow(i)
	return i, nil
}

// begin marks a source as being synced by this server.
func (s *Service) begin(ctx context.Context, i *Ingestion, req syncRequest) (store.Source, error) {
	return s.o.Store.UpdateSource(ctx, i.Source, func(src *store.Source) error {
		switch {
		case src.State == store.SourceRemoving:
			return errRemoving
		case s.elsewhere(*src):
			return errElsewhere
		case req.due && (src.Next.IsZero() || src.Next.After(s.o.Now())), req.unrecorded && src.State != store.SourceSyncing:
			return errNotDue
		}
		src.State, src.Server, src.Ingestion, src.Attempt = store.SourceSyncing, s.o.Server, i.ID, i.Attempt
		src.SyncProgress = s.encode(i)
		return nil
	})
}

// runSync syncs a source and stores the result. If the process ends first, the next one resumes the sync.
func (s *Service) runSync(ctx context.Context, i *Ingestion, req syncRequest) {
	failure := "the source was removed meanwhile"
	defer func() {
		if st, _ := i.After(0); st.Result == nil && s.ctx.Err() == nil { // nobody else ends it for those who follow it
			i.end(Result{Started: i.Started, Ended: s.o.Now().UTC(), Error: failure, Ingestion: i.ID, Attempt: i.Attempt})
		}
	}()
	src, err := s.begin(ctx, i, req)
	if err != nil {
		if ctx.Err() == nil {
			failure = fault.Public(err).Message
			if fault.CodeOf(err) == "" {
				s.o.Logger.Error("sync of a source could not begin", "source", i.Source, "error", err)
			}
			if code := fault.Public(err).Code; req.onFailure != nil && code != fault.Conflict && code != fault.NotFound {
				req.onFailure()
			}
		}
		return
	}
	y := &syncRun{Service: s, src: src, ingestion: i, req: req, sums: map[string]string{}}
	y.result.Started, y.result.Ingestion, y.result.Attempt = i.Started, i.ID, i.Attempt
	if last := s.view(src).Last; last != nil {
		y.result.Documents = last.Documents
	}
	shared := s.share(ctx, i)
	err = y.run(ctx)
	shared()
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
			if src.Ingestion != i.ID || src.Attempt != i.Attempt {
				return errElsewhere // this server was taken for dead, and another one has continued the sync
			}
			y.ended(src, raw)
			return nil
		})
	}
	if err != nil {
		if ctx.Err() == nil {
			failure = "its result could not be stored: " + fault.Public(err).Message
			s.o.Logger.Error("result of a sync could not be stored", "source", src.ID, "error", err)
		}
		return
	}
	s.rereadSchedule()
	r := y.result
	i.end(r)
	if r.Error != "" || req.only != nil && r.Added+r.Updated+r.Removed+r.Failed == 0 {
		return // the failure is logged
	}
	s.o.Logger.Info("sync of a source ended", "source", src.ID, "added", r.Added, "updated", r.Updated, "unchanged", r.Unchanged, "removed", r.Removed, "moved", r.Moved,
		"failed", r.Failed, "ms", r.Ended.Sub(r.Started).Milliseconds())
}

// ended changes the record of a source at the end of its sync.
func (y *syncRun) ended(src *store.Source, result json.RawMessage) {
	src.Sync, src.SyncProgress = result, nil
	if src.State == store.SourceSyncing {
		src.State = store.SourceIdle
	}
	switch {
	case y.result.NotRemoved > 0: // all else is in step, and the place may be back soon
		src.Failing = 1
		src.Next = y.next(*src)
	case y.result.Error != "":
		src.Failing++
		src.Next = y.next(*src)
	case y.req.only == nil:
		src.Failing = 0
		src.Next = y.next(*src)
	}
	if y.req.only == nil && (y.result.Error == "" || y.result.NotRemoved > 0) {
		// The next sync applies what a user has changed during this one.
		src.Again = src.Again && (!y.src.Again || src.Contributor != y.src.Contributor)
	}
	if src.Contributor != y.src.Contributor || !maps.Equal(src.Meta, y.src.Meta) {
		src.Next = y.result.Ended // some documents have got what was set before
	}
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
	req    syncRequest
	known  map[string]store.SourceDocument // by id of the document
	listed map[string]Document             // by id of the document
	gone   []store.SourceDocument
	fresh  []store.SourceDocument // to be written
	result Result

	ingestion *Ingestion

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
	listing, err := y.list(ctx, conn)
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

// list lists the documents, or only what has changed.
func (y *syncRun) list(ctx context.Context, conn Connector) (Listing, error) {
	w, ok := conn.(Watcher)
	last := y.view(y.src).Last
	if !ok || last != nil && last.NotRemoved > 0 { // if the last sync kept documents, all are listed, so that this result counts them too
		y.req.only = nil
	}
	if y.req.only == nil {
		y.coverChanges(ctx, y.src.ID)
		return conn.List(ctx)
	}
	if last != nil { // the result is about all documents
		for _, f := range last.Failures {
			if !y.lists(f.Path) {
				y.fail(f)
			}
		}
	}
	return w.ListChanged(ctx, y.req.only)
}

// fail adds failures that are not of the ingestion of documents.
func (y *syncRun) fail(failures ...ingest.Failure) {
	y.result.fail(failures)
	y.ingestion.update(func() { y.ingestion.fail(failures...) })
}

// lists reports whether the documents at a URI were listed.
func (y *syncRun) lists(uri string) bool {
	return y.req.only == nil || slices.ContainsFunc(y.req.only, func(changed string) bool { return within(uri, parse.PrintableName(changed)) })
}

// compare finds what is listed and what has vanished.
func (y *syncRun) compare(l Listing, records []store.SourceDocument) {
	y.result.Ignored += l.Ignored
	y.fail(l.Failed...)
	y.known = make(map[string]store.SourceDocument, len(records))
	y.listed = make(map[string]Document, len(l.Documents))
	documents := 0
	for _, d := range records {
		y.known[d.ID] = d
		if d.Hash != "" {
			documents++
		}
	}
	y.result.Documents = &documents
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
		if !y.lists(d.URI) {
			if d.Hash != "" {
				y.result.Unchanged++
			}
			continue
		}
		unread := !vanished[d.URI] && slices.ContainsFunc(l.Unread, func(prefix string) bool { return within(d.URI, parse.PrintableName(prefix)) })
		if _, ok := y.listed[d.ID]; !ok && !unread {
			y.gone = append(y.gone, d)
		}
	}
	if last := y.view(y.src).Last; y.req.only != nil && last != nil {
		y.result.Ignored = last.Ignored // nobody knows which of them were listed again
	}
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
	items, given := make([]ingest.Item, 0, len(y.listed)), metaOf(y.src.Meta)
	for id, d := range y.listed {
		it := ingest.Item{URI: d.URI, Path: d.Name, Name: d.File, Given: given, Contributor: y.src.Contributor, Again: y.src.Again, Read: func(ctx context.Context, limit int64) ([]byte, error) {
			data, err := conn.Read(ctx, d, limit)
			if err == nil {
				sum := sha256.Sum256(data)
				y.mu.Lock()
				y.sums[d.URI] = hex.EncodeToString(sum[:])
				y.mu.Unlock()
			}
			return data, err
		}}
		if k := y.known[id]; !y.req.Full && k.Version != "" && k.Version == y.version(d) {
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
	}, y.ingestion.advance)
	y.result.count(report)
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
	if before.Hash == "" {
		*y.result.Documents++
		if moved[sum] > 0 {
			moved[sum]--
			y.result.Moved++
		}
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

// checkComplete returns an error if the place is incomplete, so that the documents that have vanished must be kept.
func (y *syncRun) checkComplete() error {
	if y.req.AllowRemoval {
		return nil
	}
	indexed, now := 0, len(y.listed)
	for id, d := range y.known {
		if d.Hash == "" {
			continue
		}
		indexed++
		if _, listed := y.listed[id]; !listed {
			now++
		}
	}
	vanished := 0
	for _, d := range y.gone {
		if d.Hash != "" {
			vanished++
		}
	}
	others := 0
	if y.o.Kinds[y.src.Kind].Local { // elsewhere, what is ignored may not exist, such as pages that links name
		others = y.result.Ignored
	}
	if vanished == 0 || !ingest.Incomplete(indexed, now-vanished, others) {
		return nil
	}
	y.result.NotRemoved = vanished
	return fault.New(fault.Conflict, "%s", ingest.KeptMessage(vanished, fmt.Sprintf("run \"sluice sources sync %s --allow-removal\"", y.src.ID)))
}

// removeGone removes the documents that have vanished, unless the place is incomplete.
func (y *syncRun) removeGone(ctx context.Context) error {
	if len(y.gone) == 0 {
		return nil
	}
	if err := y.checkComplete(); err != nil {
		return err
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
				*y.result.Documents--
			}
		}
		if err := y.o.Store.ChangeSourceDocuments(ctx, y.src.ID, nil, ids); err != nil {
			return err
		}
	}
	return nil
}
