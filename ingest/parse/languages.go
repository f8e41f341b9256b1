package parse

import (
	"path"
	"regexp"
	"strings"
)

// language is a programming or data language, with the patterns of lines that begin declarations.
type language struct {
	name   string
	media  string
	top    *regexp.Regexp // a line that begins a top-level declaration
	inner  *regexp.Regexp // a line that begins a nested declaration; may be nil
	prefix []string       // prefixes of lines that belong to the declaration after them: comments, annotations
}

// statement matches statements that the patterns for methods would match too.
var statement = regexp.MustCompile(`^\s*(?:\}\s*)?(?:if|for|while|switch|catch|return|else|do|try|throw|new|await|yield|super|this|case|assert|foreach|using|lock|delete|typeof|sizeof)\b`)

const (
	curlyMethod = `^(?: {2,4}|\t)(?:[\w<>\[\],.?@*&:~]+\s+)*[\w~#$]+\s*\([^;]*$`
	modifiers   = `(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|async|export|default|declare|open|data|override|inline|virtual|extern|pub(?:\([^)]*\))?|unsafe|const)\s+)*`
)

var languages = []struct {
	exts string
	lang language
}{
	{"go", language{"Go", "text/x-go", re(`^(?:func|type|var|const)\b`), nil, []string{"//", "/*", " *", "*/"}}},
	{"py pyi pyw", language{"Python", "text/x-python", re(`^(?:async\s+def|def|class)\s`), re(`^(?: {4}|\t)(?:async\s+def|def|class)\s`), []string{"#", "@"}}},
	{"js jsx mjs cjs ts tsx mts cts vue svelte", language{"JavaScript", "text/javascript",
		re(`^` + modifiers + `(?:function\*?|class|interface|type|enum|namespace|module|const|let|var)\s`), re(curlyMethod), curly}},
	{"java kt kts scala groovy cs dart swift", language{"source code", "text/x-source",
		re(`^` + modifiers + `(?:class|interface|enum|record|struct|object|trait|protocol|extension|namespace|fun|func|def|val|var|typealias|@interface)\s`), re(curlyMethod), curly}},
	{"c h cc cpp cxx hh hpp hxx m mm ino cu", language{"C", "text/x-c",
		re(`^(?:(?:struct|class|enum|union|namespace|template|typedef|extern)\b|#define\s|[A-Za-z_][\w\s*&<>,:~]*\([^;]*$)`), nil, curly}},
	{"rs", language{"Rust", "text/x-rust", re(`^` + modifiers + `(?:fn|struct|enum|trait|impl|mod|type|static|macro_rules!|union)[\s<]`),
		re(`^(?: {4}|\t)` + modifiers + `fn\s`), []string{"//", "#[", "/*", " *"}}},
	{"rb rake", language{"Ruby", "text/x-ruby", re(`^(?:class|module|def)\s`), re(`^(?: {2}|\t)(?:class|module|def)\s`), []string{"#"}}},
	{"php", language{"PHP", "text/x-php", re(`^` + modifiers + `(?:function|class|interface|trait|enum|namespace)\s`), re(`^(?: {4}|\t)` + modifiers + `function\s`), curly}},
	{"sh bash zsh ksh fish", language{"shell", "text/x-sh", re(`^(?:function\s+[\w:-]+|[\w:-]+\s*\(\s*\))`), nil, []string{"#"}}},
	{"sql", language{"SQL", "text/x-sql", re(`(?i)^(?:create|alter|drop|insert|update|delete|with|select|grant|merge)\s`), nil, []string{"--", "/*"}}},
	{"lua", language{"Lua", "text/x-lua", re(`^(?:local\s+)?function\s`), nil, []string{"--"}}},
	{"pl pm", language{"Perl", "text/x-perl", re(`^(?:sub|package)\s`), nil, []string{"#"}}},
	{"r jl", language{"source code", "text/x-source", re(`^(?:function|struct|module|macro|[\w.]+\s*(?:<-|=)\s*function)\b`), nil, []string{"#"}}},
	{"ex exs erl hs elm ml clj", language{"source code", "text/x-source", re(`^(?:defmodule|module|class|data|newtype|instance|type|let|\((?:defn?|ns)\b|-module|\w+\s*::)`), nil, []string{"#", "--", "%", ";"}}},
	{"proto graphql gql thrift", language{"schema", "text/x-schema", re(`^(?:message|service|enum|type|input|interface|union|scalar|struct|query|mutation|extend)\s`), nil, []string{"//", "#", "\""}}},
	{"tf hcl", language{"HCL", "text/x-hcl", re(`^[\w-]+(?:\s+"[^"]*")*\s*\{`), nil, []string{"#", "//"}}},
	{"yaml yml", language{"YAML", "application/yaml", re(`^["']?[\w./-]+["']?\s*:(?:\s|$)`), nil, []string{"#"}}},
	{"toml ini cfg conf properties", language{"TOML", "application/toml", re(`^\[+[^\]]+\]+`), nil, []string{"#", ";"}}},
	{"json jsonl ndjson", language{"JSON", "application/json", re(`^(?: {2}| {4}|\t)"[^"]+"\s*:`), nil, nil}},
	{"xml xsd xsl svg", language{"XML", "application/xml", re(`^(?: {2}| {4}|\t)<[A-Za-z]`), nil, []string{"<!--"}}},
	{"css scss less", language{"CSS", "text/css", re(`^[^\s{}/][^{}]*\{`), nil, []string{"/*"}}},
	{"tex bib", language{"TeX", "text/x-tex", re(`^(?:\\(?:chapter|section|part)\b|@\w+\{)`), re(`^\\(?:sub)+section\b`), []string{"%"}}},
}

var (
	curly   = []string{"//", "/*", " *", "*/", "@", "#[", "["}
	byExt   = languagesByExtension()
	byNames = map[string]string{"dockerfile": "sh", "makefile": "sh", "gnumakefile": "sh", "jenkinsfile": "groovy", "rakefile": "rb",
		"gemfile": "rb", "cmakelists.txt": "sh", "go.mod": "conf"}
)

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

func languagesByExtension() map[string]*language {
	out := map[string]*language{}
	for i := range languages {
		for e := range strings.FieldsSeq(languages[i].exts) {
			out["."+e] = &languages[i].lang
		}
	}
	return out
}

func languageOf(name string) *language {
	if l := byExt[extOf(name)]; l != nil {
		return l
	}
	return byExt["."+byNames[strings.ToLower(path.Base(strings.ReplaceAll(name, "\\", "/")))]]
}

func shebang(head []byte) *language {
	line, _, _ := strings.Cut(string(head), "\n")
	if !strings.HasPrefix(line, "#!") {
		return nil
	}
	for _, w := range []struct{ word, ext string }{{"python", ".py"}, {"node", ".js"}, {"ruby", ".rb"}, {"perl", ".pl"}, {"php", ".php"}, {"sh", ".sh"}} {
		if strings.Contains(line, w.word) {
			return byExt[w.ext]
		}
	}
	return nil
}
