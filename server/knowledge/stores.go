package knowledge

import (
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Limits of the fields of a vector store.
const (
	maxTitle       = 512 // bytes of a name
	maxDescription = 8 << 10
	maxMetadata    = 64 << 10
	maxListed      = 10_000               // ids of files in a reply
	maxLifetime    = 10 * 365 * 24 * 3600 // seconds
)

type (
	storeUpdate struct {
		idParam
		knowledge.VectorStoreUpdate
	}
	storeFilesParams struct {
		idParam
		listParams
	}
)

func (s *routes) storeRoutes() []server.Route {
	id := []any{idParam{}}
	return []server.Route{
		{Method: "POST", Path: "/v1/vector_stores", Scope: auth.Write, Serve: s.createStore, MaxBody: maxIDs,
			Summary: "Create a vector store", Request: []any{knowledge.VectorStoreRequest{}}, Reply: knowledge.VectorStore{}, Faults: []int{400, 404, 409, 413, 415, 507}},
		{Method: "GET", Path: "/v1/vector_stores", Scope: auth.Read, Serve: s.listStores,
			Summary: "List vector stores", Request: []any{listParams{}}, Reply: knowledge.VectorStoreList{}, Faults: []int{400}},
		{Method: "GET", Path: "/v1/vector_stores/{id}", Scope: auth.Read, Serve: s.getStore,
			Summary: "Show a vector store", Request: id, Reply: knowledge.VectorStore{}, Faults: []int{404}},
		{Method: "POST", Path: "/v1/vector_stores/{id}", Scope: auth.Write, Serve: s.modifyStore, MaxBody: maxIDs, Timeout: readingTime,
			Summary: "Change a vector store, and add or remove files", Request: []any{storeUpdate{}}, Reply: knowledge.VectorStore{}, Faults: []int{400, 404, 413, 415, 507}},
		{Method: "DELETE", Path: "/v1/vector_stores/{id}", Scope: auth.Write, Serve: s.deleteStore, Timeout: readingTime,
			Summary: "Delete a vector store, but not its files", Request: id, Reply: knowledge.Deleted{}, Faults: []int{404, 507}},
		{Method: "GET", Path: "/v1/vector_stores/{id}/files", Scope: auth.Read, Serve: s.storeFiles,
			Summary: "List the files of a vector store", Request: []any{storeFilesParams{}}, Reply: knowledge.FileList{}, Faults: []int{400, 404}},
		{Method: "POST", Path: "/v1/vector_stores/{id}/search", Scope: auth.Read, Serve: s.search, Timeout: readingTime,
			Summary: "Search a vector store", Request: []any{searchRequest{}}, Reply: knowledge.SearchPage{}, Faults: []int{400, 404, 413, 415}},
		{Method: "GET", Path: "/v1/vector_stores/{id}/summary", Scope: auth.Read, Serve: s.summary, Timeout: readingTime,
			Summary: "Summarize a vector store", Request: []any{summaryParams{}}, Reply: knowledge.VectorStoreSummary{}, Faults: []int{400, 404}},
	}
}

func (s *routes) createStore(w http.ResponseWriter, r *http.Request) error {
	var in knowledge.VectorStoreRequest
	if err := server.DecodeJSON(r, &in); err != nil {
		return err
	}
	n := files.StoreParams{ID: in.ID, Name: strings.TrimSpace(in.Name), Files: in.FileIDs}
	if in.Description != nil {
		n.Description = *in.Description
	}
	if err := described(n.Name, n.Description); err != nil {
		return err
	}
	var err error
	if n.Metadata, err = object("metadata", in.Metadata, maxMetadata); err != nil {
		return err
	}
	if in.ExpiresAfter != nil {
		if n.Lifetime, err = lifetime(*in.ExpiresAfter); err != nil {
			return err
		}
	}
	info, err := s.o.Files.CreateStore(r.Context(), n)
	if err != nil {
		return notFound(err, "file")
	}
	server.ReplyJSON(w, http.StatusOK, storeOf(info, "create-"+info.ID))
	return nil
}

func described(name, description string) error {
	switch {
	case len(name) > maxTitle || !printable(name):
		return fault.Invalid("name", "want at most %d bytes without control characters", maxTitle)
	case len(description) > maxDescription:
		return fault.Invalid("description", "want at most %d bytes", maxDescription)
	}
	return nil
}

func lifetime(seconds int64) (time.Duration, error) {
	if seconds < 0 || seconds > maxLifetime {
		return 0, fault.Invalid("expires_after", "want 0 to %d seconds", maxLifetime)
	}
	return time.Duration(seconds) * time.Second, nil
}

func (s *routes) getStore(w http.ResponseWriter, r *http.Request) error {
	info, err := s.o.Files.Store(r.Context(), r.PathValue("id"))
	if err != nil {
		return notFound(err, "vector store")
	}
	server.ReplyJSON(w, http.StatusOK, storeOf(info, ""))
	return nil
}

func (s *routes) listStores(w http.ResponseWriter, r *http.Request) error {
	after, limit, err := page(r)
	if err != nil {
		return err
	}
	infos, err := s.o.Files.Stores(r.Context(), after, limit+1)
	if err != nil {
		return err
	}
	list := knowledge.VectorStoreList{Object: "list", Data: []knowledge.VectorStore{}, HasMore: len(infos) > limit}
	for _, info := range infos[:min(limit, len(infos))] {
		list.Data = append(list.Data, storeOf(info, ""))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = list.Data[0].ID, list.Data[n-1].ID
	}
	server.ReplyJSON(w, http.StatusOK, list)
	return nil
}

func (s *routes) modifyStore(w http.ResponseWriter, r *http.Request) error {
	var in knowledge.VectorStoreUpdate
	if err := server.DecodeJSON(r, &in); err != nil {
		return err
	}
	c := files.StoreUpdate{Name: in.Name, Description: in.Description, Join: in.JoinFileIDs, Leave: in.LeftFileIDs}
	name, description := "", ""
	if in.Name != nil {
		name = *in.Name
		if strings.TrimSpace(name) == "" {
			return fault.Invalid("name", "want a text")
		}
	}
	if in.Description != nil {
		description = *in.Description
	}
	if err := described(name, description); err != nil {
		return err
	}
	var err error
	if c.Metadata, err = object("metadata", in.Metadata, maxMetadata); err != nil {
		return err
	}
	if in.ExpiresAfter != nil {
		d, err := lifetime(*in.ExpiresAfter)
		if err != nil {
			return err
		}
		c.Lifetime = &d
	}
	info, err := s.o.Files.ModifyStore(r.Context(), r.PathValue("id"), c)
	if err != nil {
		return notFound(err, "vector store")
	}
	task := ""
	if len(c.Join) > 0 {
		task = "vectorize-" + info.ID
	}
	server.ReplyJSON(w, http.StatusOK, storeOf(info, task))
	return nil
}

func (s *routes) deleteStore(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := s.o.Files.DeleteStore(r.Context(), id); err != nil {
		return notFound(err, "vector store")
	}
	server.ReplyJSON(w, http.StatusOK, knowledge.Deleted{ID: id, Object: "vector_store.deleted", Deleted: true, TaskID: "delete-" + id})
	return nil
}

func (s *routes) storeFiles(w http.ResponseWriter, r *http.Request) error {
	after, limit, err := page(r)
	if err != nil {
		return err
	}
	members, err := s.o.Files.Members(r.Context(), r.PathValue("id"), after, limit+1)
	if err != nil {
		return notFound(err, "vector store")
	}
	list := knowledge.FileList{Object: "list", Data: []knowledge.File{}, HasMore: len(members) > limit}
	members = members[:min(limit, len(members))]
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.File
	}
	named, err := s.o.Files.FilesByID(r.Context(), ids)
	if err != nil {
		return err
	}
	for _, m := range members {
		f, ok := named[m.File]
		if !ok {
			f = store.File{ID: m.File, Status: m.Status} // it is being deleted
		}
		list.Data = append(list.Data, fileOf(f))
		list.LastID = m.File
	}
	if len(list.Data) > 0 {
		list.FirstID = list.Data[0].ID
	}
	server.ReplyJSON(w, http.StatusOK, list)
	return nil
}

func storeOf(info files.StoreInfo, task string) knowledge.VectorStore {
	out := knowledge.VectorStore{ID: info.ID, Object: "vector_store", Name: first(info.Name, info.ID), Description: info.Description, CreatedAt: unix(info.CreatedAt),
		UpdatedAt: unix(info.UpdatedAt), ExpiresAt: unix(info.ExpiresAt), Status: "completed", TaskID: task, FileIDs: orEmptyList(info.Files), Bytes: info.Bytes,
		FileCounts: knowledge.FileCounts(info.Counts), Metadata: orEmpty(info.Metadata)}
	if info.Counts.InProgress > 0 {
		out.Status = "in_progress"
	}
	if len(out.FileIDs) > maxListed {
		out.FileIDs = out.FileIDs[:maxListed]
	}
	return out
}
