// Package prompt holds the texts that models are asked with, in files that users can read and replace, and parses the
// replies.
//
// A prompt is a [text/template] file with two parts, each after a line of its own:
//
//	[system]
//	You judge how far passages help to answer a question. …
//
//	[user]
//	{{.Question}}
//
//	{{range .Passages}}{{.}}
//
//	{{end}}Score each of these passages.
//
// The first line is [system]. White space around a part is trimmed. The data of a template is the type of the same name:
// [Analysis] for analyze.md, [Conditions] for conditions.md, [Hypothesis] for hyde.md, [Grading] for grade.md, [Verification] for verify.md, [Planning]
// for plan.md, [Proposing] for propose.md, [Entities] for entities.md, [Condensing] for condense.md, [Summarizing] for
// summarize_history.md, [Titling] for title.md and [Answer] for answer.md. Untrusted text is passed to the template inside a fence, so that no template can forget it:
//
//	<passage id="3" tag="f3a9c1d2e4b58607">
//	Lighthouses › Farland
//
//	The lamp was lit in 1871.
//	</passage f3a9c1d2e4b58607>
//
// The tag is random for each request, so that a document cannot know it. Text that looks like a fence or like a control
// token of a model is made harmless, and so are the brackets that mark citations. fence.md explains the fences; it ends
// the system part of every prompt and gets {{.Tag}}. repair.md answers a model whose reply was invalid; it gets
// {{.Complaint}} and {{.Schema}}. again.md does so where tools should have been called; it gets {{.Complaint}}. The JSON
// Schemas of the replies are beside the prompts.
package prompt

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-rag/sluice/model"
)

//go:embed *.md *.json
var shipped embed.FS

// maxFile is the maximum size of a prompt file in bytes.
const maxFile = 64 << 10

// Set holds the prompts in use. A nil or zero Set holds the built-in ones. It is safe for concurrent use, and must not be
// changed after its first use.
type Set struct {
	// NewTag returns the tag of a request's fences: 8 or more unpredictable letters and digits. Default: 16 from
	// crypto/rand.
	NewTag func() string

	sources map[string]string // by file name
	prompts map[string]parsed // by name without extension
	fence   *template.Template
	repair  *template.Template
	recall  *template.Template
}

// parsed is one prompt.
type parsed struct {
	system, user *template.Template
	schema       *model.Schema // nil if the reply is text
	form         *jsonschema.Schema
}

// defaults are the built-in prompts.
var defaults = sync.OnceValue(func() *Set {
	s := &Set{sources: shippedSources()}
	if err := s.parse(func(name string) string { return name }); err != nil {
		panic(err) // tests check that they parse
	}
	return s
})

func shippedSources() map[string]string {
	sources := map[string]string{}
	entries, err := shipped.ReadDir(".")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, e := range entries {
		b, err := shipped.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		sources[e.Name()] = string(b)
	}
	return sources
}

// Load returns the built-in prompts, each replaced by the file of the same name in dir if there is one. With an empty dir
// none is replaced. Every file is tried. Errors name the file: one that cannot be read, that belongs to no prompt (except
// names that begin with a dot), that is not a template or JSON Schema, that uses a field that does not exist, or that
// leaves out required data.
func Load(dir string) (*Set, error) {
	s := &Set{sources: shippedSources()}
	replaced := map[string]bool{}
	if dir != "" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read prompts: %w", err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if _, ok := s.sources[e.Name()]; !ok {
				return nil, fmt.Errorf("read prompts: %s is not the name of a prompt; the names are %s", filepath.Join(dir, e.Name()), strings.Join(s.Names(), ", "))
			}
			source, err := readFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("read prompt: %w", err)
			}
			s.sources[e.Name()], replaced[e.Name()] = source, true
		}
	}
	where := func(name string) string {
		if replaced[name] {
			return filepath.Join(dir, name)
		}
		return name
	}
	if err := s.parse(where); err != nil {
		return nil, err
	}
	return s, nil
}

func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s is not valid UTF-8", path)
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(b), "\ufeff"), "\r\n", "\n"), nil
}

// Names returns the names of the prompt files.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.or().sources)) }

// Source returns the current text of a file.
func (s *Set) Source(name string) (string, error) {
	if source, ok := s.or().sources[name]; ok {
		return source, nil
	}
	return "", fmt.Errorf("read prompt %s: %w", name, fs.ErrNotExist)
}

// or returns s, or the built-in set if s is nil or zero.
func (s *Set) or() *Set {
	if s == nil || s.sources == nil {
		return defaults()
	}
	return s
}

