package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
)

// Config holds every setting. A command embeds the sections whose settings it takes as flags. Variables and the file can set
// any setting for any command.
type Config struct {
	Log     Log     `title:"Logging"`
	Store   Store   `title:"Storage"`
	Index   Index   `title:"Index"`
	Ingest  Ingest  `title:"Documents"`
	Parsing Parsing `title:"Limits of a document"`
	Models  Models  `title:"Models"`
	HTTP    HTTP    `title:"HTTP server"`
	Runs    Runs    `title:"Answering"`
	Cache   Cache   `title:"Answer cache"`
	Files   Files   `title:"Uploaded files"`
	Keep    Keep    `title:"Retention"`
	Start   Start   `title:"Start of the server"`
	Tenants Tenants `title:"Tenants"`
	Billing Billing `title:"Prices"`
	OIDC    OIDC    `title:"Login by OpenID Connect"`
	Keys    Keys    `title:"-"` // not settings: they are only read from variables
}

// Log holds the settings of the log, which is written to standard error.
type Log struct {
	LogLevel  string `name:"log-level" default:"info" oneof:"debug,info,warn,error" help:"Minimum level of log messages: debug, info, warn or error."`
	LogFormat string `name:"log-format" default:"auto" oneof:"auto,text,json" help:"Format of the log: text, json, or auto, which is text on a terminal and json otherwise."`
}

// Level returns LogLevel as a slog level.
func (l Log) Level() slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[l.LogLevel]
}

// Store holds the location of the data.
type Store struct {
	// The variable is not SLUICE_DATA because that names the folder of the public data sets for tests and benchmarks.
	Data string `name:"data" common:"" env:"SLUICE_DATA_DIR" placeholder:"DIR" defaultnote:"the user's data directory (on Linux $XDG_DATA_HOME/sluice or ~/.local/share/sluice)" help:"Data folder: run logs, indexes, uploaded files, the database."`
	// The value may hold a password, so no error shows it.
	RunLog           string        `name:"log" optional:"" secret:"" placeholder:"URL" help:"Where runs are logged: addresses of NATS servers with JetStream, such as nats://user:password@host:4222, separated by commas, or tls:// for an encrypted connection. Servers with the same address read each other's runs. Empty: the data folder. Set a password with the variable or --log-credentials, because other users of the machine can see flags."`
	LogCredentials   string        `name:"log-credentials" optional:"" placeholder:"FILE" help:"Credentials file for the NATS servers of --log."`
	LogReplicas      int           `name:"log-replicas" default:"0" min:"0" max:"5" help:"Number of NATS servers that store each run. 0 is as many as the cluster has, at most 3."`
	Records          Secret        `name:"store" placeholder:"URL" optional:"" help:"PostgreSQL database for the records of files, sessions, the ledger and keys, such as postgres://user@host:5432/name. Set a password with the variable, because other users of the machine can see flags. Empty: SQLite files in the data folder."`
	Blobs            Secret        `name:"blobs" placeholder:"URL" optional:"" help:"Where the bytes of uploaded files are: nats://user:password@host:4222 is the object store of NATS JetStream, s3://bucket/prefix?endpoint=https://host&region=name a bucket of an S3-compatible server, file:///folder a folder that all servers mount. Set a password with the variable. Credentials of S3 are the usual AWS variables or --blobs-credentials. Empty: the data folder."`
	BlobsCredentials string        `name:"blobs-credentials" optional:"" placeholder:"FILE" help:"Credentials file for --blobs: of NATS, or in the format of ~/.aws/credentials."`
	Lease            time.Duration `name:"lease" default:"2s" min:"500ms" max:"1m" help:"Time without a heartbeat of a server after which other servers continue its runs (duration). It applies if --log and --store are set, and must be the same on all servers."`
	Collection       string        `name:"collection" common:"" default:"default" maxlen:"128" help:"Name of the collection of documents."`
}

// Index holds the location of the index. The API key of Weaviate is in [Keys] or in a file.
type Index struct {
	URL      string `name:"index" optional:"" placeholder:"URL" help:"Weaviate server of the index: weaviate://host:port, or weaviates:// for TLS; the servers of a cluster are separated by commas. Several servers of Sluice can share one index. Empty: the index is in the data folder."`
	Replicas int    `name:"index-replicas" default:"0" min:"0" max:"9" help:"Number of servers of a Weaviate cluster that store each new collection. 0: as many as the cluster has, at most 3."`
	KeyFile  string `name:"index-key-file" optional:"" placeholder:"FILE" help:"File that holds the API key of the Weaviate server. Empty: the variable SLUICE_INDEX_KEY, or no key."`
}

