package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	spell "github.com/sluice-rag/sluice/lang"
)

// File is the flag of the YAML file. The root of the command line embeds it.
type File struct {
	Config string `name:"config" placeholder:"FILE" help:"YAML file of settings. The keys are the names of the flags."`
}

// Loader combines the sources of settings. Flags override variables, variables override the file, and the file overrides
// defaults.
//
//	var cli struct {
//		config.File
//		config.Log
//		Serve struct { config.Store; config.HTTP } `cmd:""`
//	}
//	var loader config.Loader
//	parser, err := kong.New(&cli, loader.Options()...)
//	ctx, err := parser.Parse(os.Args[1:])
//	cfg, err := loader.Load(&cli, &cli.Serve)
//
// The zero Loader reads the environment of the process. A Loader is for one command line and is not safe for concurrent use.
type Loader struct {
	// Lookup returns a variable. The default is [os.LookupEnv].
	Lookup func(name string) (string, bool)
	// Environ lists the variables as [os.Environ] does, which is the default.
	Environ func() []string

	flags map[string]value
}

// Options makes kong pass the unparsed flags of settings to the Loader, and show each default and variable in the help.
// Only settings have a variable. Other flags, such as --version, are only read from the command line, so that an unrelated
// variable such as SLUICE_VERSION does not set them.
func (l *Loader) Options() []kong.Option {
	return []kong.Option{
		kong.PostBuild(func(k *kong.Kong) error {
			known := map[string]setting{} // once, because reflection takes long and there are many flags
			for _, s := range fields() {
				known[s.name] = s
			}
			return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
				if flag, ok := node.(*kong.Flag); ok {
					if s, ok := known[flag.Name]; ok && !flag.Tag.Has("own") {
						l.intercept(flag, s)
					}
				}
				return next(nil)
			})
		}),
	}
}

// intercept makes the Loader receive the value of a flag that is a setting or the configuration file. The tag own is for a flag of a command with the name of a setting. Settings without the tag common get
// the group of their section, so that the help can show them apart from the flags that most users need.
func (l *Loader) intercept(flag *kong.Flag, s setting) {
	name, never := s.name, s.tag.Get("never")
	if _, common := s.tag.Lookup("common"); !common && s.section != "" {
		flag.Group = &kong.Group{Key: s.section, Title: s.section + ":"}
	}
	if flag.PlaceHolder == "" {
		flag.PlaceHolder = flag.Default // shown in the help
	}
	// Load reads defaults and variables, so that it can report all faults together.
	flag.HasDefault, flag.Tag.HasDefault = false, false
	flag.Tag.Envs, flag.Envs = nil, nil
	flag.Help = strings.TrimSuffix(flag.Help, ".") + " ($" + s.variable() + ")."
	flag.Mapper = kong.MapperFunc(func(ctx *kong.DecodeContext, _ reflect.Value) error {
		var text string
		if flag.IsBool() && ctx.Scan.Peek().Type != kong.FlagValueToken { // --watch, and not --watch=false
			text = "true"
		} else if next := ctx.Scan.Peek().String(); never != "" && next == never {
			text = ctx.Scan.Pop().String() // kong would parse -1 as a flag
		} else if err := ctx.Scan.PopValueInto(name, &text); err != nil {
			return err
		}
		if l.flags == nil {
			l.flags = map[string]value{}
		}
		l.flags[name] = value{source: "flag --" + name, texts: append(l.flags[name].texts, text)}
		return nil
	})
}

// Load reads every source into a Config and validates it. The error is [Faults], which lists all invalid settings. Load then
// copies each section into the structs of the command line that embed it. If one of them embeds [Ingest], Load checks that the
// documents exist. Relative paths in the file are relative to the folder of the file.
func (l *Loader) Load(into ...any) (Config, error) {
	c := Default()
	all := settings(&c)
	var faults Faults
	file := map[string]value{}
	if flag := l.find(fileFlag); flag.texts != nil {
		path := flag.texts[len(flag.texts)-1]
		file, faults = readFile(path, flag.source, all)
		resolvePaths(file, filepath.Dir(path))
	}
	sources := map[string]string{}
	for _, s := range all {
		v := l.find(s)
		if v.texts == nil {
			v = file[s.name]
		}
		if v.texts == nil {
			continue
		}
		sources[s.name] = v.source
		if err := s.set(v.texts); err != nil {
			faults = append(faults, Fault{Setting: s.name, Source: v.source, Problem: err.Error()})
		}
	}
	if invalid, ok := errors.AsType[Faults](c.Validate()); ok {
		for _, f := range invalid {
			if f.Source = sources[f.Setting]; !faults.has(f.Setting) {
				faults = append(faults, f)
			}
		}
	}
	if embeds[Ingest](into) {
		faults = append(faults, missing(c.Ingest.Docs, sources["docs"])...)
	}
	keys, keyFaults := keysFrom(l.lookup())
	c.Keys = keys
	if embeds[Models](into) && len(faults)+len(keyFaults) == 0 {
		faults = append(faults, c.missingKeys(sources)...)
	}
	fill(c, into)
	return c, append(faults, keyFaults...).orNil()
}

