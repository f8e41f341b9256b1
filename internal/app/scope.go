package app

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/lang"
)

// defaultScope returns what a question searches that names no collection, whatever its protocol: the documents of the server's folders and sources and the
// uploaded files, without those collections that the key does not permit. If it permits neither, [permit] refuses the question.
func (a *App) defaultScope(ctx context.Context) string {
	s := scopeOf(a.Config.Store.Collection)
	i, _ := auth.From(ctx)
	permitted := slices.DeleteFunc(slices.Clone(s.Collections), func(name string) bool { return i.CheckCollection(name) != nil })
	if len(permitted) > 0 {
		s.Collections = permitted
	}
	return s.String()
}

// maxVisible is how many collections [App.visibleCollections] looks at.
const maxVisible = 100

// visibleCollections returns the collections with documents if the caller of a context may list documents.
func (a *App) visibleCollections(ctx context.Context) []string {
	if i, ok := auth.From(ctx); ok && (i.Limited() || !i.Permits(auth.Read)) || !ok && a.keys != nil {
		return nil
	}
	names, err := a.Index.Collections(ctx)
	if err != nil {
		return nil // the question has an error already
	}
	names = names[:min(len(names), maxVisible)]
	return slices.DeleteFunc(names, func(name string) bool {
		has, err := a.hasDocuments(ctx, name)
		return err != nil || !has
	})
}

// scopeOf returns the scope of a collection and all uploaded files. If the name has another meaning in a list, such as one with a comma, it is that
// of the collection alone.
func scopeOf(collection string) corpus.Scope {
	s, err := corpus.ParseScope(corpus.Scope{Collections: []string{collection, files.Collection}}.String())
	if err != nil || len(s.Collections) != 2 || !slices.Contains(s.Collections, collection) {
		return corpus.Scope{Collections: []string{collection}}
	}
	return s
}

// CheckScope returns a [fault.NoDocuments] if a scope names a document that is not indexed, or a collection or vector store that has no documents and no record: in a list, the others would be searched as if
// it had not been named, and a greeting would be answered. The known names are not checked. Other errors are those of the index, of the file database and of the context.
func (a *App) CheckScope(ctx context.Context, text string, known ...string) error {
	s, _ := corpus.ParseScope(text) // the pipeline returns the error
	if len(s.Documents)+len(s.Collections) > 1 {
		whole, err := a.Index.Documents(ctx, text, "", 1)
		if err != nil || len(whole) > 0 { // a name with a comma
			return err
		}
	}
	for _, id := range s.Documents {
		if found, err := a.hasDocuments(ctx, corpus.Scope{Documents: []corpus.DocumentID{id}}.String()); err != nil {
			return err
		} else if !found {
			return fault.New(fault.NoDocuments, "no indexed document has the id %s", lang.Truncate(string(id), maxNames))
		}
	}
	exists := a.hasDocuments
	if a.files.service != nil {
		exists = a.files.service.HasStore
	}
	for _, name := range s.Collections {
		if name == files.Collection || slices.Contains(known, name) {
			continue
		}
		if found, err := exists(ctx, name); err != nil {
			return err
		} else if found {
			continue
		}
		end := ""
		if others := a.visibleCollections(ctx); len(others) > 0 {
			end = "; there are documents in " + lang.Truncate(strings.Join(others, ", "), maxNames)
		}
		return fault.New(fault.NoDocuments, "no documents are in the collection %s%s", lang.Truncate(name, maxNames), end)
	}
	return nil
}

// maxNames limits the names of collections in an error, in bytes.
const maxNames = 500
