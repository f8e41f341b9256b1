package parse

import (
	"fmt"
	"html"
	"regexp"
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

// frontMatter parses and removes YAML front matter: the lines between two lines of three dashes at the beginning of a document.
func frontMatter(s string) (body string, meta corpus.DublinCore) {
	if !strings.HasPrefix(s, "---\n") {
		return s, meta
	}
	const most = 64 << 10
	head := s[4:min(len(s), most)]
	end := strings.Index("\n"+head, "\n---\n")
	skip := 5
	if end < 0 && strings.HasSuffix(head, "\n---") {
		end, skip = len(head)-3, 3
	}
	if end < 0 {
		return s, meta
	}
	head = s[4 : 4+end]
	values, err := readYAML(head)
	if err != nil {
		return s, meta
	}
	return s[min(len(s), 4+end+skip-1):], dublinCore(values)
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

func dublinCore(values map[string]any) corpus.DublinCore {
	get := func(keys ...string) string {
		for _, want := range keys {
			for k, v := range values {
				if strings.EqualFold(strings.TrimPrefix(strings.ToLower(k), "dc."), want) {
					if s := scalar(v); s != "" {
						return s
					}
				}
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
		Date:        get("date", "published", "created", "updated"),
		Language:    get("language", "lang"),
		Rights:      get("rights", "license", "copyright"),
	}
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