// Parsing holds the limits of reading one document.
type Parsing struct {
	MaxFileBytes Size          `name:"max-file-bytes" default:"64MiB" min:"1KiB" max:"4GiB" help:"Maximum size of a document file (bytes). Larger files are reported and skipped."`
	ParseMemory  Size          `name:"parse-memory" default:"512MiB" min:"64MiB" max:"64GiB" help:"Maximum memory for parsing one document (bytes). A document that needs more is reported and skipped. Raise it together with max-file-bytes."`
	ParseTime    time.Duration `name:"parse-time" default:"30s" min:"100ms" max:"1h" help:"Maximum time for parsing one document (duration). A document that takes longer is reported and skipped."`
	OCR          string        `name:"ocr" default:"auto" oneof:"auto,pictures,off" help:"Reading of scanned pages with tesseract, if it is installed: auto (PDF files of scanned pages, and pictures that are uploaded or named), pictures (also pictures in folders) or off."`
	OCRLanguages string        `name:"ocr-languages" optional:"" placeholder:"LANGUAGES" help:"Languages of scanned pages as tesseract names them, such as eng+deu. Empty: all that are installed, at most 6."`
	OCRTime      time.Duration `name:"ocr-time" default:"10m" min:"1s" max:"24h" help:"Maximum time for reading one scanned document, or one document with a command (duration)."`
	ParseCommand []string      `name:"parse-command" sep:"none" placeholder:".EXT=COMMAND" help:"Program that reads the files with an extension and prints their text, such as '.djvu=djvutxt {}', where {} is the path of the file. Can be repeated."`
}

// Ingest holds the settings of indexing.
type Ingest struct {
	Docs                []string `name:"docs" common:"" sep:"none" placeholder:"PATH" help:"Folder or file to index at start. Can be repeated."`
	SourceFolders       []string `name:"source-folder" sep:"none" placeholder:"FOLDER" help:"Folder below which everybody who may add sources can add folders, without a key of the scope tenants. It applies to all tenants. Can be repeated."`
	Workers             int      `name:"workers" min:"1" max:"1024" defaultnote:"the number of cores" help:"Number of documents indexed concurrently."`
	MaxIngestions       int      `name:"max-ingestions" default:"4" min:"1" max:"1024" help:"Maximum number of concurrent ingestions of folders and files that were not uploaded, of all tenants. Syncs of sources do not count. Each tenant has at most one at a time."`
	MaxQueuedIngestions int      `name:"max-queued-ingestions" default:"100" min:"1" max:"100000" help:"Maximum number of ingestions of paths that a tenant has waiting or in progress. Further ones are refused with 429."`
	Propose             string   `name:"propose" default:"rules" oneof:"rules,model,off" help:"How sentences are rewritten to be self-contained before they are indexed: rules, model (one request per passage) or off. Documents are indexed again after a change."`
	Entities            string   `name:"entities" default:"rules" oneof:"rules,model,off" help:"How named entities are extracted for the entity graph: rules, model (rules and one request per passage) or off, which disables the graph. Documents are indexed again after a change."`
}

// HTTP holds the address and the limits of the HTTP server.
type HTTP struct {
	Addr         string        `name:"addr" common:"" default:"127.0.0.1:8000" placeholder:"HOST:PORT" help:"Address to listen on. With port 0 the system chooses a free port, which is printed."`
	MaxBody      Size          `name:"max-body" default:"1MiB" min:"1KiB" max:"64MiB" help:"Maximum size of the body of a question (bytes). Chat front ends send the whole conversation with each question, and JSON can take six bytes or more for one character."`
	MetricsAddr  string        `name:"metrics-addr" placeholder:"HOST:PORT" optional:"" help:"Second address, at which /metrics shows the metrics of all tenants and of the process without a key. Without HOST it is a loopback address; one that others can reach needs --insecure. Empty: none."`
	AllowHost    []string      `name:"allow-host" sep:"none" placeholder:"NAME" help:"Additional host name that a server on a loopback address accepts in requests, besides localhost. Can be repeated. It is needed behind a proxy that forwards the Host header of its clients."`
	AllowOrigin  []string      `name:"allow-origin" sep:"none" placeholder:"ORIGIN" help:"Origin of web pages on other hosts that may send requests, such as https://app.example.com. Can be repeated. API keys can allow further origins."`
	PublicURL    string        `name:"public-url" placeholder:"URL" optional:"" help:"Address at which browsers reach the server, such as https://sluice.example.com, for the login by OpenID Connect and for links to documents. Without it, both work at a loopback address only."`
	Heartbeat    time.Duration `name:"heartbeat" default:"15s" min:"100ms" max:"1h" help:"Interval of heartbeat comments on a stream without events, so that proxies keep it open (duration). Before the first token the interval is at most 4s."`
	WriteTimeout time.Duration `name:"write-timeout" default:"30s" min:"100ms" max:"1h" help:"Timeout of one write to a client, after which the connection is closed (duration)."`
	StreamWriter string        `name:"stream-writer" default:"auto" oneof:"auto,nethttp,loop" help:"What writes the streams of clients. nethttp: a goroutine for each stream. loop: few goroutines for all streams over HTTP/1.1 without TLS, which need less memory and processor time. auto: loop on Linux, otherwise nethttp."`
	DrainTimeout time.Duration `name:"drain-timeout" default:"30s" min:"100ms" max:"1h" help:"How long a stopping server waits for active runs before it cancels them (duration)."`
}

