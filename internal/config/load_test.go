package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// line is a command line like that of the program: sections at the root, and others in a command.
type line struct {
	config.File
	config.Log
	Serve serve `cmd:"" help:"Answer over HTTP."`
	Runs  struct {
		config.Store
	} `cmd:"" help:"List runs."`
}

// shared are sections that several commands embed.
type shared struct {
	config.Store
	config.Ingest
	config.Runs
	config.Models
}

type serve struct {
	shared
	config.OIDC
	config.HTTP
	config.Keep
	config.Start
	Other string `name:"other" default:"x" help:"Not a setting."`
}

// input is the command line, environment and file of a test.
type input struct {
	args []string
	env  map[string]string
	yaml string
}

// load parses and loads the settings like the program, and also returns the folder of the file.
func load(t *testing.T, g input) (cfg config.Config, cli *line, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	args := g.args
	if g.yaml != "" {
		path := filepath.Join(dir, "sluice.yaml")
		require.NoError(t, os.WriteFile(path, []byte(g.yaml), 0o600))
		args = append([]string{"--config", path}, args...)
	}
	loader := config.Loader{Lookup: func(name string) (string, bool) { v, ok := g.env[name]; return v, ok }}
	cli = &line{}
	parser, err := kong.New(cli, loader.Options()...)
	require.NoError(t, err)
	if _, err := parser.Parse(args); err != nil {
		t.Fatalf("parse %q: %v", args, err)
	}
	cfg, err = loader.Load(cli, &cli.Serve)
	return cfg, cli, dir, err
}

func TestDefaultsAreValid(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data/home")
	c := config.Default()
	require.NoError(t, c.Validate())
	if want := filepath.Join("/data/home", "sluice"); c.Store.Data != want {
		t.Errorf("data is %q, want %q", c.Store.Data, want)
	}
	got, _, _, err := load(t, input{args: []string{"serve"}})
	require.NoError(t, err)
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("without input, got other than the defaults (-want +got):\n%s", diff)
	}
}

func TestNoHome(t *testing.T) {
	for _, name := range []string{"XDG_DATA_HOME", "HOME", "USERPROFILE", "LocalAppData"} {
		t.Setenv(name, "")
	}
	_, _, _, err := load(t, input{args: []string{"serve"}})
	if err == nil || !strings.Contains(err.Error(), "data: must be set") {
		t.Errorf("got %v", err)
	}
}

func TestPrecedence(t *testing.T) {
	all := input{
		args: []string{"serve", "--deadline", "1s"},
		env:  map[string]string{"SLUICE_DEADLINE": "2s", "SLUICE_HEARTBEAT": "2s", "SLUICE_MAX_RUNS": ""},
		yaml: "deadline: 3s\nheartbeat: 3s\nwrite-timeout: 3s\nmax-runs: 3\n",
	}
	c, cli, _, err := load(t, all)
	require.NoError(t, err)
	got := []time.Duration{c.Runs.Deadline, c.HTTP.Heartbeat, c.HTTP.WriteTimeout, c.HTTP.DrainTimeout}
	want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flag, variable, file, default (-want +got):\n%s", diff)
	}
	if c.Runs.MaxRuns != 3 {
		t.Errorf("max-runs is %d: an empty variable hid the file", c.Runs.MaxRuns)
	}
	if cli.Serve.Deadline != time.Second || cli.Serve.Addr != "127.0.0.1:8000" || cli.Serve.Other != "x" {
		t.Errorf("the command's struct was not filled: %+v", cli.Serve)
	}
}

