package sluice_test

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// allowedImports lists the packages of this module that each package may import. A key that ends in /* applies to each
// package directly below that has no row of its own; /... in a value allows everything below. Tests may import any package.
// A new protocol or back end gets one row.
var allowedImports = map[string]string{
	".":                "auth corpus/filter engine event fault ingest internal/app internal/config session",
	"engine":           "answer event eventlog fault model",
	"engine/natspeers": "engine event fault",
	"cmd/sluice":       "ingest/sandbox internal/cli",
	"cmd/sluice-bench": "ingest/sandbox internal/bench internal/cli",
	"internal/cli":     "conform doctor corpus/filter eval/summary disk/atomicfile fault server/access server/mcp auth engine answer/confidence answer/grade answer/grade/calibrate prompt client client/display corpus eval event eventlog files index ingest ingest/parse internal/app internal/chat internal/config lang model model/probe server session server/documents server/ingestions server/sources source wire wire/forge wire/sse ledger",

	// The only package that imports every back end: it turns a Config into a running program.
	"internal/app": "doctor blobs/... natsconn corpus/filter eval/summary auth auth/oidc auth/sqlstore engine engine/natspeers answer/... cache/... corpus event eventlog/... fault files/... index/... ingest/... internal/config disk/atomicfile disk/reserve disk/sqlitedb sqldb sqldb/postgres forrst/sqlstore lang model/... prompt server/... source/... store/... web wire/... disk/cachedb ledger/... session/...",

	// Types and functions that all layers use.
	"fault":                       "",
	"corpus":                      "fault",
	"corpus/filter":               "corpus fault lang",
	"event":                       "corpus corpus/filter fault",
	"lang":                        "",
	"auth":                        "corpus fault",
	"auth/sqlstore":               "auth disk/atomicfile disk/sqlitedb sqldb sqldb/postgres",
	"auth/oidc":                   "auth corpus",
	"internal/config":             "auth fault lang ledger",
	"disk/atomicfile":             "",
	"disk/cachedb":                "disk/atomicfile",
	"disk/disktest":               "",
	"disk/sqlitedb":               "disk/atomicfile sqldb",
	"doctor":                      "",
	"sqldb":                       "",
	"sqldb/postgres":              "doctor fault sqldb",
	"sqldb/postgres/postgrestest": "sqldb/postgres",
	"disk/reserve":                "fault disk/atomicfile",

	"natsconn":          "",
	"natsconn/natstest": "",

	// Uploaded bytes.
	"blobs":                "disk/atomicfile fault",
	"blobs/*":              "blobs natsconn",
	"blobs/s3blobs/s3test": "",

	// Logs.
	"eventlog":              "event fault",
	"eventlog/*":            "doctor natsconn event eventlog fault disk/reserve disk/atomicfile",
	"eventlog/eventlogtest": "corpus event eventlog fault",

	// Documents and retrieval.
	"ingest":                      "corpus fault index ingest/entities ingest/parse ingest/proposition lang model disk/atomicfile",
	"ingest/*":                    "prompt corpus fault lang model",
	"ingest/parse":                "corpus fault lang ingest/parse/...",
	"ingest/parse/document":       "corpus fault lang",
	"ingest/parse/*":              "corpus fault lang ingest/parse/archive ingest/parse/document ingest/parse/xmltext",
	"ingest/parse/parsetest":      "",
	"ingest/sandbox":              "fault ingest/parse",
	"ingest/external":             "fault ingest/parse",
	"ingest/reembed":              "corpus fault index model",
	"index":                       "corpus fault",
	"index/embedded":              "corpus fault index index/embedded/inverted index/prepare index/walk disk/reserve lang disk/atomicfile",
	"index/embedded/inverted":     "disk/atomicfile",
	"index/indextest":             "corpus fault index internal/tools/require",
	"index/prepare":               "corpus fault index lang",
	"index/walk":                  "corpus index index/prepare lang",
	"index/weaviate":              "corpus doctor fault index index/prepare index/walk lang",
	"index/weaviate/weaviatetest": "",
	"eval":                        "engine answer/confidence answer/verify corpus eval/followup eval/paraphrase event index ingest internal/plot lang model",
	"model":                       "corpus",
	"model/*":                     "corpus fault lang model model/transport disk/atomicfile",
	"model/vectorcache":           "fault disk/cachedb model",
	"model/modeltest/llama":       "internal/tools/output",
	"cache":                       "cache/canonical corpus event index disk/cachedb sqldb",
	"cache/canonical":             "",
	"files":                       "blobs corpus fault index ingest ingest/parse disk/reserve store disk/atomicfile",
	"files/*":                     "fault",
	"files/search":                "corpus corpus/filter files index store",
	"index/scope":                 "corpus index lang model",
	"store":                       "",
	"source":                      "corpus fault ingest ingest/parse lang store",
	"source/folder":               "fault ingest source",
	"source/git":                  "disk/atomicfile fault ingest ingest/parse source",
	"source/git/gittest":          "",
	"source/page":                 "disk/atomicfile fault files/fetch ingest/parse source",
	"source/page/pagetest":        "files/fetch source/page",
	"source/imap":                 "fault ingest source",
	"source/s3":                   "fault ingest ingest/parse source",
	"source/urls":                 "fault ingest ingest/parse source source/page",
	"source/web":                  "fault ingest source source/page",
	"source/webdav":               "fault ingest ingest/parse source",
	"source/sourcetest":           "source",
	"session":                     "engine event eventlog fault lang wire",
	"session/sqlstore":            "disk/sqlitedb event lang session sqldb sqldb/postgres",
	"session/sessiontest":         "event fault internal/tools/race lang session",
	"ledger":                      "auth corpus event fault",
	"ledger/sqlstore":             "corpus disk/sqlitedb event ledger sqldb sqldb/postgres",
	"store/*":                     "corpus event fault store disk/atomicfile disk/sqlitedb sqldb sqldb/postgres",
	// The recorder writes through the interface of eventlog; the steps in the sub-packages must not import it.
	"answer":                 "answer/agent answer/analyze answer/attribute answer/catalog answer/condense answer/confidence answer/grade answer/history answer/hyde answer/rerank answer/selfquery answer/verify cache corpus corpus/filter event eventlog fault index lang model",
	"answer/*":               "prompt corpus corpus/filter event fault index lang model",
	"answer/history":         "answer/analyze answer/condense prompt event lang model",
	"answer/agent/*":         "answer/agent prompt corpus event lang model",
	"answer/grade/calibrate": "answer/grade internal/logistic",
	"answer/confidence":      "event internal/logistic lang model",
	"internal/logistic":      "",
	"internal/plot":          "lang",
	"prompt":                 "corpus lang model",
	"eval/followup":          "lang",
	"eval/paraphrase":        "",
	"eval/summary":           "disk/atomicfile",
	"internal/tools/*":       "corpus eval event fault index internal/tools/output internal/tools/require lang model",
	// It starts servers for the tests of clients, which are not part of the module's packages.
	"internal/tools/clienttest": "answer auth corpus engine event fault index internal/app internal/config server server/a2a server/knowledge server/mcp server/openai server/rpc server/sessions session internal/tools/require",

	// Protocols: functions from events to frames.
	"wire":            "corpus event fault lang",
	"wire/sse":        "wire",
	"examples/forrst": "forrst forrst/client",
	"examples/*":      "client event wire/forge wire/knowledge",
	"wire/*":          "corpus corpus/filter event fault wire wire/sse",
	"wire/sessions":   "fault wire/turns",
	"wire/wiretest":   "corpus event eventlog/eventlogtest fault internal/tools/golden wire",

	// A library of its own.
	"forrst":               "",
	"forrst/client":        "forrst",
	"forrst/socket":        "forrst forrst/client",
	"forrst/natsrpc":       "forrst forrst/client",
	"forrst/storetest":     "forrst",
	"forrst/transporttest": "forrst forrst/client",
	"forrst/sqlstore":      "forrst",

	// The page.
	"web": "",

	// Servers, clients and programs.
	"server": "auth corpus event eventlog fault forrst server/delivery session wire wire/sse engine",
	// Streams. It loads events through an interface and knows no engine.
	"server/delivery": "event eventlog wire wire/sse",
	// The routes of a protocol's service other than its stream, and the functions of Forrst.
	"server/*":          "eval/summary auth engine corpus corpus/filter event eventlog fault files files/search index lang server server/responses session source store wire wire/... ledger model",
	"server/sources":    "auth corpus fault ingest server source store",
	"server/ingestions": "auth event fault files ingest server source store wire wire/sse",
	"server/access":     "auth auth/oidc fault server",
	"server/mcp":        "auth engine fault forrst server server/rpc wire wire/forrst wire/sse",
	"server/rpc":        "auth corpus corpus/filter engine event fault files files/search forrst index model server store wire wire/forrst",
	// The client reads the forge and knowledge protocols.
	// It checks servers over HTTP only. The grammars are those of the protocols.
	"conform":        "wire/sse wire/a2a wire/forge wire/forrst wire/ragevents wire/turns",
	"client":         "event fault wire wire/forge wire/knowledge wire/sessions wire/sse wire/turns",
	"client/display": "client event",
	"internal/chat":  "client client/display event fault lang wire/knowledge wire/turns",
	"internal/bench": "corpus disk/sqlitedb index ingest ingest/parse sqldb engine answer eval event eventlog internal/app internal/cli internal/config internal/plot lang server server/delivery wire/...",
}

