package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFile bounds a configuration file; one that is larger is something else.
const maxFile = 1 << 20

// given is the texts of one setting and how they were given.
type given struct {
	how   string
	texts []string
}

// readFile reads the settings of a YAML file. Keys that are no settings, values of the wrong type and keys given twice are
// faults; the rest of the file is read all the same. How says how the path was given.
func readFile(path, how string, known []setting) (map[string]given, Faults) {
	name := filepath.Base(path)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s is larger than %s", path, Size(maxFile))
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, Faults{{Setting: "config", Problem: err.Error(), Given: how}}
	}
	return parseFile(name, data, known)
}

// parseFile is [readFile] of what has been read.
func parseFile(name string, data []byte, known []setting) (map[string]given, Faults) {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Faults{{Problem: "not YAML: " + firstLine(err.Error()), Given: name}}
	}
	values, faults := map[string]given{}, Faults(nil)
	for i, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if i > 0 {
			faults = append(faults, Fault{Problem: "holds more than one document", Given: at(name, doc.Body)})
			break
		}
		mapping, ok := doc.Body.(*ast.MappingNode)
		if !ok {
			faults = append(faults, Fault{Problem: "wants settings, one `name: value` a line", Given: at(name, doc.Body)})
			break
		}
		for _, entry := range mapping.Values {
			key, how := entry.Key.GetToken().Value, at(name, entry.Key)
			switch i := slices.IndexFunc(known, func(s setting) bool { return s.name == key }); {
			case i < 0:
				faults = append(faults, Fault{Setting: key, Given: how, Problem: unknown(key, known)})
			case values[key].texts != nil:
				faults = append(faults, Fault{Setting: key, Given: how, Problem: "is given twice"})
			default:
				texts, err := known[i].fromYAML(entry.Value)
				if err != nil {
					faults = append(faults, Fault{Setting: key, Given: how, Problem: err.Error()})
					continue
				}
				values[key] = given{how: how, texts: texts}
			}
		}
	}
	return values, faults
}

// fromYAML gives the texts of a node whose type is one that the setting takes.
func (s setting) fromYAML(node ast.Node) ([]string, error) {
	if s.isList() {
		seq, ok := node.(*ast.SequenceNode)
		if !ok {
			text, err := s.scalar(node)
			return []string{text}, err
		}
		texts := []string{}
		for _, item := range seq.Values {
			text, err := s.scalar(item)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", item.GetToken().Position.Line, err)
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
	text, err := s.scalar(node)
	return []string{text}, err
}

// scalar gives the text of a node, or says which type was wanted and which was found.
func (s setting) scalar(node ast.Node) (string, error) {
	want, takesNumber := map[string]string{
		"string": "text", "[]string": "a list of texts", "int": "a whole number",
		"config.Size": "a size such as 64KiB", "time.Duration": "a duration such as 30s",
	}[s.value.Type().String()], false
	switch s.value.Type().String() {
	case "int", "config.Size":
		takesNumber = true
	case "time.Duration":
		n, ok := node.(*ast.IntegerNode)
		takesNumber = ok && (n.Token.Value == "0" || n.Token.Value == s.tag.Get("never"))
	}
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), nil
	case *ast.IntegerNode:
		if takesNumber {
			return fmt.Sprint(n.Value), nil
		}
	}
	return "", fmt.Errorf("wants %s, not %s", want, describe(node))
}

// describe names a node's type for a person.
func describe(node ast.Node) string {
	switch node.Type() {
	case ast.NullType:
		return "nothing"
	case ast.BoolType:
		return "the truth value " + node.GetToken().Value
	case ast.IntegerType, ast.FloatType:
		return "the number " + node.GetToken().Value
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	}
	return "a value of YAML type " + node.Type().String()
}

// unknown is the problem of a key that is no setting, with the setting that was probably meant.
func unknown(key string, known []setting) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	for _, s := range known {
		if plain(s.name) == plain(key) {
			return "is not a setting; did you mean " + s.name + "?"
		}
	}
	return "is not a setting"
}

func at(name string, node ast.Node) string {
	return fmt.Sprintf("%s:%d", name, position(node.GetToken()))
}

func position(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 1
	}
	return t.Position.Line
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