// Runs holds the limits of runs.
type Runs struct {
	MaxRuns         int           `name:"max-runs" default:"1000" min:"1" max:"1000000" help:"Maximum number of active runs. Further questions wait in the queue (max-queued) or are refused with 429."`
	PerClient       int           `name:"max-runs-per-client" default:"0" min:"0" max:"1000000" help:"Maximum number of active runs of one client; 0 is a quarter of max-runs. A client is an IP address, for IPv6 a /64 prefix. Long questions count several times. Behind a proxy all clients have the same address: set this to the value of max-runs."`
	MaxQueued       int           `name:"max-queued" default:"1000" min:"0" max:"1000000" help:"Maximum number of waiting questions, at most half of them from one client. Further questions are refused with 429. Clients take turns."`
	QueueWait       time.Duration `name:"queue-wait" default:"10s" min:"1ms" max:"24h" help:"How long a question waits in the queue before it is refused with 429 (duration)."`
	MaxQuery        Size          `name:"max-query" default:"32KiB" min:"1" max:"16MiB" help:"Maximum length of a question (bytes of UTF-8). It must be less than max-body."`
	Deadline        time.Duration `name:"deadline" default:"30s" min:"100ms" max:"24h" help:"Maximum time of one run (duration). After it, the run ends with what it has found."`
	AgentIterations int           `name:"agent-iterations" default:"6" min:"1" max:"50" help:"Maximum number of iterations of the agent for one question."`
	AgentTokens     int           `name:"agent-tokens" default:"20000" min:"1" max:"100000000" help:"Maximum number of tokens a model can use to choose tools for one question. After that, rules choose."`
	HistoryTokens   int           `name:"history-tokens" default:"2000" min:"200" max:"16000" help:"Budget of the history of a question (tokens, estimated). If a conversation is longer, a summary of at most a quarter of the budget replaces its older messages."`
	MinConfidence   float64       `name:"min-confidence" default:"0" min:"0" max:"1" help:"Minimum confidence in an answer (0 to 1). Without a language model, an answer below it becomes an abstention. The answer of a model, whose text is streamed, is flagged. 0 is none."`
	Grace           time.Duration `name:"grace" default:"30s" min:"0s" max:"24h" never:"-1" help:"How long a run continues after its last reader has left (duration). 0 cancels it at once, -1 never."`
}

// minCacheBytes is the least size of the cache file, as in package disk/cachedb.
const minCacheBytes Size = 128 << 10

// Cache holds the limits of the answer cache.
type Cache struct {
	CacheBytes Size          `name:"cache-bytes" default:"64MiB" min:"0" max:"1PiB" help:"Maximum size of the cached answers (bytes). Beyond it, the least recently used are removed. At least 128KiB; 0 disables the cache."`
	CacheAge   time.Duration `name:"cache-age" default:"168h" min:"1s" max:"87600h" help:"Maximum age of a cached answer (duration)."`
}

// Files holds the settings of files that are fetched by URL. The maximum file size is in [Ingest].
type Files struct {
	FetchAllow   []string      `name:"fetch-allow" split:"," placeholder:"CIDR" optional:"" help:"Range of private or loopback addresses, such as 10.1.0.0/16, from which files can be fetched by URL. Can be repeated. Public addresses are always allowed."`
	FetchTimeout time.Duration `name:"fetch-timeout" default:"2m" min:"1s" max:"24h" help:"Timeout of fetching a file by URL (duration)."`
}

