package app

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-rag/sluice/index"
)

// copyIndex copies the index of the tenant: its files, or its documents if a side has it in Weaviate.
func copyIndex(ctx context.Context, m *migration) error {
	if !m.otherIndex() {
		return copyFolder(indexPart)(ctx, m)
	}
	return m.indexes(ctx, func(from, to Index) error {
		names, err := from.Collections(ctx)
		if err != nil {
			return err
		}
		done := 0
		for _, name := range names {
			err := index.Copy(ctx, from, to, name, func(n int) {
				done += n
				m.o.Progress("documents of the index", done)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// compareIndex compares what copyIndex copies.
func compareIndex(ctx context.Context, m *migration) (from, to tally, err error) {
	if !m.otherIndex() {
		return compareFolder(indexPart)(ctx, m)
	}
	err = m.indexes(ctx, func(a, b Index) error {
		names, err := a.Collections(ctx)
		if err != nil {
			return err
		}
		more, err := b.Collections(ctx)
		if err != nil {
			return err
		}
		names = append(names, more...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if err := errors.Join(index.Sums(ctx, a, name, from.add), index.Sums(ctx, b, name, to.add)); err != nil {
				return err
			}
		}
		return nil
	})
	return from, to, err
}

// indexes calls do with the index of the tenant on both sides.
func (m *migration) indexes(ctx context.Context, do func(from, to Index) error) (err error) {
	from, err := m.from.openIndex(ctx, m.tenant)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := m.to.openIndex(ctx, m.tenant)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return do(from, to)
}

func (s *side) openIndex(ctx context.Context, tenant string) (Index, error) {
	cfg := s.cfg
	cfg.Store.Data = Folder(cfg.Store.Data, tenant)
	return s.shared.openIndex(ctx, tenant, cfg, nil, s.shared.logger)
}
