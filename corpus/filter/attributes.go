package filter

import (
	"path"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
)

// OfPassage reports whether an attribute belongs to passages and not to documents.
func OfPassage(key string) bool {
	return slices.Contains([]string{"segment_index", "chunk_id", "heading", "page"}, key)
}

// attributeName returns the name of an attribute, whose key may have the prefix of Dublin Core elements in requests.
func attributeName(key string) string { return strings.TrimPrefix(key, "dc_") }

// OfDocument returns the attributes of an indexed document: those that its metadata states, and its type, path, file name and size.
func OfDocument(d corpus.Document) Attributes {
	meta := d.Metadata()
	return func(key string) (any, Truth) {
		switch key = attributeName(key); key {
		case "file_id":
			return string(d.ID), Yes
		case "filename", "name":
			return path.Base(d.URI), Yes
		case "path":
			if d.Path != "" {
				return d.Path, Yes
			}
			return d.URI, Yes
		case "title":
			return []any{meta.Title, d.Title}, Yes
		case "content_type", "mime_type", "file_type":
			return d.MediaType, Yes
		case "type":
			return typesOf(d.MediaType), Yes
		case "bytes":
			return float64(d.Bytes), Yes
		case "language":
			return []any{LanguageCode(meta.Language), meta.Language}, known(meta.Language)
		case "date":
			days, ok := ParseDate(meta.Date)
			if !ok {
				return nil, No
			}
			return days, Yes
		}
		if OfPassage(key) {
			return nil, Unknown
		}
		for _, e := range meta.Elements() {
			if attributeName(e.Name) == key {
				return *e.Value, known(*e.Value)
			}
		}
		return nil, No
	}
}

func known(s string) Truth {
	if s == "" {
		return No
	}
	return Yes
}

// mediaTypes are the short names of types of documents with their media types.
var mediaTypes = map[string][]string{
	"pdf": {"application/pdf"}, "markdown": {"text/markdown"}, "html": {"text/html"}, "text": {"text/plain"}, "table": {"text/csv", "text/tab-separated-values"},
}

// Types returns the short names of types of documents.
func Types() []string { return []string{"pdf", "markdown", "html", "text", "table"} }

// typesOf returns the names of a media type: itself, and its short name if it has one.
func typesOf(mediaType string) []any {
	out := []any{mediaType}
	for name, all := range mediaTypes {
		if slices.Contains(all, mediaType) {
			out = append(out, name)
		}
	}
	return out
}

// Languages are the names of languages with their codes (ISO 639-1).
var Languages = map[string]string{"english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl", "polish": "pl",
	"swedish": "sv", "danish": "da", "norwegian": "no", "finnish": "fi", "czech": "cs", "russian": "ru", "chinese": "zh", "japanese": "ja", "korean": "ko", "arabic": "ar",
	"turkish": "tr", "greek": "el"}

// LanguageCode returns the code of a language from its name or tag, such as en-GB; "" if it is unknown.
func LanguageCode(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if code, ok := Languages[s]; ok {
		return code
	}
	s, _, _ = strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	if len(s) != 2 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return s
}
