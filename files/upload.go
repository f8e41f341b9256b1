package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// Limits of the fields of an upload, in bytes.
const (
	maxID      = 64
	maxName    = 255
	maxPurpose = 64
	maxOptions = 16 << 10
)

// Upload adds a file. When it returns, the bytes are durable and a task is queued. With a URL, the task fetches the bytes first. If the id
// exists, the error is a Conflict, unless the bytes (or the URL up to its query) are the same: then Upload returns the existing file and, if it had failed,
// queues it again. In both cases the returned file is in the given vector stores.
func (s *Service) Upload(ctx context.Context, u Upload) (store.File, store.Task, error) {
	f, t, err := s.upload(ctx, u)
	if err == nil && len(u.Stores) > 0 {
		err = s.flushOutbox(ctx)
	}
	return f, t, err
}

func (s *Service) upload(ctx context.Context, u Upload) (f store.File, t store.Task, err error) {
	if s.ctx.Err() != nil {
		return f, t, errClosed()
	}
	if err := s.opts.Reserve.Check(); err != nil {
		return f, t, err
	}
	var st *staged
	if u.Body != nil {
		if st, err = s.stage(func(w io.Writer) error { _, err := io.Copy(w, u.Body); return err }); err != nil {
			return f, t, fmt.Errorf("read upload: %w", err)
		}
		defer st.discard()
		if u.AfterBody != nil {
			if err := u.AfterBody(&u); err != nil {
				return f, t, err
			}
		}
	}
	if err := s.checkUpload(ctx, &u, st); err != nil {
		return f, t, err
	}
	now := s.opts.Now().UTC()
	f = store.File{ID: cmp.Or(u.ID, s.opts.NewID()), Name: u.Name, MediaType: u.MediaType, Purpose: u.Purpose, MD5: u.MD5, URL: u.URL, Status: store.Pending,
		Options: u.Options, Fields: given{u.Meta, u.Contributor}.fields(u.Metadata), CreatedAt: now, UpdatedAt: now}
	if st != nil {
		f.Bytes, f.MD5, f.SHA256 = st.bytes, st.md5, st.sha256
	}
	t = store.Task{ID: "upload-" + f.ID, Type: "upload", Status: store.Pending, Resource: f.ID, CreatedAt: now, UpdatedAt: now}
	var duplicate store.File
	err = s.placeBytes(ctx, st, func() (err error) {
		if st != nil && u.SkipExists {
			if duplicate, err = s.duplicate(ctx, st.sha256); err != nil || duplicate.ID != "" {
				return cmp.Or(err, errDuplicate)
			}
		}
		if s.isRemoving(f.ID) {
			return fault.New(fault.Conflict, "the file with the id %s is being deleted", f.ID)
		}
		return s.opts.Store.AddFile(ctx, f, t, u.Stores)
	})
	if errors.Is(err, errDuplicate) {
		return s.reuse(ctx, duplicate, u)
	}
	if errors.Is(err, store.ErrExists) {
		existing, err := s.opts.Store.File(ctx, f.ID)
		if errors.Is(err, store.ErrNotFound) {
			err = fault.Wrap(fault.Conflict, err, "the file with the id %s is being deleted", f.ID)
		}
		if err != nil {
			return f, t, err
		}
		if existing.SHA256 != f.SHA256 && st != nil || st == nil && WithoutQuery(existing.URL) != WithoutQuery(u.URL) {
			return f, t, fault.New(fault.Conflict, "another file with the id %s already exists", f.ID)
		}
		return s.reuse(ctx, existing, u)
	}
	if m, ok := errors.AsType[*store.NotFoundError](err); ok {
		err = fault.Wrap(fault.InvalidRequest, err, "no such %s: %s", m.What, m.ID)
	}
	if err != nil {
		return f, t, err
	}
	s.saveRecord(ctx, f.ID)
	s.notifyWorkers()
	return f, t, nil
}

// errDuplicate reports that an existing file with the same bytes is returned instead.
var errDuplicate = errors.New("a file with the same bytes exists")

// duplicate returns a file with the same bytes that did not fail, or a zero File. It is called under the lock of the bytes, so that of several uploads of
// the same bytes at once, only one finds no duplicate.
func (s *Service) duplicate(ctx context.Context, sum string) (store.File, error) {
	f, err := s.opts.Store.FileBySHA256(ctx, sum)
	if errors.Is(err, store.ErrNotFound) || err == nil && (f.Status == store.Failed || f.Status == store.Cancelled) {
		return store.File{}, nil
	}
	return f, err
}

// reuse returns an existing file as the result of an upload.
func (s *Service) reuse(ctx context.Context, f store.File, u Upload) (store.File, store.Task, error) {
	for _, id := range u.Stores {
		if err := s.opts.Store.Join(ctx, id, []string{f.ID}); err != nil {
			return f, store.Task{}, notFound(err, "vector store")
		}
	}
	if f.Status == store.Failed {
		if _, err := s.retry(ctx, f.ID, u.URL); err != nil {
			return f, store.Task{}, notFound(err, "file")
		}
		s.notifyWorkers()
	}
	f, err := s.File(ctx, f.ID)
	if err != nil {
		return f, store.Task{}, err
	}
	t, err := s.Task(ctx, "upload-"+f.ID)
	return f, t, err
}

