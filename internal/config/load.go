package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	spell "github.com/sluice-rag/sluice/lang"
)

// File is the flag that names the YAML file. The root of the command line embeds it.
type File struct {
	Config string `name:"config" placeholder:"FILE" help:"YAML file of settings, each under the name of its flag."`
}

// Loader joins the sources of settings: flags win over variables, variables over the file, the file over defaults.
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
// The zero Loader reads the process's environment. A Loader serves one command line and one goroutine.
type Loader struct {
	// Lookup finds a variable; nil means [os.LookupEnv].
	Lookup func(name string) (string, bool)
	// Environ lists the variables as [os.Environ] does, which is the default.
	Environ func() []string

	flags map[string]given
}

// Options makes kong pass the flags of settings to the Loader, unread, and show each flag's default and variable in the help.
// Only settings have a variable. Other flags, such as --version, are read from the command line alone, so that an unrelated
// variable such as SLUICE_VERSION does not set them.
func (l *Loader) Options() []kong.Option {
	return []kong.Option{
		kong.PostBuild(func(k *kong.Kong) error {
			return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
				if flag, ok := node.(*kong.Flag); ok {
					l.take(flag)
				}
				return next(nil)
			})
		}),
	}
}

// take makes the flag's value the Loader's to read, where the flag is a setting or names the file.
func (l *Loader) take(flag *kong.Flag) {
	name := flag.Name
	all := fields()
	i := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
	if i < 0 {
		return
	}
	never := all[i].tag.Get("never")
	if flag.PlaceHolder == "" {
		flag.PlaceHolder = flag.Default // the help shows it there
	}
	// kong would read the default and the variable at once; here they are read last, together, with their faults collected.
	flag.HasDefault, flag.Tag.HasDefault = false, false
	flag.Tag.Envs, flag.Envs = nil, nil
	flag.Help = strings.TrimSuffix(flag.Help, ".") + " ($" + all[i].variable() + ")."
	flag.Mapper = kong.MapperFunc(func(ctx *kong.DecodeContext, _ reflect.Value) error {
		var text string
		if next := ctx.Scan.Peek().String(); never != "" && next == never {
			text = ctx.Scan.Pop().String() // kong would take -1 for a flag
		} else if err := ctx.Scan.PopValueInto(name, &text); err != nil {
			return err
		}
		if l.flags == nil {
			l.flags = map[string]given{}
		}
		l.flags[name] = given{how: "flag --" + name, texts: append(l.flags[name].texts, text)}
		return nil
	})
}

// Load reads every source into a Config and checks it: the error is [Faults], every one at once. It then copies each section
// into the structs of the command line that embed it, so that a command finds its settings there too. Paths of documents
// are looked for on disk where a struct embeds [Ingest]. Relative paths in the file count from the file's folder.
func (l *Loader) Load(into ...any) (Config, error) {
	c := Default()
	all := settings(&c)
	var faults Faults
	file := map[string]given{}
	if where := l.find(fileFlag); where.texts != nil {
		path := where.texts[len(where.texts)-1]
		file, faults = readFile(path, where.how, all)
		rebase(file, filepath.Dir(path))
	}
	hows := map[string]string{}
	for _, s := range all {
		source := l.find(s)
		if source.texts == nil {
			source = file[s.name]
		}
		if source.texts == nil {
			continue
		}
		hows[s.name] = source.how
		if err := s.set(source.texts); err != nil {
			faults = append(faults, Fault{Setting: s.name, Given: source.how, Problem: err.Error()})
		}
	}
	var wrong Faults
	if errors.As(c.Validate(), &wrong) {
		for _, f := range wrong {
			if f.Given = hows[f.Setting]; !faults.has(f.Setting) {
				faults = append(faults, f)
			}
		}
	}
	if embeds[Ingest](into) {
		faults = append(faults, missing(c.Ingest.Docs, hows["docs"])...)
	}
	keys, wrongKeys := keysFrom(l.lookup())
	c.Keys = keys
	if embeds[Models](into) && len(faults)+len(wrongKeys) == 0 {
		faults = append(faults, c.keyless(hows)...)
	}
	fill(c, into)
	return c, append(faults, wrongKeys...).orNil()
}

// find gives the setting's texts from the flags or its variable. An empty variable counts as not given.
func (l *Loader) find(s setting) given {
	if g, ok := l.flags[s.name]; ok {
		return g
	}
	text, ok := l.lookup()(s.variable())
	if !ok || text == "" {
		return given{}
	}
	texts := []string{text}
	if s.name == "docs" {
		texts = filepath.SplitList(text)
	}
	return given{how: "variable " + s.variable(), texts: texts}
}

func (l *Loader) lookup() func(string) (string, bool) {
	if l.Lookup != nil {
		return l.Lookup
	}
	return os.LookupEnv
}

// Misspelled describes the variables that are not settings but have a name close to that of a setting. Other variables with the
// prefix SLUICE_ are ignored: container images and orchestrators set some for purposes of their own.
func (l *Loader) Misspelled() []string {
	environ := l.Environ
	if environ == nil {
		environ = os.Environ
	}
	var known []string
	for _, s := range fields() {
		known = append(known, s.variable())
	}
	var out []string
	for _, pair := range environ() {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "SLUICE_") || value == "" || slices.Contains(known, name) {
			continue
		}
		if near := spell.Nearest(name, known, 1); near != "" && !strings.HasPrefix(near, name+"_") {
			out = append(out, name+" is not a setting; did you mean "+near+"?")
		}
	}
	slices.Sort(out)
	return out
}

// rebase makes the file's paths count from its folder, so that a file means the same wherever it is used from.
func rebase(file map[string]given, dir string) {
	for _, name := range []string{"data", "docs", "prompts"} {
		for i, path := range file[name].texts {
			if path != "" && !filepath.IsAbs(path) {
				file[name].texts[i] = filepath.Join(dir, path)
			}
		}
	}
}

// missing is a fault for each path that is not there.
func missing(paths []string, how string) (faults Faults) {
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case path == "" || err == nil:
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, Fault{Setting: "docs", Given: how, Problem: "there is no " + path})
		default:
			faults = append(faults, Fault{Setting: "docs", Given: how, Problem: err.Error()})
		}
	}
	return faults
}

// fileFlag is the flag that names the file: it is found as settings are, and is none.
var fileFlag = setting{name: "config"}

// fields lists the settings and the fileFlag, for their names only.
func fields() []setting {
	return append(settings(new(Config)), fileFlag)
}

// fill copies c's sections into the structs that have fields of their types.
func fill(c Config, into []any) {
	sections := reflect.ValueOf(c)
	for _, target := range into {
		v := reflect.ValueOf(target).Elem()
		for i := range v.NumField() {
			for j := range sections.NumField() {
				if v.Field(i).Type() == sections.Field(j).Type() && v.Field(i).CanSet() {
					v.Field(i).Set(sections.Field(j))
				}
			}
		}
	}
}

// embeds tells whether one of the structs has a field of the section's type.
func embeds[Section any](into []any) bool {
	for _, target := range into {
		for field := range reflect.TypeOf(target).Elem().Fields() {
			if field.Type == reflect.TypeFor[Section]() {
				return true
			}
		}
	}
	return false
}
