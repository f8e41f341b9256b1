package source

import (
	"context"
	"math"

	"github.com/sluice-rag/sluice/fault"
)

// Limits of the attributes of a source, in bytes for texts.
const (
	maxAttributes     = 50
	maxAttributeName  = 100
	maxAttributeValue = 1000
)

// checkAttributes returns an error of the type [fault.Error] if documents cannot have attributes.
func checkAttributes(attributes map[string]any) error {
	if len(attributes) > maxAttributes {
		return fault.Invalid("metadata", "want at most %d attributes", maxAttributes)
	}
	for name, value := range attributes {
		ok := false
		switch v := value.(type) {
		case string:
			ok = len(v) <= maxAttributeValue && Printable(v)
		case float64:
			ok = !math.IsNaN(v) && !math.IsInf(v, 0)
		case bool:
			ok = true
		}
		if !ok || name == "" || len(name) > maxAttributeName || !Printable(name) {
			return fault.Invalid("metadata", "want names of 1 to %d bytes with texts of at most %d bytes, numbers or truth values, without control characters", maxAttributeName, maxAttributeValue)
		}
	}
	return nil
}

// Attributes returns the attributes of documents that are of sources with attributes, by the ids of the documents. They must not be changed.
func (s *Service) Attributes(ctx context.Context, documents []string) (map[string]map[string]any, error) {
	all, err := s.o.Store.Sources(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]map[string]any{}
	for _, src := range all {
		if len(src.Attributes) > 0 {
			known[src.ID] = src.Attributes
		}
	}
	if len(known) == 0 {
		return nil, nil
	}
	of, err := s.o.Finder.SourcesOf(ctx, documents)
	out := map[string]map[string]any{}
	for id, source := range of {
		if attributes := known[source]; attributes != nil {
			out[id] = attributes
		}
	}
	return out, err
}
