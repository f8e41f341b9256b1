package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	spell "github.com/sluice-rag/sluice/lang"
)

// maxFile is the maximum size of a configuration file in bytes.
const maxFile = 1 << 20

// value is the unparsed value of a setting and its source.
type value struct {
	source string
	texts  []string
}

// readFile reads the settings of a YAML file. Unknown keys, duplicate keys and values of the wrong type are reported as faults;
// the rest of the file is still read. source is the source of the path.
func readFile(path, source string, known []setting) (map[string]value, Faults) {
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
		return nil, Faults{{Setting: "config", Problem: err.Error(), Source: source}}
	}
	return parseFile(name, data, known)
}

// parseFile parses the content of a file for readFile.
func parseFile(name string, data []byte, known []setting) (map[string]value, Faults) {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Faults{{Problem: "not YAML: " + firstLine(err.Error()), Source: name}}
	}
	values, faults := map[string]value{}, Faults(nil)
	for i, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if i > 0 {
			faults = append(faults, Fault{Problem: "contains more than one document", Source: at(name, doc.Body)})
			break
		}
		mapping, ok := doc.Body.(*ast.MappingNode)
		if !ok {
			faults = append(faults, Fault{Problem: "must contain settings as `name: value` lines", Source: at(name, doc.Body)})
			break
		}
		for _, entry := range mapping.Values {
			key, source := entry.Key.GetToken().Value, at(name, entry.Key)
			switch i := slices.IndexFunc(known, func(s setting) bool { return s.name == key }); {
			case i < 0:
				faults = append(faults, Fault{Setting: key, Source: source, Problem: unknown(key, known)})
			case values[key].texts != nil:
				faults = append(faults, Fault{Setting: key, Source: source, Problem: "is set twice"})
			default:
				texts, err := known[i].fromYAML(entry.Value)
				if err != nil {
					faults = append(faults, Fault{Setting: key, Source: source, Problem: err.Error()})
					continue
				}
				values[key] = value{source: source, texts: texts}
			}
		}
	}
	return values, faults
}

// fromYAML returns the texts of a node, or an error if its type does not fit the setting.
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

// scalar returns the text of a scalar node, or an error that names the expected and the actual type.
func (s setting) scalar(node ast.Node) (string, error) {
	expected, takesNumber := map[string]string{
		"string": "text", "[]string": "a list of texts", "int": "a whole number",
		"config.Size": "a size such as 64KiB", "time.Duration": "a duration such as 30s", "bool": "true or false",
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
	case *ast.BoolNode:
		if s.value.Kind() == reflect.Bool {
			return strconv.FormatBool(n.Value), nil
		}
	case *ast.IntegerNode:
		if takesNumber {
			return fmt.Sprint(n.Value), nil
		}
	}
	return "", fmt.Errorf("must be %s, not %s", expected, describe(node))
}

// describe returns the type of a node for an error message.
func describe(node ast.Node) string {
	switch node.Type() {
	case ast.NullType:
		return "null"
	case ast.BoolType:
		return "the boolean " + node.GetToken().Value
	case ast.IntegerType, ast.FloatType:
		return "the number " + node.GetToken().Value
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	}
	return "a value of YAML type " + node.Type().String()
}

// unknown returns the problem of an unknown key, with a suggestion if a setting has a similar name.
func unknown(key string, known []setting) string {
	names := make([]string, len(known))
	for i, s := range known {
		names[i] = s.name
	}
	if near := spell.Nearest(key, names, 1); near != "" {
		return "is not a setting; did you mean " + near + "?"
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
