package app

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/files"
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
	return slices.DeleteFunc(names, func(name string) bool { return !a.hasDocuments(ctx, name) })
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
