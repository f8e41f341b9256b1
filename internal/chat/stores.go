package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// table returns rows with aligned columns. It removes control sequences from cells and cuts long ones.
func table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		for i, cell := range r {
			if r[i] = display.Shorten(cell, 60); i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, r[i])
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func listCollections(ctx context.Context, s *conversation, _ string) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	all, more, err := s.list(ctx)
	if err != nil {
		return err
	}
	now := s.settings().stores
	used := func(id string) bool {
		return len(now) == 0 && id == "default" || slices.ContainsFunc(now, func(c collection) bool { return c.id == id })
	}
	rows := [][]string{{"", "NAME", "FILES", "READY", "FAILED", "ID"}}
	for _, v := range all {
		mark := ""
		if used(v.ID) {
			mark = "›"
		}
		n := v.FileCounts
		rows = append(rows, []string{mark, v.Name, fmt.Sprint(n.Total), fmt.Sprint(n.Completed), fmt.Sprint(n.Failed), v.ID})
	}
	text := table(rows)
	if len(all) == 0 {
		text = "there are no collections; /create NAME creates one"
	}
	if more {
		text += "\nand more"
	}
	s.ui.print(text)
	return nil
}

// maxUsed is the maximum number of selected collections.
const maxUsed = knowledge.MaxStores

func use(ctx context.Context, s *conversation, args string) error {
	if args == "" {
		s.ui.print("collections: " + label(s.settings().stores))
		return nil
	}
	var chosen []collection
	for name := range strings.SplitSeq(args, ",") {
		name = strings.TrimSpace(name)
		if all, err := words(name); err == nil && len(all) == 1 {
			name = all[0].text
		}
		if name == "" {
			continue
		}
		c, found, err := s.resolve(ctx, name)
		if err != nil {
			return err
		}
		if !found {
			if !s.ui.ask(ctx, "Collection "+display.Shorten(name, 60)+" does not exist. Create it?") {
				return errors.New("collection " + display.Shorten(name, 60) + " does not exist; /collections lists them, /create NAME creates one")
			}
			if c, err = s.make(ctx, name); err != nil {
				return err
			}
		}
		if !slices.Contains(chosen, c) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 || len(chosen) > maxUsed {
		return fmt.Errorf("select 1 to %d collections", maxUsed)
	}
	s.choose(chosen...)
	s.ui.print("collections: " + label(chosen))
	return nil
}

func (s *conversation) choose(c ...collection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stores = c
}

func (s *conversation) make(ctx context.Context, name string) (collection, error) {
	v, err := s.c.CreateStore(ctx, client.VectorStoreRequest{Name: name})
	if s.recordReply(err) != nil {
		return collection{}, err
	}
	c := collection{v.ID, v.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, c)
	return c, nil
}

func makeCollection(ctx context.Context, s *conversation, args string) error {
	all, err := words(args)
	if err != nil {
		return err
	}
	name := strings.Join(texts(all), " ")
	if name == "" {
		return errors.New("missing name: /create NAME")
	}
	if _, found, err := s.resolve(ctx, name); err != nil {
		return err
	} else if found && !s.ui.ask(ctx, "Collection "+display.Shorten(name, 60)+" exists. Create another one?") {
		return errors.New("collection " + display.Shorten(name, 60) + " exists; select it with /use")
	}
	c, err := s.make(ctx, name)
	if err != nil {
		return err
	}
	s.choose(c)
	s.ui.print("created and selected: " + label([]collection{c}))
	return nil
}

// maxListed is the maximum number of listed files of a collection.
const maxListed = 100

func listFiles(ctx context.Context, s *conversation, args string) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	stores := s.settings().stores
	if len(stores) == 0 {
		stores = []collection{{"default", "default"}}
	}
	rows := [][]string{{"FILE", "STATE", "BYTES", "COLLECTION", "ID"}}
	more := false
	var names, notes []string
	for _, c := range stores {
		l, err := s.c.StoreFiles(ctx, c.id, maxListed, "")
		if s.recordReply(err) != nil {
			return fmt.Errorf("%s: %w", display.Line(c.name), err)
		}
		more = more || l.HasMore
		for _, f := range l.Data {
			names = append(names, f.Filename)
			if args != "" && !strings.Contains(strings.ToLower(f.Filename), strings.ToLower(args)) {
				continue
			}
			rows = append(rows, []string{f.Filename, f.Status, fmt.Sprint(f.Bytes), c.name, f.ID})
			if f.ProcessingError != "" && len(notes) < 10 {
				notes = append(notes, display.Line(f.Filename)+": "+display.Shorten(f.ProcessingError, 300))
			}
		}
	}
	s.mu.Lock()
	s.names = names
	s.mu.Unlock()
	text := table(rows)
	if len(rows) == 1 {
		text = "no files in " + label(stores) + "; /upload PATH adds some"
	}
	if more {
		text += "\nand more"
	}
	s.ui.print(strings.Join(append([]string{text}, notes...), "\n"))
	return nil
}