// backEnds are the packages that only internal/app may import. Other packages use the interface that a back end implements.
var backEnds = []string{
	"engine/natspeers", "eventlog/filelog", "eventlog/natslog", "blobs/natsblobs", "blobs/s3blobs", "index/embedded", "index/weaviate", "model/local", "model/openai",
	"model/anthropic", "store/sqlstore", "auth/sqlstore", "ledger/sqlstore", "session/sqlstore",
}

// impureImports would let a protocol depend on anything other than the events it is given.
var impureImports = []string{"context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/...", "os", "os/...", "sync", "sync/atomic"}

// clockFuncs are the functions of package time that read the clock or wait for it.
var clockFuncs = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

// Size limits: files and functions in lines, interfaces in methods. Large outliers make code hard to read, medians do not.
const (
	maxFile      = 600
	maxFunc      = 80
	maxInterface = 6
	maxMain      = 40 // all of a command under cmd: the program is a value that a test can run
)

// badNames are package names that do not say what the package is for.
var badNames = []string{"util", "utils", "common", "types", "manager", "helper", "helpers", "misc", "base"}

// exceptions maps a violation (the part of its message before the colon) to the reason why it is accepted. An exception
// that matches no violation fails the test.
var exceptions = map[string]string{
	"internal/app/index.go Index":        "it only joins the interfaces of an index",
	"session/store.go Store":             "it only joins the four interfaces of a back end, which share transactions",
	"store/storetest/storetest.go Store": "it only joins the interfaces of a back end",
	"wire imports net/url":               "it only escapes the parts of addresses, and opens no connection",
	"wire/wiretest imports math/rand/v2": "it cuts logs into batches at random, from a seed that a failure prints",
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	tree, err := parseTree(os.DirFS("."))
	require.NoError(t, err)
	if len(tree) < 5 {
		t.Fatalf("found only %d packages: is this the root of the module?", len(tree))
	}
	used := map[string]bool{}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, violation := range rule.check(tree) {
				what, _, _ := strings.Cut(violation, ": ")
				if exceptions[what] == "" {
					t.Error(violation)
				}
				used[what] = true
			}
		})
	}
	for what := range exceptions {
		if !used[what] {
			t.Errorf("the exception for %q is no longer needed", what)
		}
	}
}