// Allowed returns FetchAllow as prefixes.
func (f Files) Allowed() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range f.FetchAllow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("must be address ranges such as 10.1.0.0/16, not %q", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Keep holds the retention of finished runs.
type Keep struct {
	KeepRunsAge   time.Duration `name:"keep-runs-age" default:"720h" min:"1m" max:"87600h" help:"Maximum age of a finished run (duration)."`
	KeepRunsBytes Size          `name:"keep-runs-bytes" default:"2GiB" min:"1MiB" max:"1PiB" help:"Maximum size of all runs (bytes). Beyond it, the oldest finished runs are deleted."`
}

// Start holds the settings for runs that a previous server process did not finish.
type Start struct {
	Watch   bool   `name:"watch" common:"" default:"false" help:"Index changes of the files and folders of --docs while the server runs."`
	Recover string `name:"recover" default:"resume" oneof:"resume,fail" help:"What happens to runs that a crash interrupted: resume continues them if the deadline has not passed; fail ends them with an error."`
}

// Tenants holds the limits of a server with several tenants.
type Tenants struct {
	MaxOpenTenants int `name:"max-open-tenants" default:"64" min:"1" max:"100000" help:"Maximum number of tenants, besides the default one, whose data is open at once. Beyond it, the least recently used of the idle ones is closed, and opened again when it is used."`
}

// Never is the value of [Runs.Grace] with which a run without readers continues to its end.
const Never time.Duration = -1

// Default returns the default settings. Data is empty if the user has no home directory; Validate then reports it.
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

// Validate reports all invalid settings as [Faults]. It does not access the disk.
func (c Config) Validate() error {
	var faults Faults
	for _, s := range settings(&c) {
		if err := s.check(); err != nil {
			faults = append(faults, Fault{Setting: s.name, Problem: err.Error()})
		}
	}
	return c.Models.checkCombinations(c.checkLogin(c.checkCombinations(faults))).orNil()
}

// checkCombinations appends faults of settings that are valid alone but not together.
func (c Config) checkCombinations(faults Faults) Faults {
	if !faults.has("max-query") && !faults.has("max-body") && c.Runs.MaxQuery >= c.HTTP.MaxBody {
		faults = append(faults, Fault{Setting: "max-query", Problem: c.Runs.MaxQuery.String() +
			" must be less than max-body, which is " + c.HTTP.MaxBody.String()})
	}
	if n := c.Cache.CacheBytes; !faults.has("cache-bytes") && n > 0 && n < minCacheBytes {
		faults = append(faults, Fault{Setting: "cache-bytes", Problem: "must be 0 or at least " + minCacheBytes.String() + ", not " + n.String()})
	}
	if err := checkRunLog(c.Store.RunLog); err != nil && !faults.has("log") {
		faults = append(faults, Fault{Setting: "log", Problem: err.Error()})
	}
	if _, err := c.Files.Allowed(); err != nil && !faults.has("fetch-allow") {
		faults = append(faults, Fault{Setting: "fetch-allow", Problem: err.Error()})
	}
	if _, err := c.Billing.Prices(); err != nil && !faults.has("price") {
		faults = append(faults, Fault{Setting: "price", Problem: err.Error()})
	}
	for _, origin := range c.HTTP.AllowOrigin {
		if f, ok := errors.AsType[*fault.Error](auth.CheckOrigin(origin)); ok && !faults.has("allow-origin") {
			faults = append(faults, Fault{Setting: "allow-origin", Problem: strings.TrimPrefix(f.Message, "origin: ")})
		}
	}
	if url := c.Store.Records.Reveal(); url != "" && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		faults = append(faults, Fault{Setting: "store", Problem: "must be a URL such as postgres://user@host:5432/name"})
	}
	if url := c.Index.URL; url != "" && !strings.HasPrefix(url, "weaviate://") && !strings.HasPrefix(url, "weaviates://") {
		faults = append(faults, Fault{Setting: "index", Problem: "must begin with weaviate:// or weaviates://"})
	}
	if url := c.Store.Blobs.Reveal(); url != "" && !strings.HasPrefix(url, "s3://") && !strings.HasPrefix(url, "file:///") && checkRunLog(url) != nil {
		faults = append(faults, Fault{Setting: "blobs", Problem: "must begin with nats://, tls://, s3:// or file:///"})
	}
	for setting, value := range map[string]string{"propose": c.Ingest.Propose, "entities": c.Ingest.Entities} {
		if value == "model" && c.Models.Chain()[0].Kind == KindLocal && !faults.has(setting) && !faults.has("model") {
			faults = append(faults, Fault{Setting: setting, Problem: "is model, but no model is configured"})
		}
	}
	return faults
}

// checkRunLog checks the schemes of the addresses of the run log.
func checkRunLog(text string) error {
	if text == "" {
		return nil
	}
	for i, address := range strings.Split(text, ",") {
		scheme, _, ok := strings.Cut(strings.TrimSpace(address), "://")
		if !ok || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, scheme) {
			return fmt.Errorf("address %d must begin with nats://, tls://, ws:// or wss://", i+1)
		}
	}
	return nil
}

// dataDir returns the default data folder of the user.
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