// retry makes the task of a file pending again. A file that was not fetched is fetched from the URL, whose query may have changed; empty: from the same.
func (s *Service) retry(ctx context.Context, id, from string) (store.Task, error) {
	return s.opts.Store.UpdateTask(ctx, "upload-"+id, func(t *store.Task, f *store.File) error {
		if f == nil {
			return store.ErrNotFound
		}
		if f.SHA256 == "" && from != "" {
			f.URL = from
		}
		now := s.opts.Now().UTC()
		t.Status, t.Progress, t.Failure, t.Tries, t.Delay, t.CreatedAt, t.UpdatedAt = store.Pending, 0, "", 0, 0, now, now
		f.Status, f.Failure, f.UpdatedAt = store.Pending, "", now
		return nil
	})
}

// checkUpload validates an upload and sets its defaults.
func (s *Service) checkUpload(ctx context.Context, u *Upload, st *staged) error {
	if (u.Body == nil) == (u.URL == "") {
		return fault.Invalid("file", "want either a file or a url")
	}
	if st != nil && st.bytes == 0 {
		return fault.Invalid("file", "is empty")
	}
	if u.ID != "" {
		if err := s.checkID(ctx, u.ID); err != nil {
			return err
		}
	}
	if u.URL != "" {
		if s.opts.Fetch == nil {
			return fault.Invalid("url", "this server does not fetch URLs")
		}
		if err := s.opts.Fetch.Check(u.URL); err != nil {
			return err
		}
	}
	u.Name = fileName(u.Name, u.URL)
	if err := u.Validate(); err != nil {
		return err
	}
	if u.MD5 != "" && st != nil && u.MD5 != st.md5 {
		return fault.Invalid("md5", "does not match the received bytes, whose MD5 is %s", st.md5)
	}
	media, _, err := mime.ParseMediaType(u.MediaType)
	if err != nil || len(media) > 127 {
		media = mime.TypeByExtension(path.Ext(u.Name))
		media, _, _ = strings.Cut(media, ";")
	}
	u.MediaType = cmp.Or(media, "application/octet-stream")
	for i, id := range u.Stores {
		if err := s.ensureRecord(ctx, id); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return fault.Invalid(fmt.Sprintf("vector_store_ids[%d]", i), "no such vector store")
			}
			return err
		}
	}
	return nil
}

// Validate checks the purpose, the MD5, the options, the metadata and the contributor, and sets the default purpose. [Service.Upload] calls it. A server that has these
// fields before the file calls it earlier.
func (u *Upload) Validate() error {
	u.Purpose = cmp.Or(u.Purpose, "general")
	if len(u.Purpose) > maxPurpose || parse.PrintableName(u.Purpose) != u.Purpose {
		return fault.Invalid("purpose", "want at most %d printable bytes", maxPurpose)
	}
	u.MD5 = strings.ToLower(u.MD5)
	if u.MD5 != "" && (len(u.MD5) != 32 || strings.Trim(u.MD5, "0123456789abcdef") != "") {
		return fault.Invalid("md5", "want 32 hexadecimal digits")
	}
	if len(u.Options) > maxOptions || len(u.Options) > 0 && !isObject(u.Options) {
		return fault.Invalid("parse_options", "want a JSON object of at most %d bytes", maxOptions)
	}
	if u.Contributor != "" && !corpus.ValidAccount(u.Contributor) {
		return fault.Invalid("contributor", "%s", corpus.WantAccount)
	}
	if u.Metadata != nil {
		if err := checkField("metadata", u.Metadata); err != nil {
			return err
		}
	}
	return u.Meta.Validate()
}

// checkID validates an id chosen by the caller. Ids of documents of folders are taken.
func (s *Service) checkID(ctx context.Context, id string) error {
	if !validID(id) {
		return fault.Invalid("id", "want a UUID, or 1 to %d letters, digits, dashes and underscores", maxID)
	}
	if s.outboxFailed.Load() {
		if err := s.flushOutbox(ctx); err != nil { // the index may still have a deleted document with this id
			return err
		}
	}
	doc, err := s.folderDocument(ctx, id)
	if err == nil && doc.ID != "" {
		err = fault.New(fault.Conflict, "a document of a folder has the id %s", id)
	}
	return err
}

func validID(id string) bool { return len(id) <= maxID && index.ValidSet(id) }

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(raw, &o) == nil && o != nil
}

