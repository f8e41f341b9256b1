package wire

import (
	"maps"
	"slices"
)

// Limits of OpenAI for the attributes of a file: their number, and the bytes of a key and of a text.
const (
	maxAttributes     = 16
	maxAttributeKey   = 64
	maxAttributeValue = 512
)

// ResultAttributes returns the attributes of a search result: chunk_id and level of the passage, and as many of its document as OpenAI's limits permit, in the order of their names.
func ResultAttributes(chunk, level string, document map[string]any) map[string]any {
	out := map[string]any{"chunk_id": chunk}
	if level != "" {
		out["level"] = level
	}
	for _, key := range slices.Sorted(maps.Keys(document)) {
		value := document[key]
		if text, ok := value.(string); ok {
			value = Clip(text, maxAttributeValue)
		}
		if _, taken := out[key]; !taken && len(out) < maxAttributes && len(key) <= maxAttributeKey {
			out[key] = value
		}
	}
	return out
}
