package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/server/sources"
	"github.com/sluice-rag/sluice/source"
)

// IngestedPaths returns the files and folders that were ingested and are no sources, by collection and path. Nothing but the documents tells which ones these are.
func (a *App) IngestedPaths(ctx context.Context) ([]sources.Path, error) {
	known, err := a.sources.List(ctx)
	if err != nil {
		return nil, err
	}
	names, err := a.Index.Collections(ctx)
	if err != nil {
		return nil, fmt.Errorf("list collections: %w", err)
	}
	count := map[sources.Path]int{}
	for _, name := range names {
		if name == files.Collection {
			continue
		}
		docs, err := a.Index.Documents(ctx, name, "", 0)
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		for _, d := range docs {
			ofSource := func(s source.Source) bool { return s.Collection == name && ingest.Within(d.URI, s.Location) }
			if root := ingest.Root(d); root != "" && !slices.ContainsFunc(known, ofSource) {
				count[sources.Path{Path: root, Collection: name}]++
			}
		}
	}
	var out []sources.Path
	for p, n := range count {
		p.Documents = n
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b sources.Path) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}