// fileName returns a name that can be shown. An empty name is taken from the URL.
func fileName(name, from string) string {
	if u, err := url.Parse(from); err == nil && strings.TrimSpace(name) == "" && from != "" {
		name = cmp.Or(strings.Trim(path.Base(u.Path), "/."), u.Hostname())
	}
	name = shortName(parse.PrintableName(strings.ToValidUTF8(baseName(name), "\uFFFD")))
	if strings.Trim(name, ".") == "" {
		return "file"
	}
	return name
}

// CleanName returns the name of an uploaded file without its folders. A long name is shortened and keeps its extension. A name
// without text, with control characters or with invalid UTF-8 is an error.
func CleanName(name string) (string, error) {
	switch base := baseName(name); {
	case !utf8.ValidString(name):
		return "", fault.Invalid("filename", "not valid UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", fault.Invalid("filename", "no control characters")
	case base == "", base == ".", base == "..":
		return "", fault.Invalid("filename", "required")
	default:
		return shortName(base), nil
	}
}

// baseName drops the folders of a name.
func baseName(name string) string {
	return strings.TrimSpace(name[strings.LastIndexAny(name, `/\`)+1:])
}

// shortName shortens a name to [maxName] bytes. It keeps the extension, which tells the format.
func shortName(name string) string {
	if len(name) <= maxName {
		return name
	}
	ext := path.Ext(name)
	if len(ext) > 32 {
		ext = ""
	}
	return strings.ToValidUTF8(name[:maxName-len(ext)], "") + ext
}

// WithoutQuery returns a URL without user, query and fragment, which may hold secrets. [store.File] has the whole URL until it was fetched.
func WithoutQuery(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// File returns the record of a file.
func (s *Service) File(ctx context.Context, id string) (store.File, error) {
	f, err := s.opts.Store.File(ctx, id)
	if err == nil {
		s.setRunning(&f)
	}
	return f, notFound(err, "file")
}

// FilesByID returns files and documents of folders by their ids. It omits ids that do not exist.
func (s *Service) FilesByID(ctx context.Context, ids []string) (map[string]store.File, error) {
	fs, err := s.opts.Store.FilesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.File, len(ids))
	for _, f := range fs {
		s.setRunning(&f)
		out[f.ID] = f
	}
	for _, collection := range s.opts.Collections {
		var others []corpus.DocumentID
		for _, id := range ids {
			if _, known := out[id]; !known {
				others = append(others, corpus.DocumentID(id))
			}
		}
		if len(others) == 0 {
			break
		}
		docs, err := s.opts.Index.DocumentsByID(ctx, collection, others)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			out[string(d.ID)] = asFile(d)
		}
	}
	return out, nil
}

// setRunning sets the status of a file that is being indexed, which the store does not know.
func (s *Service) setRunning(f *store.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[f.ID] != nil && f.Status == store.Pending {
		f.Status = store.Running
	}
}

// listing returns the limit of a list: at most 10,001, by default 100.
func listing(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, 10_001)
}

// Files lists files ordered by id, beginning after the given id, at most limit: 100 if limit is 0, and never more than 10,001.
func (s *Service) Files(ctx context.Context, after string, limit int) ([]store.File, error) {
	fs, err := s.opts.Store.Files(ctx, after, listing(limit))
	for i := range fs {
		s.setRunning(&fs[i])
	}
	return fs, err
}

// DeleteFile deletes a file: later searches do not find it, it is in no vector store, and its bytes are removed if no other file has them. If
// it is being indexed, that stops first.
func (s *Service) DeleteFile(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx) // a deletion is completed even if the caller is gone
	s.mu.Lock()
	if _, going := s.removing[id]; going {
		s.mu.Unlock()
		return notFound(store.ErrNotFound, "file")
	}
	a := s.running[id]
	s.removing[id] = a != nil
	s.mu.Unlock()
	defer s.removed(ctx, id)
	if a != nil {
		a.cancel(errDeleted)
		<-a.done
	}
	f, err := s.File(ctx, id) // only now: its bytes may have been fetched meanwhile
	if err != nil {
		return err
	}
	err = s.removeBytes(ctx, f, func() (bool, error) {
		_, last, err := s.opts.Store.RemoveFile(ctx, id, s.opts.Now())
		return last, err
	})
	if err != nil {
		s.saveRecord(ctx, id)                                         // it may still exist
		return errors.Join(notFound(err, "file"), s.flushOutbox(ctx)) // only its bytes may be left: see completeRemovals
	}
	return s.flushOutbox(ctx)
}

// removed ends the deletion of a file. If it failed, the task of the file, which was stopped, starts again.
func (s *Service) removed(ctx context.Context, id string) {
	s.mu.Lock()
	again := s.removing[id]
	delete(s.removing, id)
	s.mu.Unlock()
	if again {
		if _, err := s.retry(ctx, id, ""); err != nil && !errors.Is(err, store.ErrNotFound) {
			s.opts.Logger.Error("start task again", "file", id, "error", err)
		}
		s.notifyWorkers()
	}
	s.notifyWaiters()
}

func (s *Service) isRemoving(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, going := s.removing[id]
	return going
}
