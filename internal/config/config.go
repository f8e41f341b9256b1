package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Config is every setting. Its sections are embedded by the commands that take them as flags; a variable or a file may
// give any of them to any command.
type Config struct {
	Log    Log    `title:"Logging"`
	Store  Store  `title:"What is kept, and where"`
	Ingest Ingest `title:"Documents"`
	Models Models `title:"Models"`
	HTTP   HTTP   `title:"HTTP server"`
	Runs   Runs   `title:"Answering"`
	Cache  Cache  `title:"Answers that are kept"`
	Files  Files  `title:"Uploaded files"`
	Keep   Keep   `title:"Retention"`
	Start  Start  `title:"Restart"`
	Keys   Keys   `title:"-"` // no settings: see its comment
}

// Log says what is logged, to standard error.
type Log struct {
	LogLevel  string `name:"log-level" default:"info" oneof:"debug,info,warn,error" help:"Least severe message that is logged: debug, info, warn or error."`
	LogFormat string `name:"log-format" default:"auto" oneof:"auto,text,json" help:"Form of the log: text, json, or auto, which is text on a terminal and json elsewhere."`
}

// Level is LogLevel as slog knows it.
func (l Log) Level() slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[l.LogLevel]
}

// Store says where data are kept.
type Store struct {
	// Its variable is not SLUICE_DATA: by convention, that names the folder of public data to test and measure on.
	Data       string `name:"data" env:"SLUICE_DATA_DIR" placeholder:"DIR" defaultnote:"the user's data directory (on Linux $XDG_DATA_HOME/sluice or ~/.local/share/sluice)" help:"Folder in which everything is kept: run logs, indexes, the database."`
	Collection string `name:"collection" default:"default" maxlen:"128" help:"Collection of documents that is read and written."`
}

// Ingest says what is indexed, and how much of the machine that may take.
type Ingest struct {
	Docs         []string      `name:"docs" sep:"none" placeholder:"PATH" help:"Folder or file to index at start; give it once for each."`
	MaxFileBytes Size          `name:"max-file-bytes" default:"64MiB" min:"1KiB" max:"4GiB" help:"Largest document file that is read (bytes); larger ones are reported and left out."`
	Workers      int           `name:"workers" min:"1" max:"1024" defaultnote:"the number of cores" help:"Documents that are read and indexed at once."`
	ParseMemory  Size          `name:"parse-memory" default:"512MiB" min:"64MiB" max:"64GiB" help:"Memory that reading one document may take (bytes); a document that needs more is reported and left out. Raise it with max-file-bytes."`
	ParseTime    time.Duration `name:"parse-time" default:"30s" min:"100ms" max:"1h" help:"How long reading one document may take (duration); a document that takes longer is reported and left out."`
	Propose      string        `name:"propose" default:"rules" oneof:"rules,model,off" help:"What makes sentences stand alone before they are indexed: rules, a model, which is asked once for each passage, or nothing (off). Where it changes, documents are indexed anew."`
	Entities     string        `name:"entities" default:"rules" oneof:"rules,model,off" help:"What finds the names that passages hold, from which the graph is made: rules, a model besides, which is asked once for each passage, or nothing (off), which leaves no graph. Where it changes, documents are indexed anew."`
}

// HTTP bounds what one connection may cost.
type HTTP struct {
	Addr         string        `name:"addr" default:"127.0.0.1:8000" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free one and prints it."`
	MaxBody      Size          `name:"max-body" default:"256KiB" min:"1KiB" max:"64MiB" help:"Largest request body of a question (bytes); JSON may write a character of a question with six bytes or more."`
	AllowHost    []string      `name:"allow-host" sep:"none" placeholder:"NAME" help:"Host name that requests to a server on a loopback address may be for, besides localhost; give it once for each. A proxy that hands on the Host of its own clients needs it."`
	Heartbeat    time.Duration `name:"heartbeat" default:"15s" min:"100ms" max:"1h" help:"Time without an event after which a comment is sent on a stream, so that proxies keep it open (duration); before the first token, 4s at most."`
	WriteTimeout time.Duration `name:"write-timeout" default:"30s" min:"100ms" max:"1h" help:"How long one write to a reader may take before its connection is closed (duration)."`
	DrainTimeout time.Duration `name:"drain-timeout" default:"30s" min:"100ms" max:"1h" help:"How long a stopping server waits for running questions before it cancels them (duration)."`
}