func TestTableKeepsBackEndsApart(t *testing.T) {
	t.Parallel()
	for pkg, row := range allowedImports {
		for _, backEnd := range backEnds {
			if pkg != "internal/app" && allows(row, backEnd) {
				t.Errorf("the row of %s lets it import %s: only internal/app may name back ends", pkg, backEnd)
			}
		}
	}
}

// TestTableIsExact checks that each row belongs to a package, and that a row of a single package allows no import that the
// package does not use.
func TestTableIsExact(t *testing.T) {
	t.Parallel()
	tree, err := parseTree(os.DirFS("."))
	require.NoError(t, err)
	used := map[string]map[string]bool{} // imports of the packages of each row
	tree.each(func(pkg string, s source) {
		row := pkg
		if _, ok := allowedImports[row]; !ok {
			row = path.Dir(pkg) + "/*"
		}
		if used[row] == nil {
			used[row] = map[string]bool{}
		}
		for imported := range s.imports() {
			used[row][strings.TrimPrefix(imported, module+"/")] = true
		}
	})
	for row, allowed := range allowedImports {
		if used[row] == nil {
			t.Errorf("the row of %s belongs to no package", row)
			continue
		}
		for _, pattern := range strings.Fields(allowed) {
			if !strings.HasSuffix(row, "/*") && !slices.ContainsFunc(slices.Collect(maps.Keys(used[row])), func(imported string) bool { return matches(pattern, imported) }) {
				t.Errorf("the row of %s allows %s, which it does not import", row, pattern)
			}
		}
	}
}
