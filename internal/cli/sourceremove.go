package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/server/sources"
)

type sourcesRemoveCmd struct {
	sourcesOf
	Source string `arg:"" help:"Id or location of a source, or the path of a file or folder, which need not exist any more."`
}

// Run removes a source, or the documents of a path that is no source, and waits until the documents are gone.
func (c *sourcesRemoveCmd) Run(e *env) error {
	return c.with(e, func(s sourceService) error {
		all, err := s.list(e.ctx)
		if err != nil {
			return err
		}
		v, ok := findIn(all, c.Source)
		if !ok {
			return removePath(e, s, all, c.Source)
		}
		id := v.ID
		if _, err := s.remove(e.ctx, id, sources.Path{}); err != nil {
			return err
		}
		for {
			all, err := s.list(e.ctx)
			if err != nil {
				return err
			}
			n := slices.IndexFunc(all.Sources, func(v sources.SourceView) bool { return v.ID == id })
			if n < 0 {
				break
			}
			if last := all.Sources[n].LastSync; last != nil && last.Error != "" {
				return fmt.Errorf("%s: %s", id, last.Error)
			}
			if err := wait(e.ctx); err != nil {
				return err
			}
		}
		fmt.Fprintln(e.Out, "removed", id, "with its documents")
		return nil
	})
}

// removePath removes the documents of a file or folder that is no source, in all collections. The file or folder need not exist any more.
func removePath(e *env, s sourceService, all sources.SourceList, name string) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return errNoSource(name)
	}
	path := filepath.ToSlash(abs)
	for _, v := range all.Sources {
		if v.Kind == "folder" && (ingest.Within(v.Location, path) || ingest.Within(path, v.Location)) {
			return fmt.Errorf("%s overlaps with the source %s, %s: to remove its documents, remove the source", path, v.ID, v.Location)
		}
	}
	found, removed := false, 0
	for _, collection := range collectionsOf(all.Paths, path) {
		found = true
		id, err := s.remove(e.ctx, "", sources.Path{Path: path, Collection: collection})
		if err != nil {
			return err
		}
		r, err := s.follow(e.ctx, id, func(ingest.Progress) {})
		if err == nil && r.Error != "" {
			err = errors.New(r.Error)
		}
		if err != nil {
			return fmt.Errorf("remove documents: %w", err)
		}
		removed += r.Removed
	}
	if !found || removed == 0 {
		return fmt.Errorf("there is no source %.200q, and no document of this path is indexed: \"sluice sources list\" shows all", name)
	}
	fmt.Fprintf(e.Out, "removed %d documents of %s\n", removed, path)
	return nil
}

// collectionsOf returns the collections that may have documents of a path.
func collectionsOf(paths []sources.Path, path string) (names []string) {
	for _, p := range paths {
		if (ingest.Within(p.Path, path) || ingest.Within(path, p.Path)) && !slices.Contains(names, p.Collection) {
			names = append(names, p.Collection)
		}
	}
	return names
}