// parse parses the sources and tries each prompt on samples. where returns the name of a file for errors.
func (s *Set) parse(where func(string) string) error {
	s.prompts = map[string]parsed{}
	var err error
	if s.fence, err = parseOne(where("fence.md"), s.sources["fence.md"], fenceView{sampleTag}, sampleTag); err != nil {
		return err
	}
	repair := repairView{Complaint: "sample complaint", Schema: "sample schema"}
	if s.repair, err = parseOne(where("repair.md"), s.sources["repair.md"], repair, repair.Complaint, repair.Schema); err != nil {
		return err
	}
	complaint := complaintView{repair.Complaint}
	if s.recall, err = parseOne(where("again.md"), s.sources["again.md"], complaint, complaint.Complaint); err != nil {
		return err
	}
	for name, samples := range samples() {
		file := where(name + ".md")
		p, err := parseParts(file, s.sources[name+".md"])
		if err != nil {
			return err
		}
		for _, d := range samples {
			if err := p.try(d); err != nil {
				return fmt.Errorf("read prompt %s: %w", file, err)
			}
		}
		if source, ok := s.sources[name+".json"]; ok {
			p.schema = &model.Schema{Name: name, JSON: []byte(source)}
			if p.form, err = compile(source); err != nil {
				return fmt.Errorf("read schema %s: %w", where(name+".json"), err)
			}
		}
		s.prompts[name] = p
	}
	return nil
}

// parseOne parses a file with one part and checks that it shows its data.
func parseOne(file, source string, view any, shows ...string) (*template.Template, error) {
	t, err := template.New(file).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("read prompt: %w", err)
	}
	out, err := write(t, view)
	if err != nil {
		return nil, fmt.Errorf("read prompt: %w", err)
	}
	for _, part := range shows {
		if !strings.Contains(out, part) {
			return nil, fmt.Errorf("read prompt %s: it leaves out a part of its data", file)
		}
	}
	return t, nil
}

// parseParts splits a file into its two parts and parses them.
func parseParts(file, source string) (parsed, error) {
	var system, user strings.Builder
	into := (*strings.Builder)(nil)
	n := 0
	for line := range strings.Lines(source) {
		n++
		switch mark := strings.TrimSpace(line); {
		case n == 1 && mark == "[system]":
			into = &system
		case n == 1:
			return parsed{}, fmt.Errorf("read prompt %s: its first line is not [system]", file)
		case mark == "[user]" && into == &system:
			into = &user
			user.WriteString(strings.Repeat("\n", n)) // so that line numbers in errors are those of the file
		case mark == "[user]" || mark == "[system]":
			return parsed{}, fmt.Errorf("read prompt %s: line %d: a second %s", file, n, mark)
		default:
			if n == 2 {
				into.WriteByte('\n')
			}
			into.WriteString(line)
		}
	}
	if into != &user {
		return parsed{}, fmt.Errorf("read prompt %s: it has no line [user]", file)
	}
	var p parsed
	var err error
	if p.system, err = template.New(file).Parse(system.String()); err != nil {
		return parsed{}, fmt.Errorf("read prompt: %w", err)
	}
	if p.user, err = template.New(file).Parse(user.String()); err != nil {
		return parsed{}, fmt.Errorf("read prompt: %w", err)
	}
	return p, nil
}

// try renders the prompt for a sample and checks that all quoted text is shown.
func (p parsed) try(d Data) error {
	f := newFence(sampleTag)
	view := d.fenced(f)
	system, err := write(p.system, view)
	if err != nil {
		return err
	}
	user, err := write(p.user, view)
	if err != nil {
		return err
	}
	if strings.TrimSpace(user) == "" {
		return errors.New("the part [user] is empty")
	}
	for _, q := range f.quoted() {
		if !strings.Contains(system+user, string(q)) {
			return errors.New("it leaves out a question, a passage or a claim")
		}
	}
	return nil
}

func write(t *template.Template, view any) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// compile compiles a JSON Schema without external references.
func compile(source string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(source))
	if err != nil {
		return nil, err
	}
	if o, ok := doc.(map[string]any); !ok || o["type"] != "object" {
		return nil, errors.New("it is not the schema of an object")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// noLoader is a schema loader that loads nothing.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may not refer to another file")
}

// Render returns the messages of a request: the system part, which ends with the explanation of the fences, and the user's
// part. Each quotation is bounded; the caller bounds their number.
func (s *Set) Render(d Data) ([]model.Message, error) {
	messages, _, err := s.render(d)
	return messages, err
}

// render also returns the fence of the request, for quotations in later messages.
func (s *Set) render(d Data) ([]model.Message, fence, error) {
	in := s.or()
	p, ok := in.prompts[d.name()]
	if !ok {
		return nil, fence{}, fmt.Errorf("write prompt: unknown prompt %s", d.name())
	}
	f := newFence(s.tag())
	view := d.fenced(f)
	system, err := write(p.system, view)
	if err != nil {
		return nil, fence{}, fmt.Errorf("write prompt: %w", err)
	}
	rule, err := write(in.fence, fenceView{f.tag})
	if err != nil {
		return nil, fence{}, fmt.Errorf("write prompt: %w", err)
	}
	user, err := write(p.user, view)
	if err != nil {
		return nil, fence{}, fmt.Errorf("write prompt: %w", err)
	}
	return []model.Message{
		{Role: model.System, Text: strings.TrimSpace(system + "\n\n" + rule)},
		{Role: model.User, Text: user},
	}, f, nil
}

func (s *Set) tag() string {
	if s == nil || s.NewTag == nil {
		return randomTag()
	}
	return s.NewTag()
}