// HasFlag reports whether the flag of a setting was given.
func (l *Loader) HasFlag(name string) bool { return len(l.flags[name].texts) > 0 }

// find returns the value of a setting from its flag or variable. An empty variable counts as unset.
func (l *Loader) find(s setting) value {
	if g, ok := l.flags[s.name]; ok {
		return g
	}
	text, ok := l.lookup()(s.variable())
	if !ok || text == "" {
		return value{}
	}
	texts := []string{text}
	if s.name == "docs" {
		texts = filepath.SplitList(text)
	}
	return value{source: "variable " + s.variable(), texts: texts}
}

func (l *Loader) lookup() func(string) (string, bool) {
	if l.Lookup != nil {
		return l.Lookup
	}
	return os.LookupEnv
}

// serviceLink matches the variables that Kubernetes sets for each service in the namespace, if its name begins with "sluice".
var serviceLink = regexp.MustCompile(`^SLUICE_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT)[_=]|PORT=[a-z]+://|PORT_[0-9]+_(TCP|UDP|SCTP)[_=])`)

// variableOfSets names the folder of the public data sets of the tests (docs/testing.md). Other values are reported, since users may mean the data folder.
const variableOfSets = "SLUICE_DATA"

// Unknown describes the variables with the prefix SLUICE_ that have no meaning, with the nearest setting. A variable whose nearest setting is given as a flag
// is left out, since the flag overrides the variable.
func (l *Loader) Unknown() []string {
	environ := l.Environ
	if environ == nil {
		environ = os.Environ
	}
	known := []string{variableOfSecret, variableOfIndexKey, "SLUICE_KEY", "SLUICE_URL"} // the last is that of the examples
	flags := map[string]string{}
	for _, s := range fields() {
		known = append(known, s.variable())
		flags[s.variable()] = s.name
	}
	var out []string
	for _, pair := range environ() {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "SLUICE_") || value == "" || slices.Contains(known, name) || strings.HasPrefix(name, "SLUICE_SOURCE_") || serviceLink.MatchString(pair) {
			continue
		}
		if sets, _ := filepath.Glob(filepath.Join(value, "*", "corpus.jsonl")); name == variableOfSets && len(sets) > 0 {
			continue
		}
		problem := name + " is not a setting"
		if near := spell.Nearest(name, known, 1); near != "" {
			if l.HasFlag(flags[near]) {
				continue
			}
			problem += "; did you mean " + near + "?"
		}
		out = append(out, problem)
	}
	slices.Sort(out)
	return out
}

// resolvePaths makes the relative paths of the file relative to its folder.
func resolvePaths(file map[string]value, dir string) {
	for _, name := range []string{"data", "docs", "prompts"} {
		for i, path := range file[name].texts {
			if path != "" && !filepath.IsAbs(path) {
				file[name].texts[i] = filepath.Join(dir, path)
			}
		}
	}
}

// missing returns a fault for each path that does not exist.
func missing(paths []string, source string) (faults Faults) {
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case path == "" || err == nil:
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, Fault{Setting: "docs", Source: source, Problem: path + " does not exist"})
		default:
			faults = append(faults, Fault{Setting: "docs", Source: source, Problem: err.Error()})
		}
	}
	return faults
}

// fileFlag is the flag of the configuration file. It is looked up like a setting.
var fileFlag = setting{name: "config"}

// fields returns the settings and fileFlag without their values.
func fields() []setting {
	return append(settings(new(Config)), fileFlag)
}

// fill copies the sections of c into the structs that embed them.
func fill(c Config, into []any) {
	sections := reflect.ValueOf(c)
	for _, target := range into {
		for _, v := range embedded(reflect.ValueOf(target).Elem()) {
			for j := range sections.NumField() {
				if v.Type() == sections.Field(j).Type() && v.CanSet() {
					v.Set(sections.Field(j))
				}
			}
		}
	}
}

// embeds reports whether one of the structs embeds Section.
func embeds[Section any](into []any) bool {
	for _, target := range into {
		for _, v := range embedded(reflect.ValueOf(target).Elem()) {
			if v.Type() == reflect.TypeFor[Section]() {
				return true
			}
		}
	}
	return false
}

// embedded returns the fields of a struct, and those of the structs that it embeds.
func embedded(v reflect.Value) (fields []reflect.Value) {
	for i := range v.NumField() {
		fields = append(fields, v.Field(i))
		if v.Type().Field(i).Anonymous && v.Field(i).Kind() == reflect.Struct {
			fields = append(fields, embedded(v.Field(i))...)
		}
	}
	return fields
}
