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

// The bounds of what comes with a file, in bytes.
const (
	maxID      = 64
	maxName    = 255
	maxPurpose = 64
	maxOptions = 16 << 10
)

// Upload takes a file: its bytes are on disk, and a task in the queue, when it returns. With a URL, the task fetches it first. An id that
// is there already is a Conflict, unless the bytes (or the URL) are the same: then the file that is there is given, and if it had
// failed, it is read anew. What it gives is in the vector stores asked for either way.
func (s *Service) Upload(ctx context.Context, u Upload) (store.File, store.Task, error) {
	f, t, err := s.upload(ctx, u)
	if err == nil && len(u.Stores) > 0 {
		err = s.tell(ctx)
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
		if u.Rest != nil {
			if err := u.Rest(&u); err != nil {
				return f, t, err
			}
		}
	}
	if err := s.checkUpload(ctx, &u, st); err != nil {
		return f, t, err
	}
	now := s.opts.Now().UTC()
	f = store.File{ID: cmp.Or(u.ID, s.opts.NewID()), Name: u.Name, MediaType: u.MediaType, Purpose: u.Purpose, MD5: u.MD5, URL: u.URL, Status: store.Pending,
		Options: u.Options, CreatedAt: now, UpdatedAt: now}
	if st != nil {
		f.Bytes, f.MD5, f.SHA256 = st.bytes, st.md5, st.sha256
	}
	t = store.Task{ID: "upload-" + f.ID, Type: "upload", Status: store.Pending, Resource: f.ID, CreatedAt: now, UpdatedAt: now}
	var twin store.File
	err = s.place(st, func() (err error) {
		if st != nil && u.SkipExists {
			if twin, err = s.twin(ctx, st.sha256); err != nil || twin.ID != "" {
				return cmp.Or(err, errTwin)
			}
		}
		if s.isRemoving(f.ID) {
			return fault.New(fault.Conflict, "the file of the id %s is being deleted", f.ID)
		}
		return s.opts.Store.AddFile(ctx, f, t, u.Stores)
	})
	if errors.Is(err, errTwin) {
		if err := s.heal(st); err != nil {
			return f, t, err
		}
		return s.again(ctx, twin, u)
	}
	if errors.Is(err, store.ErrExists) {
		there, err := s.opts.Store.File(ctx, f.ID)
		if errors.Is(err, store.ErrNotFound) {
			err = fault.Wrap(fault.Conflict, err, "the file of the id %s is being deleted", f.ID)
		}
		if err != nil {
			return f, t, err
		}
		if there.SHA256 != f.SHA256 && st != nil || st == nil && there.URL != bare(u.URL) && there.URL != u.URL {
			return f, t, fault.New(fault.Conflict, "another file with the id %s exists already", f.ID)
		}
		if err := s.heal(st); err != nil {
			return f, t, err
		}
		return s.again(ctx, there, u)
	}
	if m, ok := errors.AsType[*store.Missing](err); ok {
		err = fault.Wrap(fault.InvalidRequest, err, "no such %s: %s", m.What, m.ID)
	}
	if err != nil {
		return f, t, err
	}
	s.recordFile(ctx, f.ID)
	s.rouse()
	return f, t, nil
}

// errTwin tells that a file of the same bytes is given instead.
var errTwin = errors.New("a file of the same bytes is there")

// twin gives a file of the same bytes that did not fail; zero: there is none. It is asked where bytes are placed, so that of several
// uploads of the same at once, one alone finds none.
func (s *Service) twin(ctx context.Context, sum string) (store.File, error) {
	f, err := s.opts.Store.FileOf(ctx, sum)
	if errors.Is(err, store.ErrNotFound) || err == nil && (f.Status == store.Failed || f.Status == store.Cancelled) {
		return store.File{}, nil
	}
	return f, err
}

// again gives a file that was there, as if it had been uploaded now.
func (s *Service) again(ctx context.Context, f store.File, u Upload) (store.File, store.Task, error) {
	for _, id := range u.Stores {
		if err := s.opts.Store.Join(ctx, id, []string{f.ID}); err != nil {
			return f, store.Task{}, lost(err, "vector store")
		}
	}
	if f.Status == store.Failed {
		if _, err := s.retry(ctx, f.ID); err != nil {
			return f, store.Task{}, lost(err, "file")
		}
		s.rouse()
	}
	f, err := s.File(ctx, f.ID)
	if err != nil {
		return f, store.Task{}, err
	}
	t, err := s.Task(ctx, "upload-"+f.ID)
	return f, t, err
}