func TestEachSourceGivesEveryType(t *testing.T) {
	doc := t.TempDir()
	want := config.Default()
	want.Store.Data = doc
	want.Ingest.Docs = []string{doc, doc}
	want.HTTP.MaxBody = 128 << 10
	want.Runs.Grace = config.Never
	want.Runs.MaxRuns = 7
	want.Keep.KeepRunsBytes = 10_000_000
	want.Log.LogLevel = "debug"
	list := string(filepath.ListSeparator)
	for name, g := range map[string]input{
		"flags": {args: []string{"serve", "--data", doc, "--docs", doc, "--docs", doc, "--max-body=128KiB", "--grace=-1",
			"--max-runs", "7", "--keep-runs-bytes", "10mb", "--log-level=debug"}},
		"variables": {args: []string{"serve"}, env: map[string]string{"SLUICE_DATA_DIR": doc, "SLUICE_DOCS": doc + list + doc,
			"SLUICE_MAX_BODY": "131072", "SLUICE_GRACE": "-1", "SLUICE_MAX_RUNS": "7", "SLUICE_KEEP_RUNS_BYTES": "10 MB",
			"SLUICE_LOG_LEVEL": "debug"}},
		"file": {args: []string{"serve"}, yaml: "# ours\ndata: " + doc + "\ndocs:\n  - " + doc + "\n  - " + doc +
			"\nmax-body: 131072\ngrace: -1\nmax-runs: 7\nkeep-runs-bytes: 10MB # decimal\nlog-level: debug\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, _, err := load(t, g)
			require.NoError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTestDataVariable sets SLUICE_DATA, which names the test data. It must not become the data folder.
// TestBooleans gives a setting that is true or false in each way. A flag needs no value.
func TestBooleans(t *testing.T) {
	for name, c := range map[string]struct {
		in   input
		want bool
		fail string
	}{
		"default":         {in: input{args: []string{"serve"}}},
		"flag":            {in: input{args: []string{"serve", "--watch", "--addr", "127.0.0.1:1"}}, want: true},
		"flag, last":      {in: input{args: []string{"serve", "--watch"}}, want: true},
		"flag with value": {in: input{args: []string{"serve", "--watch=false"}, env: map[string]string{"SLUICE_WATCH": "true"}}},
		"variable":        {in: input{args: []string{"serve"}, env: map[string]string{"SLUICE_WATCH": "true"}}, want: true},
		"file":            {in: input{args: []string{"serve"}, yaml: "watch: true"}, want: true},
		"text in a file":  {in: input{args: []string{"serve"}, yaml: "watch: [1]"}, fail: "watch: must be true or false"},
		"wrong":           {in: input{args: []string{"serve"}, env: map[string]string{"SLUICE_WATCH": "yes"}}, fail: "watch: must be true or false"},
	} {
		cfg, _, _, err := load(t, c.in)
		if c.fail == "" && (err != nil || cfg.Start.Watch != c.want) || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%s: %t, %v", name, cfg.Start.Watch, err)
		}
	}
}

func TestTestDataVariable(t *testing.T) {
	c, _, _, err := load(t, input{args: []string{"serve"}, env: map[string]string{"SLUICE_DATA": t.TempDir()}})
	require.NoError(t, err)
	if want := config.Default().Store.Data; c.Store.Data != want {
		t.Errorf("data is %q, want %q", c.Store.Data, want)
	}
}

func TestGraceMayBeZero(t *testing.T) {
	for _, g := range []input{
		{args: []string{"serve", "--grace", "0"}},
		{args: []string{"serve"}, yaml: "grace: 0"},
		{args: []string{"serve"}, env: map[string]string{"SLUICE_GRACE": "0s"}},
	} {
		if c, _, _, err := load(t, g); err != nil || c.Runs.Grace != 0 {
			t.Errorf("%+v: grace %v, %v", g, c.Runs.Grace, err)
		}
	}
}

func TestGraceMayBeNever(t *testing.T) {
	for _, args := range [][]string{{"serve", "--grace", "-1"}, {"serve", "--grace=-1"}} {
		if c, _, _, err := load(t, input{args: args}); err != nil || c.Runs.Grace != config.Never {
			t.Errorf("%q: grace %v, %v", args, c.Runs.Grace, err)
		}
	}
}

func TestPathsOfTheFileCountFromItsFolder(t *testing.T) {
	c, _, dir, err := load(t, input{args: []string{"serve"}, yaml: "docs: .\ndata: kept\n"})
	require.NoError(t, err)
	if diff := cmp.Diff([]string{dir}, c.Ingest.Docs); diff != "" {
		t.Error(diff)
	}
	if want := filepath.Join(dir, "kept"); c.Store.Data != want {
		t.Errorf("data is %q, want %q", c.Store.Data, want)
	}
}

func TestTheFileMayBeNamedByVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "named.yaml")
	require.NoError(t, os.WriteFile(path, []byte("max-runs: 9"), 0o600))
	c, _, _, err := load(t, input{args: []string{"serve"}, env: map[string]string{"SLUICE_CONFIG": path}})
	if err != nil || c.Runs.MaxRuns != 9 {
		t.Errorf("max-runs %d, %v", c.Runs.MaxRuns, err)
	}
}

