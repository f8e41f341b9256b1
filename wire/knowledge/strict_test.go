package knowledge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// The validator below does not use the types of the package. It checks what the public client requires of a snapshot: the
// client does not show other snapshots, or stops.

// longest is the maximum length of a line of a stream.
const longest = 120_000 + len("data: \n")

var statuses = map[string][]string{
	"message":             {"in_progress", "completed", "incomplete"},
	"reasoning":           {"in_progress", "completed", "incomplete"},
	"file_search_call":    {"in_progress", "searching", "completed", "incomplete", "failed"},
	"web_search_call":     {"in_progress", "searching", "completed", "failed"},
	"list_documents_call": {"in_progress", "searching", "completed", "incomplete"},
	"page_reader_call":    {"in_progress", "searching", "completed", "incomplete"},
}

var (
	errorCodes = []string{"server_error", "rate_limit_exceeded", "invalid_prompt", "vector_store_timeout"}
	toolTypes  = []string{"file_search", "web_search", "list_documents", "file_reader", "page_reader"}
	markers    = regexp.MustCompile(`⟦⟦(\d+)⟧⟧`)
)

// object reads required fields of a JSON object and collects errors.
type object struct {
	m    map[string]any
	path string
	errs *[]error
}

func (o object) wrong(format string, args ...any) {
	*o.errs = append(*o.errs, fmt.Errorf(o.path+": "+format, args...))
}

func field[T any](o object, name string) (v T) {
	v, ok := o.m[name].(T)
	if !ok {
		o.wrong("%s is %v", name, o.m[name])
	}
	return v
}

func (o object) in(name string, of ...string) {
	if s := field[string](o, name); !slices.Contains(of, s) {
		o.wrong("%s is %q", name, s)
	}
}

func (o object) each(name string, f func(object)) {
	for i, v := range field[[]any](o, name) {
		m, ok := v.(map[string]any)
		if !ok {
			o.wrong("%s[%d] is %v", name, i, v)
			continue
		}
		f(object{m, fmt.Sprintf("%s.%s[%d]", o.path, name, i), o.errs})
	}
}

func (o object) texts(name string) {
	for _, v := range field[[]any](o, name) {
		if _, ok := v.(string); !ok {
			o.wrong("%s holds %v", name, v)
		}
	}
}

func (o object) optional(name string, f func(object)) {
	if v, there := o.m[name]; there {
		m, ok := v.(map[string]any)
		if !ok {
			o.wrong("%s is %v", name, v)
			return
		}
		f(object{m, o.path + "." + name, o.errs})
	}
}