// retry has a file read anew.
func (s *Service) retry(ctx context.Context, id string) (store.Task, error) {
	return s.opts.Store.UpdateTask(ctx, "upload-"+id, func(t *store.Task, f *store.File) error {
		if f == nil {
			return store.ErrNotFound
		}
		now := s.opts.Now().UTC()
		t.Status, t.Progress, t.Failure, t.Tries, t.CreatedAt, t.UpdatedAt = store.Pending, 0, "", 0, now, now
		f.Status, f.Failure, f.UpdatedAt = store.Pending, "", now
		return nil
	})
}

// checkUpload holds an upload to its form and brings it into one.
func (s *Service) checkUpload(ctx context.Context, u *Upload, st *staged) error {
	if (u.Body == nil) == (u.URL == "") {
		return fault.Invalid("file", "want one of a file and a url")
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
			return fault.Invalid("url", "this server fetches none")
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
		return fault.Invalid("md5", "the bytes that came have another: %s", st.md5)
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

// Validate checks the purpose, the MD5 and the options, and sets the default purpose. [Service.Upload] calls it. A server that has these
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
	return nil
}

// checkID holds an id that a caller chose to the form of one. A document of a folder has its id for itself.
func (s *Service) checkID(ctx context.Context, id string) error {
	if !validID(id) {
		return fault.Invalid("id", "want a UUID, or 1 to %d letters, digits, dashes and underscores", maxID)
	}
	if s.loose.Load() {
		if err := s.tell(ctx); err != nil { // the index may still have one of this id that was deleted
			return err
		}
	}
	doc, err := s.ofFolders(ctx, id)
	if err == nil && doc.ID != "" {
		err = fault.New(fault.Conflict, "a document of a folder has the id %s", id)
	}
	return err
}

func validID(id string) bool { return len(id) <= maxID && index.ValidSet(id) }

// isObject tells whether bytes are one JSON object.
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

// bare is a URL without query and fragment, which may hold secrets; what was fetched is known by it.
func bare(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// File gives what is known of a file.
func (s *Service) File(ctx context.Context, id string) (store.File, error) {
	f, err := s.opts.Store.File(ctx, id)
	if err == nil {
		s.mark(&f)
	}
	return f, lost(err, "file")
}

// Named gives what is known of files, and of documents of folders, by their ids; those that are not there are left out.
func (s *Service) Named(ctx context.Context, ids []string) (map[string]store.File, error) {
	fs, err := s.opts.Store.Named(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.File, len(ids))
	for _, f := range fs {
		s.mark(&f)
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

// mark says of a file that it is being read, which is known here alone.
func (s *Service) mark(f *store.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[f.ID] != nil && f.Status == store.Pending {
		f.Status = store.Running
	}
}

// listing is how many of a list come at once: at most 10,001, and 100 where nobody says.
func listing(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, 10_001)
}

// Files lists files by id after the given one, at most limit: 100 if that is 0, and never more than 10,001.
func (s *Service) Files(ctx context.Context, after string, limit int) ([]store.File, error) {
	fs, err := s.opts.Store.Files(ctx, after, listing(limit))
	for i := range fs {
		s.mark(&fs[i])
	}
	return fs, err
}

// DeleteFile deletes a file: no search that begins afterwards finds it, it is in no vector store, and its bytes are gone if no other file has
// them. If it is being read, that ends first.
func (s *Service) DeleteFile(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx) // half a deletion is none
	s.mu.Lock()
	if _, going := s.removing[id]; going {
		s.mu.Unlock()
		return lost(store.ErrNotFound, "file")
	}
	a := s.running[id]
	s.removing[id] = a != nil
	s.mu.Unlock()
	defer s.removed(ctx, id)
	if a != nil {
		a.cancel(errDeleted)
		<-a.done
	}
	f, err := s.File(ctx, id) // not before: its bytes may have come meanwhile
	if err != nil {
		return err
	}
	err = s.unplace(f, func() (bool, error) {
		_, last, err := s.opts.Store.RemoveFile(ctx, id, s.opts.Now())
		return last, err
	})
	if err != nil {
		s.recordFile(ctx, id) // if it is still there
		return lost(err, "file")
	}
	return s.tell(ctx)
}

// removed ends the deletion of a file. Where it failed, the file's task, which nobody works on any more, begins anew.
func (s *Service) removed(ctx context.Context, id string) {
	s.mu.Lock()
	again := s.removing[id]
	delete(s.removing, id)
	s.mu.Unlock()
	if again {
		if _, err := s.retry(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			s.opts.Logger.Error("begin task anew", "file", id, "error", err)
		}
		s.rouse()
	}
	s.tellNews()
}

func (s *Service) isRemoving(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, going := s.removing[id]
	return going
}