func TestOneLoadTellsEveryFault(t *testing.T) {
	_, _, _, err := load(t, input{
		args: []string{"serve", "--addr", "nowhere", "--deadline=soon", "--max-runs", "0", "--docs", "/no/such/folder", "--log-format=xml"},
		env:  map[string]string{"SLUICE_WORKERS": "-3", "SLUICE_MAX_QUERY": "many", "SLUICE_GRACE": "-2s"},
		yaml: strings.Join([]string{
			"heartbeat: 30", "address: x", "max_body: 1KiB", "log-level: [debug]", "keep-runs-age: 0s", "collection: 5",
			"write-timeout: 900h", "max-file-bytes: 9EiB", "drain-timeout:", "drain-timeout: 1s", "data: true",
		}, "\n"),
	})
	want := `invalid settings:
  heartbeat: must be a duration such as 30s, not the number 30 (sluice.yaml:1)
  address: is not a setting (sluice.yaml:2)
  max_body: is not a setting; did you mean max-body? (sluice.yaml:3)
  log-level: must be text, not a list (sluice.yaml:4)
  collection: must be text, not the number 5 (sluice.yaml:6)
  drain-timeout: must be a duration such as 30s, not null (sluice.yaml:9)
  data: must be text, not the boolean true (sluice.yaml:11)
  max-file-bytes: must be a size such as 64KiB or 10MB, not "9EiB" (sluice.yaml:8)
  max-query: must be a size such as 64KiB or 10MB, not "many" (variable SLUICE_MAX_QUERY)
  deadline: must be a duration such as 30s or 1h30m, not "soon" (flag --deadline)
  log-format: must be one of auto, text, json, not "xml" (flag --log-format)
  workers: must be from 1 to 1024, not -3 (variable SLUICE_WORKERS)
  addr: must be host:port, such as 127.0.0.1:8000, not "nowhere" (flag --addr)
  write-timeout: must be from 100ms to 1h, not 900h0m0s (sluice.yaml:7)
  max-runs: must be from 1 to 1000000, not 0 (flag --max-runs)
  grace: must be from 0s to 24h, or -1, not -2s (variable SLUICE_GRACE)
  keep-runs-age: must be from 1m to 87600h, not 0s (sluice.yaml:5)
  docs: /no/such/folder does not exist (flag --docs)`
	if err == nil {
		t.Fatal("no fault")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	serve := []string{"serve"}
	for name, tc := range map[string]struct {
		input
		want string
	}{
		"not YAML":         {input{args: serve, yaml: "a: [1"}, "not YAML"},
		"a list":           {input{args: serve, yaml: "- addr\n"}, "must contain settings"},
		"a scalar":         {input{args: serve, yaml: "addr"}, "must contain settings"},
		"two documents":    {input{args: serve, yaml: "max-runs: 1\n---\nmax-runs: 2\n"}, "more than one document"},
		"twice":            {input{args: serve, yaml: "max-runs: 1\nmax-runs: 2\n"}, "max-runs: is set twice (sluice.yaml:2)"},
		"a missing letter": {input{args: serve, yaml: "adr: :1\n"}, "adr: is not a setting; did you mean addr? (sluice.yaml:1)"},
		"the file itself":  {input{args: serve, yaml: "config: other.yaml\n"}, "config: is not a setting (sluice.yaml:1)"},
		"list of a list":   {input{args: serve, yaml: "docs:\n  - a\n  - [b]\n"}, "docs: line 3: must be a list of texts, not a list"},
		"float":            {input{args: serve, yaml: "max-runs: 1.5\n"}, "max-runs: must be a whole number, not the number 1.5"},
		"mapping":          {input{args: serve, yaml: "addr:\n  host: a\n"}, "addr: must be text, not a mapping"},
		"alias":            {input{args: serve, yaml: "addr: *a\n"}, "sluice.yaml:1"},
		"no file":          {input{args: []string{"--config", "/no/such.yaml", "serve"}}, "no such file or directory (flag --config)"},
		"folder as a file": {input{args: []string{"--config", "/", "serve"}}, "not a regular file (flag --config)"},
		"query over body":  {input{args: []string{"serve", "--max-body=2KiB", "--max-query=2KiB"}}, "max-query: 2KiB must be less than max-body, which is 2KiB (flag --max-query)"},
		"empty document":   {input{args: []string{"serve", "--docs", ""}}, "docs: must not be empty (flag --docs)"},
		"empty collection": {input{args: []string{"serve", "--collection", ""}}, "collection: must not be empty (flag --collection)"},
		"control bytes":    {input{args: []string{"serve", "--collection", "a\x00b"}}, "control characters"},
		"long collection":  {input{args: []string{"serve", "--collection", strings.Repeat("c", 129)}}, "at most 128 bytes"},
		"port":             {input{args: []string{"serve", "--addr", "a:70000"}}, `port must be from 0 to 65535, not "70000"`},
		"named port":       {input{args: []string{"serve", "--addr", "a:http"}}, `not "http"`},
		"huge size":        {input{args: []string{"serve", "--max-body", "99999999PiB"}}, "too large"},
		"variable in vain": {input{args: []string{"runs"}, env: map[string]string{"SLUICE_MAX_BODY": "x"}}, "variable SLUICE_MAX_BODY"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := load(t, tc.input)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %q", err, tc.want)
			}
		})
	}
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"\n", "# nothing\n", "---\n", "docs: []\n"} {
		if _, _, _, err := load(t, input{args: []string{"serve"}, yaml: text}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestHelpTellsDefaultAndVariable(t *testing.T) {
	var out bytes.Buffer
	var cli line
	var loader config.Loader
	options := append(loader.Options(), kong.Writers(&out, &out), kong.Exit(func(int) { panic("exit") }), kong.Name("sluice"))
	parser, err := kong.New(&cli, options...)
	require.NoError(t, err)
	func() {
		defer func() { _ = recover() }()
		_, _ = parser.Parse([]string{"serve", "--help"})
	}()
	help := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"--addr=HOST:PORT Address to listen on", "($SLUICE_ADDR)", "--deadline=30s", "($SLUICE_DEADLINE)", "--data=DIR", "($SLUICE_DATA_DIR)",
		"--config=FILE", "($SLUICE_CONFIG)", "--other=\"x\"",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{"addr: a:1\n", "docs: [a, b]\n", "a: &x 1\nb: *x\n", "? a\n: b\n", "<<: {}\n", "addr: !!int 1\n", "\x00", "addr: |\n  a:1\n"} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "fuzz.yaml")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		loader := config.Loader{Lookup: func(name string) (string, bool) { return path, name == "SLUICE_CONFIG" }}
		if c, err := loader.Load(); err == nil && c.Validate() != nil {
			t.Errorf("a file that loads contains invalid settings: %v", c.Validate())
		}
	})
}