// validate checks a snapshot.
func validate(data []byte) error {
	var errs []error
	if len(data)+len("data: \n") > longest {
		errs = append(errs, fmt.Errorf("a line of %d bytes", len(data)))
	}
	if bytes.ContainsAny(data, "\u0085\u2028\u2029\n\r\v\f\x1c\x1d\x1e") {
		errs = append(errs, errors.New("more than a line"))
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	r := object{m, "response", &errs}
	r.in("object", "response")
	r.in("status", "in_progress", "completed", "failed", "incomplete")
	if field[string](r, "id") == "" || field[string](r, "model") == "" {
		r.wrong("no id or model")
	}
	field[float64](r, "created_at")
	field[bool](r, "parallel_tool_calls")
	if s, word := m["tool_choice"].(string); !word || !slices.Contains([]string{"none", "auto", "required"}, s) {
		r.optional("tool_choice", func(o object) { o.in("type", "file_search") })
	}
	r.each("tools", func(o object) {
		o.in("type", toolTypes...)
		if o.m["type"] == "file_search" || o.m["type"] == "list_documents" {
			o.texts("vector_store_ids")
		}
	})
	r.optional("error", func(o object) {
		o.in("code", errorCodes...)
		field[string](o, "message")
	})
	r.optional("incomplete_details", func(o object) { o.in("reason", "max_output_tokens", "content_filter") })
	r.optional("usage", func(o object) {
		if field[float64](o, "input_tokens")+field[float64](o, "output_tokens") != field[float64](o, "total_tokens") {
			o.wrong("does not add up")
		}
		o.optional("input_tokens_details", func(o object) { field[float64](o, "cached_tokens") })
		o.optional("output_tokens_details", func(o object) { field[float64](o, "reasoning_tokens") })
		if o.m["input_tokens_details"] == nil || o.m["output_tokens_details"] == nil {
			o.wrong("no details")
		}
	})
	r.optional("metadata", func(o object) {
		for k := range o.m {
			field[string](o, k)
		}
	})
	ids := map[string]bool{}
	r.each("output", func(o object) {
		validateItem(o)
		if id := field[string](o, "id"); id == "" || ids[id] {
			o.wrong("the id %q is there twice", id)
		} else {
			ids[id] = true
		}
		if r.m["status"] != "in_progress" && (o.m["status"] == "in_progress" || o.m["status"] == "searching") {
			o.wrong("is %s in a response that has ended", o.m["status"])
		}
	})
	if r.m["status"] != "in_progress" {
		if r.m["usage"] == nil || !readable(m) {
			r.wrong("ends without a text or its usage")
		}
	}
	return errors.Join(errs...)
}

func validateItem(o object) {
	kind := field[string](o, "type")
	if statuses[kind] == nil {
		o.wrong("type is %q", kind)
	}
	o.in("status", statuses[kind]...)
	switch kind {
	case "message":
		o.in("role", "assistant")
		o.each("content", func(p object) {
			p.in("type", "output_text")
			p.each("annotations", validateCitation)
			text := field[string](p, "text")
			if err := inRange(text, len(field[[]any](p, "annotations"))); err != nil {
				p.wrong("%v", err)
			}
			if rest := markers.ReplaceAllString(text, ""); strings.Contains(rest, "⟦⟦") {
				p.wrong("a broken marker")
			}
		})
	case "reasoning":
		o.each("summary", func(p object) {
			p.in("type", "summary_text")
			field[string](p, "text")
		})
	case "page_reader_call":
	default:
		o.texts("queries")
	}
	if v, there := o.m["progress"]; there {
		if f, ok := v.(float64); !ok || f < 0 || f > 1 {
			o.wrong("progress is %v", v)
		}
	}
	if v, there := o.m["execution_trace"]; there {
		field[string](object{map[string]any{"trace": v}, o.path, o.errs}, "trace")
	}
	if _, there := o.m["annotations"]; there {
		o.each("annotations", validateCitation)
	}
}

func validateCitation(o object) {
	o.in("type", "file_citation")
	field[string](o, "file_id")
	if i := field[float64](o, "index"); i < 0 || i != float64(int(i)) {
		o.wrong("index %v", i)
	}
	if field[string](o, "filename") == "" {
		o.wrong("no filename")
	}
	if s, there := o.m["snippet"]; there && len([]rune(s.(string))) > 400 {
		o.wrong("a snippet of %d characters", len([]rune(s.(string))))
	}
}

// inRange checks that each marker has an annotation, and that annotations are first cited in their order.
func inRange(text string, annotations int) error {
	next := 1
	for _, m := range markers.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		if n < 1 || n > annotations || n > next {
			return fmt.Errorf("marker %d of %d annotations, after %d", n, annotations, next-1)
		}
		next = max(next, n+1)
	}
	return nil
}

// readable reports whether a message has text.
func readable(m map[string]any) bool {
	out, _ := m["output"].([]any)
	for _, v := range out {
		it, _ := v.(map[string]any)
		parts, _ := it["content"].([]any)
		for _, v := range parts {
			p, _ := v.(map[string]any)
			if s, _ := p["text"].(string); strings.TrimSpace(s) != "" {
				return true
			}
		}
	}
	return false
}

// TestTheValidatorRefuses checks that invalid snapshots are rejected.
func TestTheValidatorRefuses(t *testing.T) {
	good := `{"id":"a","object":"response","created_at":1,"model":"m","parallel_tool_calls":true,"tool_choice":"auto","tools":[],"status":"in_progress","output":[` +
		`{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[` +
		`{"type":"file_citation","file_id":"f","index":0,"filename":"f"}],"text":"a ⟦⟦1⟧⟧"}]}]}`
	require.NoError(t, validate([]byte(good)))
	for old, bad := range map[string]string{
		`"response"`: `"answer"`, `:1,"model"`: `:"1","model"`, `"auto"`: `null`, `"tools":[]`: `"tools":[{"type":"mcp"}]`, `"in_progress","output"`: `"queued","output"`,
		`"assistant"`: `"user"`, `"completed"`: `"failed"`, `"annotations":[`: `"quotes":[`, `⟦⟦1⟧⟧`: `⟦⟦2⟧⟧`, `"index":0`: `"index":-1`,
		`"in_progress",`: `"completed",`, `{"type":"message"`: `{"type":"mcp_call"`, `"tools"`: `"error":{"code":"CANCELLED"},"tools"`,
		`"created_at"`: `"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2},"created_at"`,
	} {
		if !strings.Contains(good, old) || validate([]byte(strings.Replace(good, old, bad, 1))) == nil {
			t.Errorf("%s in the place of %s is accepted", bad, old)
		}
	}
	if knowledge.Name == "" {
		t.Error("no name")
	}
}
