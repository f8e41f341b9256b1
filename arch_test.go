package sluice_test

import (
	"os"
	"strings"
	"testing"
)

// may is the import table: which of our packages a package may import. A name ending in /* stands for each package
// directly below it that has no row of its own, /... in an allowance for everything below. Tests are free of it, as they wire
// things together. A new protocol or back end gets one row.
var may = map[string]string{
	".":            "",
	"engine":       "answer corpus event eventlog fault model",
	"cmd/sluice":   "ingest/sandbox internal/cli",
	"internal/cli": "engine answer/grade answer/grade/calibrate prompt client client/display corpus eval event eventlog fault files index ingest internal/app internal/bench internal/chat internal/config lang model model/probe server wire wire/forge wire/knowledge wire/sse",

	// The only place that knows every back end: it turns a Config into a running program.
	"internal/app": "engine answer/... cache/... corpus event eventlog/... fault files/... forrst index/... ingest/... internal/config internal/reserve lang ledger model/... prompt server/... session store/... web wire/...",

	// The words that everything speaks in.
	"fault":            "",
	"corpus":           "",
	"event":            "corpus fault",
	"lang":             "",
	"internal/config":  "lang",
	"internal/reserve": "fault",

	// Logs.
	"eventlog":              "event fault",
	"eventlog/*":            "event eventlog fault internal/reserve",
	"eventlog/eventlogtest": "corpus event eventlog fault",

	// Documents and retrieval.
	"ingest":                 "corpus fault index ingest/entities ingest/parse ingest/propose lang model",
	"ingest/*":               "prompt corpus fault lang model",
	"ingest/parse":           "corpus fault lang",
	"ingest/parse/parsetest": "",
	"ingest/sandbox":         "corpus fault ingest/parse",
	"ingest/reembed":         "corpus fault index model",
	"index":                  "corpus fault lang",
	"index/*":                "corpus fault index internal/reserve lang",
	"eval":                   "engine answer/verify cache cache/... corpus event fault index ingest lang model",
	"model":                  "corpus fault",
	"model/*":                "corpus fault lang model model/transport",
	"model/modeltest/llama":  "",
	"cache":                  "cache/meaning corpus event fault index lang model",
	"cache/meaning":          "",
	"cache/cachetest":        "",
	"files":                  "corpus fault index ingest ingest/parse internal/reserve lang model store",
	"files/*":                "fault",
	"index/scope":            "corpus fault index lang model",
	"store":                  "corpus event fault",
	"store/*":                "corpus event fault store",
	"ledger":                 "event fault store",
	"session":                "corpus event fault store",
	// Its recorder writes through the interface of eventlog; the steps are handed Emit and may not know it.
	"answer":                 "answer/agent answer/analyze answer/attribute answer/catalog answer/condense answer/grade answer/hyde answer/rerank answer/verify cache corpus event eventlog fault index lang model",
	"answer/*":               "prompt corpus event fault index lang model",
	"answer/agent/*":         "answer/agent prompt corpus event lang model",
	"answer/grade/calibrate": "answer/grade",
	"prompt":                 "corpus fault lang model",
	"internal/tools/*":       "corpus eval event fault index lang model",

	// Protocols: functions from events to frames.
	"wire":          "event fault lang",
	"wire/sse":      "wire",
	"examples/*":    "client event wire/forge wire/knowledge",
	"wire/*":        "corpus event fault wire wire/sse",
	"wire/wiretest": "corpus event eventlog eventlog/eventlogtest fault wire wire/sse",
	"forrst":        "fault",

	// Ways in.
	"server": "answer corpus event eventlog fault files index ingest ledger model session store web wire wire/sse engine",
	// The routes of a protocol's service besides its stream.
	"server/*": "engine corpus event eventlog fault files index lang server store wire wire/...",
	// A client has to speak some protocol: this one speaks forge, and so do the commands that use it.
	"client":         "corpus event fault store wire wire/forge wire/knowledge wire/sse",
	"client/display": "client corpus event fault",
	"internal/chat":  "client client/display event fault lang wire/knowledge",
	"web":            "",
	"internal/bench": "engine answer corpus eval event eventlog fault lang server wire/...",
}

// backEnds are the packages that only internal/app may name. Everything else knows the interface they serve.
var backEnds = []string{
	"eventlog/filelog", "eventlog/natslog", "index/embedded", "index/qdrant", "index/pgvector", "model/local", "model/openai",
	"model/anthropic", "store/sqlite", "store/postgres",
}

// impure are the imports that would let a protocol depend on anything but the events it is given.
var impure = []string{"context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/...", "os", "os/...", "sync", "sync/atomic"}

// clock are the functions of package time that read or wait for the clock.
var clock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

// The tails that are held (files and functions in lines, interfaces in methods), as the tails are what makes code feared.
const (
	maxFile      = 600
	maxFunc      = 80
	maxInterface = 6
	maxMain      = 40 // all of a command under cmd: the program is a value that a test can run
)

// badNames say nothing about what a package is for.
var badNames = []string{"util", "utils", "common", "types", "manager", "helper", "helpers", "misc", "base"}

// excused are the exceptions, each with its reason. The key is what the complaint says before its colon; one that
// excuses nothing is itself a complaint.
var excused = map[string]string{
	"wire/wiretest imports math/rand/v2": "it cuts logs into batches at random, from a seed that a failure prints",
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	tree, err := parseTree(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) < 5 {
		t.Fatalf("found only %d packages: is this the root of the module?", len(tree))
	}
	used := map[string]bool{}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, complaint := range rule.check(tree) {
				what, _, _ := strings.Cut(complaint, ": ")
				if excused[what] == "" {
					t.Error(complaint)
				}
				used[what] = true
			}
		})
	}
	for what := range excused {
		if !used[what] {
			t.Errorf("no longer needed: the excuse for %q", what)
		}
	}
}

func TestTableKeepsBackEndsApart(t *testing.T) {
	t.Parallel()
	for pkg, row := range may {
		for _, backEnd := range backEnds {
			if pkg != "internal/app" && allows(row, backEnd) {
				t.Errorf("the row of %s lets it import %s: only internal/app may name back ends", pkg, backEnd)
			}
		}
	}
}
