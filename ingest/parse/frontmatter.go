package parse

import (
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/sluice-rag/sluice/corpus"
)

// anchored matches YAML anchors and aliases. Front matter does not need them, and they can expand without limit.
var anchored = regexp.MustCompile(`(?m)(?:^|[\s\[{,:])[&*][^\s&*]`)

// nested matches a line of YAML with more than a hundred nested sequences or mappings. The memory of the decoder grows with the square of
// their number.
var nested = regexp.MustCompile(`(?:[-?:][ \t]+){100}`)

// frontMatter removes and returns YAML front matter: the lines between two lines of three dashes at the beginning of a document.
func frontMatter(s string) (body string, values map[string]any) {
	if !strings.HasPrefix(s, "---\n") {
		return s, nil
	}
	const most = 64 << 10
	head := s[4:min(len(s), most)]
	end := strings.Index("\n"+head, "\n---\n")
	skip := 5
	if end < 0 && strings.HasSuffix(head, "\n---") {
		end, skip = len(head)-3, 3
	}
	if end < 0 {
		return s, nil
	}
	head = s[4 : 4+end]
	values, err := readYAML(head)
	if err != nil {
		return s, nil
	}
	return s[min(len(s), 4+end+skip-1):], values
}

func readYAML(s string) (values map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read front matter: panic: %v", r)
		}
	}()
	if anchored.MatchString(s) || nested.MatchString(s) || strings.Count(s, "[")+strings.Count(s, "{") > 1000 {
		return nil, nil
	}
	return values, yaml.Unmarshal([]byte(s), &values)
}

// prefixes precede the names of elements in front matter and in the meta elements of HTML.
var prefixes = []string{"dcterms.", "dcterms:", "dc.", "dc:", "dc_", "citation_"}

// dublinCore returns the metadata among named values, and the named contributor. The names of elements may have a prefix; case does not
// matter. A name without a prefix takes precedence, so that the result does not depend on the order of a map.
func dublinCore(values map[string]any) (meta corpus.DublinCore, contributor string) {
	named := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := strings.ToLower(strings.TrimSpace(key))
		plain := true
		for _, prefix := range prefixes {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				name, plain = rest, false
				break
			}
		}
		if s := scalar(values[key]); s != "" && (plain || named[name] == "") {
			named[name] = s
		}
	}
	get := func(names ...string) string {
		for _, name := range names {
			if named[name] != "" {
				return named[name]
			}
		}
		return ""
	}
	return corpus.DublinCore{
		Title:       get("title"),
		Creator:     get("creator", "author", "authors"),
		Subject:     get("subject", "tags", "keywords", "categories"),
		Description: get("description", "summary", "abstract"),
		Publisher:   get("publisher"),
		Date:        get("date", "published", "publication_date", "online_date", "issued", "created", "updated"),
		Language:    get("language", "lang"),
		Rights:      get("rights", "license", "copyright"),
		Source:      get("source", "source_url", "canonical"),
		Identifier:  get("identifier", "doi", "isbn"),
	}, get("contributor")
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case time.Time:
		return v.Format(time.DateOnly)
	case []any:
		var parts []string
		for _, e := range v {
			if s := scalar(e); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		return scalar(v["name"])
	}
	return fmt.Sprint(v)
}

// unescape resolves backslash escapes and entities of Markdown text.
func unescape(seg []byte, raw bool) []byte {
	s := string(seg)
	if raw || !strings.ContainsAny(s, `\&`) {
		return seg
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			i++
			if s[i] == '&' {
				b.WriteString("&amp;")
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return []byte(html.UnescapeString(b.String()))
}