// Runs bounds what one question may cost.
type Runs struct {
	MaxRuns         int           `name:"max-runs" default:"1000" min:"1" max:"1000000" help:"Questions answered at once; others wait, see max-queued, or are refused with 429."`
	PerClient       int           `name:"max-runs-per-client" default:"0" min:"0" max:"1000000" help:"Questions of one client answered at once; 0 is a quarter of max-runs. A client is an IP address (for IPv6, its first 64 bits). Long questions count several times. Behind a proxy all clients have one address: set this to the value of max-runs."`
	MaxQueued       int           `name:"max-queued" default:"1000" min:"0" max:"1000000" help:"Questions that may wait to be answered, at most half of them from one client; more are refused with 429. Clients take turns."`
	QueueWait       time.Duration `name:"queue-wait" default:"10s" min:"1ms" max:"24h" help:"How long a question waits to be answered before it is refused with 429 (duration)."`
	MaxQuery        Size          `name:"max-query" default:"32KiB" min:"1" max:"16MiB" help:"Longest question (bytes of UTF-8); must be less than max-body, which holds it."`
	Deadline        time.Duration `name:"deadline" default:"30s" min:"100ms" max:"24h" help:"How long one question may take; then it ends with what there is (duration)."`
	AgentIterations int           `name:"agent-iterations" default:"6" min:"1" max:"50" help:"Rounds in which the agent may choose tools for one question."`
	AgentTokens     int           `name:"agent-tokens" default:"20000" min:"1" max:"100000000" help:"Tokens that choosing tools may cost for one question, where a model chooses; then rules do."`
	Grace           time.Duration `name:"grace" default:"30s" min:"0s" max:"24h" never:"-1" help:"How long a run goes on after its last reader has left (duration); 0 cancels it at once, -1 never."`
}

// Cache bounds the answers that are kept for questions that mean the same.
type Cache struct {
	CacheBytes Size          `name:"cache-bytes" default:"64MiB" min:"0" max:"1PiB" help:"Space of kept answers (bytes), over which those that were not used for longest go; 0 keeps none."`
	CacheAge   time.Duration `name:"cache-age" default:"168h" min:"1s" max:"87600h" help:"Age after which a kept answer is not given any more (duration)."`
}

// Files bounds what is uploaded. How large a file may be is said with the documents.
type Files struct {
	FetchAllow   []string      `name:"fetch-allow" split:"," placeholder:"CIDR" optional:"" help:"Range of addresses, such as 10.1.0.0/16, from which files may be fetched by URL although it is private or this machine's own; give it once for each. Public addresses need none."`
	FetchTimeout time.Duration `name:"fetch-timeout" default:"2m" min:"1s" max:"24h" help:"How long fetching a file by its URL may take (duration)."`
}

// Allowed is FetchAllow as netip knows it.
func (f Files) Allowed() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range f.FetchAllow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("wants ranges of addresses such as 10.1.0.0/16, not %q", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Keep says how long finished runs stay.
type Keep struct {
	KeepRunsAge   time.Duration `name:"keep-runs-age" default:"720h" min:"1m" max:"87600h" help:"Age after which a finished run is deleted (duration)."`
	KeepRunsBytes Size          `name:"keep-runs-bytes" default:"2GiB" min:"1MiB" max:"1PiB" help:"Space of all runs (bytes) over which the oldest finished ones are deleted."`
}

// Start has the settings for runs that an earlier server left unfinished.
type Start struct {
	Recover string `name:"recover" default:"resume" oneof:"resume,fail" help:"What happens to answers that a crash interrupted: resume continues them if the deadline has not passed; fail ends them with an error."`
}

// Never is the value of [Runs.Grace] under which a run goes on without readers until it is done.
const Never time.Duration = -1

// Default returns the settings that hold where nothing else is given. Data is empty where the user has no home
// directory; Validate then asks for it.
func Default() Config {
	var c Config
	for _, s := range settings(&c) {
		if s.def == "" {
			continue
		}
		if err := s.set([]string{s.def}); err != nil {
			panic("config: default of " + s.name + ": " + err.Error())
		}
	}
	c.Store.Data, _ = dataDir()
	c.Ingest.Workers = runtime.NumCPU()
	return c
}

// Validate reports every setting that is out of its limits, as [Faults]. It looks at values only, not at the disk.
func (c Config) Validate() error {
	var faults Faults
	for _, s := range settings(&c) {
		if err := s.check(); err != nil {
			faults = append(faults, Fault{Setting: s.name, Problem: err.Error()})
		}
	}
	return c.Models.cross(c.cross(faults)).orNil()
}

// cross adds the faults that lie between settings, once each of them is right for itself.
func (c Config) cross(faults Faults) Faults {
	if !faults.has("max-query") && !faults.has("max-body") && c.Runs.MaxQuery >= c.HTTP.MaxBody {
		faults = append(faults, Fault{Setting: "max-query", Problem: c.Runs.MaxQuery.String() +
			" must be less than max-body, which is " + c.HTTP.MaxBody.String()})
	}
	if _, err := c.Files.Allowed(); err != nil && !faults.has("fetch-allow") {
		faults = append(faults, Fault{Setting: "fetch-allow", Problem: err.Error()})
	}
	for setting, is := range map[string]string{"propose": c.Ingest.Propose, "entities": c.Ingest.Entities} {
		if is == "model" && c.Models.Chain()[0].Kind == KindLocal && !faults.has(setting) && !faults.has("model") {
			faults = append(faults, Fault{Setting: setting, Problem: "is model where model names none"})
		}
	}
	return faults
}

// dataDir is the folder in which a program of this user keeps its data.
func dataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sluice"), nil
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "sluice"), nil
		}
		return "", errors.New("%LocalAppData% is not defined")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "sluice"), nil
	}
	return filepath.Join(home, ".local", "share", "sluice"), nil
}
