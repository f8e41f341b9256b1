package app_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/output"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

const (
	lighthouse = "# Lighthouses\n\n## The keeper\n\nThe keeper of the Farland lighthouse is Ada Brook. She has kept the light since 1998.\n\n" +
		"## The lamp\n\nThe lamp of the Farland lighthouse burns rapeseed oil. It is visible for nineteen nautical miles.\n"
	bread    = "# Bread\n\n## Sourdough\n\nSourdough rises for twelve hours at room temperature.\n"
	question = "Who is the keeper of the Farland lighthouse, and since when has she kept the light?"
)

// open opens the program over two documents, with changed default settings.
func open(t *testing.T, change func(*config.Config)) (*app.App, *output.Buffer) {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	cfg.Store.Records = recordsOf(t, cfg.Store.Data)
	change(&cfg)
	out := &output.Buffer{}
	a, err := app.Open(t.Context(), cfg, slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.NoError(t, err)
	require.CloseAfter(t, a)
	_, err = a.Ingester.IngestDocuments(t.Context(), "default", []ingest.Source{
		{URI: "lighthouse.md", Data: []byte(lighthouse)}, {URI: "bread.md", Data: []byte(bread)}}, nil)
	require.NoError(t, err)
	return a, out
}

// ask answers a question and returns the log and the state of the run.
func ask(t *testing.T, a *app.App, q string) ([]event.Event, event.State) {
	t.Helper()
	run, err := a.Engine.Ask(t.Context(), event.Question{Query: q, Mode: event.Agentic}, engine.Caller{})
	require.NoError(t, err)
	var log []event.Event
	for batch, err := range a.Engine.Events(t.Context(), run, 0) {
		require.NoError(t, err)
		log = append(log, batch...)
	}
	require.NoError(t, event.CheckLog(log, true))
	return log, event.Fold(log)
}

var (
	claimRE   = regexp.MustCompile(`<claim id="(\d+)"`)
	passageRE = regexp.MustCompile(`<passage id="(\d+)"`)
)

// helpful plays a model that does all that it is asked: it searches for two things at once and then ends the search, finds every
// passage of use and every claim supported by what it cites, and says what the documents say.
func helpful(_ int, request []byte) modeltest.Script {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return modeltest.Script{Fail: modeltest.Refuse, Status: http.StatusBadRequest}
	}
	body, user := string(request), asked.Messages[len(asked.Messages)-1].Content
	ids := func(re *regexp.Regexp) (out []string) {
		for _, m := range re.FindAllStringSubmatch(user, -1) {
			out = append(out, m[1])
		}
		return out
	}
	switch {
	case strings.Contains(body, `"hybrid_search"`) && strings.Contains(body, " are CORRECT"):
		return modeltest.Script{Calls: []modeltest.ScriptCall{{ID: "c", Name: event.ToolGenerate, Input: "{}"}}}
	case strings.Contains(body, `"hybrid_search"`):
		return modeltest.Script{Reasoning: []string{"Two things", " are asked."}, Calls: []modeltest.ScriptCall{
			{ID: "a", Name: event.ToolHybridSearch, Input: `{"reason": "the name", "query": "keeper of the Farland lighthouse"}`},
			{ID: "b", Name: event.ToolGraphTraverse, Input: `{"query": "Since when has she kept the light?", "entities": ["Farland lighthouse"]}`}}}
	case strings.Contains(body, `"questions"`) && strings.Contains(body, "json_schema"):
		return modeltest.Script{Tokens: []string{`{"complexity":"moderate","questions":["Who is the keeper of the Farland lighthouse?",`,
			`"Since when has the keeper kept the light?"]}`}}
	case strings.Contains(body, `"grades"`) && strings.Contains(body, "json_schema"):
		var grades []string
		for _, id := range ids(passageRE) {
			grades = append(grades, fmt.Sprintf(`{"id":%s,"score":3}`, id))
		}
		return modeltest.Script{Tokens: []string{"```json\n", `{"grades":[`, strings.Join(grades, ","), "]}", "\n```"}}
	case strings.Contains(body, `"verdicts"`) && strings.Contains(body, "json_schema"):
		var verdicts []string
		for _, id := range ids(claimRE) {
			verdicts = append(verdicts, fmt.Sprintf(`{"id":%s,"verdict":"SUPPORTED","passages":[1]}`, id))
		}
		return modeltest.Script{Tokens: []string{`{"verdicts":[` + strings.Join(verdicts, ",") + "]}"}}
	}
	return modeltest.Script{Reasoning: []string{"Let me", " look."},
		Tokens: []string{"Ada Brook", " is the keeper ", "⟦", "1", "⟧", ". She has kept", " it since 1998", "⟦1⟧⟦", "77⟧."}}
}

// TestModelJudgesEveryStep checks that analysis, searches, grades, answer and verdicts are those of the model, and that the events say so.
func TestModelJudgesEveryStep(t *testing.T) {
	t.Parallel()
	s := modeltest.NewOpenAI(t, modeltest.Script{Next: helpful, Context: 8192})
	a, _ := open(t, func(c *config.Config) { c.Models.ModelURL = []string{s.URL} })
	_, st := ask(t, a, question)
	for _, w := range st.Warnings {
		t.Errorf("warning: %+v", w)
	}
	if st.Status != event.Finished || st.Analysis.By != "test-model" || !st.Analysis.Decomposed || len(st.Searches) != 1 || !slices.Contains(st.Tools, event.ToolGraphTraverse) {
		t.Fatalf("%s, analysed by %+v, searches %+v, tools %q", st.Status, st.Analysis, st.Searches, st.Tools)
	}
	if by := st.Grades[0].By; by != "test-model" || st.Grades[0].Correct == 0 {
		t.Errorf("graded by %s: %+v", by, st.Grades[0])
	}
	if st.Check.By != "test-model" || len(st.Check.Claims) != 2 || st.ClaimSupport() != 1 || st.Confidence <= 0 || st.Confidence >= 1 {
		t.Errorf("verified: %+v", st.Check)
	}
	if got := string(st.Text); got != "Ada Brook is the keeper. She has kept it since 1998." || string(st.Reasoning) != "Two things are asked.\nLet me look." {
		t.Errorf("says %q after %q", got, st.Reasoning)
	}
	var places []int
	for _, c := range st.Citations {
		places = append(places, c.At)
	}
	if fmt.Sprint(places) != "[23 51]" {
		t.Errorf("citations at %v", places)
	}
	steps := map[string]int{}
	for _, u := range st.Usage {
		steps[u.Step] += u.Calls
		if u.Input == 0 || u.Output == 0 || u.Model != "test-model" {
			t.Errorf("usage %+v", u)
		}
	}
	if steps["analyze"] != 1 || steps["generate"] != 1 || steps["grade"] < 1 || steps["verify"] != 1 || steps["plan"] != 2 {
		t.Errorf("calls by step: %v", steps)
	}
	if n := s.Counts().Requests; n != steps["analyze"]+steps["plan"]+steps["grade"]+steps["generate"]+steps["verify"] {
		t.Errorf("%d requests, and %v are told", n, steps)
	}
}

// TestSimpleQuestionSkipsModelAnalysis checks that no model analyses a simple question, since that only takes time.
func TestSimpleQuestionSkipsModelAnalysis(t *testing.T) {
	t.Parallel()
	s := modeltest.NewOpenAI(t, modeltest.Script{Next: helpful})
	a, _ := open(t, func(c *config.Config) { c.Models.ModelURL, c.Models.Judge = []string{s.URL}, []string{"analyze"} })
	_, st := ask(t, a, "Who is the keeper of the lighthouse?")
	if st.Analysis.By != "rules" || s.Counts().Requests != 1 || st.Grades[0].By != "coverage" || st.Check.By != "overlap" {
		t.Errorf("%+v, %d requests, graded by %s, verified by %s", st.Analysis, s.Counts().Requests, st.Grades[0].By, st.Check.By)
	}
}

// TestFailoverChain checks for many failures of the first model that the answer is complete or ends where the model failed, and that
// nothing is repeated.
func TestFailoverChain(t *testing.T) {
	t.Parallel()
	said := []string{"Ada Brook", " is the keeper", " of the light", "."}
	for name, c := range map[string]struct {
		first  modeltest.Script
		second []string
		want   string
		stop   string
	}{
		"503":                 {modeltest.Script{Fail: modeltest.Refuse}, said, "Ada Brook is the keeper of the light.", "stop"},
		"429":                 {modeltest.Script{Fail: modeltest.Refuse, Status: 429}, said, "Ada Brook is the keeper of the light.", "stop"},
		"401":                 {modeltest.Script{Fail: modeltest.Refuse, Status: 401}, said, "Ada Brook is the keeper of the light.", "stop"},
		"cut at once":         {modeltest.Script{Fail: modeltest.Cut}, said, "Ada Brook is the keeper of the light.", "stop"},
		"junk":                {modeltest.Script{Fail: modeltest.Junk}, said, "Ada Brook is the keeper of the light.", "stop"},
		"stalls":              {modeltest.Script{Fail: modeltest.Stall}, said, "Ada Brook is the keeper of the light.", "stop"},
		"empty":               {modeltest.Script{Tokens: []string{}}, said, "Ada Brook is the keeper of the light.", "stop"},
		"cut, and it goes on": {modeltest.Script{Tokens: said, Fail: modeltest.Cut, After: 2}, said[2:], "Ada Brook is the keeper of the light.", "stop"},
		"cut, and it repeats": {modeltest.Script{Tokens: said, Fail: modeltest.Cut, After: 2}, said, "Ada Brook is the keeper of the light.", "stop"},
		"cut, and it contradicts": {modeltest.Script{Tokens: said, Fail: modeltest.Cut, After: 2},
			[]string{"Ada Brook was ", "dismissed long ago", " and nobody keeps the light."}, "Ada Brook is the keeper", "incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := modeltest.NewOpenAI(t, c.first), modeltest.NewOpenAI(t, modeltest.Script{Tokens: c.second})
			a, _ := open(t, func(cfg *config.Config) {
				cfg.Models.ModelURL, cfg.Models.ModelName = []string{first.URL, second.URL}, []string{"first", "second"}
				cfg.Models.Judge, cfg.Models.ModelStall = []string{"none"}, 200*time.Millisecond
			})
			_, st := ask(t, a, question)
			if string(st.Text) != c.want || st.Stop != c.stop || st.Status != event.Finished {
				t.Errorf("says %q, stop %s, %s", st.Text, st.Stop, st.Status)
			}
			if len(st.Warnings) == 0 || !strings.HasPrefix(st.Warnings[0].Message, "first ") {
				t.Errorf("warnings %+v", st.Warnings)
			}
		})
	}
}

// TestModelFailureFailsRun checks that a run ends with the error of the named model if no model is left and there is no fallback, also during
// its cooldown.
func TestModelFailureFailsRun(t *testing.T) {
	t.Parallel()
	for status, reason := range map[int]string{401: "refused the key (HTTP status 401)", 503: "failed (HTTP status 503)", 429: "is limiting requests (HTTP status 429)"} {
		for _, judge := range []string{"none", "all"} {
			s := modeltest.NewOpenAI(t, modeltest.Script{Fail: modeltest.Refuse, Status: status})
			a, _ := open(t, func(c *config.Config) {
				c.Models.ModelURL, c.Models.ModelName, c.Models.Judge = []string{s.URL}, []string{"named"}, []string{judge}
			})
			for range 2 {
				_, st := ask(t, a, question)
				if st.Failure == nil || st.Failure.Code != fault.Model || !strings.HasPrefix(st.Failure.Message, "named "+reason) ||
					strings.HasSuffix(st.Failure.Message, ": server_error: the script says so") != (status != 401) || st.Generation != nil {
					t.Errorf("%d, judged by %s: %+v, generation %+v", status, judge, st.Failure, st.Generation)
				}
			}
		}
	}
}

// TestGenerationNamesTakeover checks that the event names the model that writes and not the first one.
func TestGenerationNamesTakeover(t *testing.T) {
	t.Parallel()
	broken := modeltest.NewOpenAI(t, modeltest.Script{Fail: modeltest.Refuse})
	works := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada Brook keeps it."}})
	for name, c := range map[string]struct {
		urls, models []string
		fallback     string
		want         string
	}{
		"another model":      {[]string{broken.URL, works.URL}, nil, "none", "second"},
		"the local model":    {[]string{broken.URL}, nil, "extractive", "sluice-extractive"},
		"a last model local": {[]string{broken.URL}, []string{"openai", "local"}, "none", "sluice-extractive"},
		"the first":          {[]string{works.URL, broken.URL}, nil, "none", "first"},
	} {
		a, _ := open(t, func(cfg *config.Config) {
			cfg.Models.ModelURL, cfg.Models.Model, cfg.Models.ModelFallback = c.urls, c.models, c.fallback
			cfg.Models.ModelName, cfg.Models.Judge = []string{"first", "second"}[:len(c.urls)], []string{"none"}
		})
		_, st := ask(t, a, question)
		if st.Status != event.Finished || st.Generation == nil || st.Generation.Model != c.want || len(st.Text) == 0 {
			t.Errorf("%s: %s, generation %+v, %q", name, st.Status, st.Generation, st.Text)
		}
	}
}

// TestFallbackToRules checks that the built-in generator and the rules answer if the settings allow it and all models fail.
func TestFallbackToRules(t *testing.T) {
	t.Parallel()
	s := modeltest.NewOpenAI(t, modeltest.Script{Fail: modeltest.Refuse, Status: 401})
	a, _ := open(t, func(c *config.Config) {
		c.Models.ModelURL, c.Models.ModelFallback = []string{s.URL}, config.FallbackExtractive
	})
	_, st := ask(t, a, question)
	if st.Status != event.Finished || !strings.Contains(string(st.Text), "Ada Brook") || st.Grades[0].By != "coverage" || st.Check.By != "overlap" {
		t.Errorf("%s: %q, graded by %s, verified by %s", st.Status, st.Text, st.Grades[0].By, st.Check.By)
	}
	if n := s.Counts().Requests; n != 1 {
		t.Errorf("a key that is refused was tried %d times", n)
	}
	last := st.Warnings[len(st.Warnings)-1]
	if last.Step != "generate" && last.Step != "verify" || len(st.Warnings) > 3 {
		t.Errorf("warnings %+v", st.Warnings)
	}
}

const (
	secret   = "sk-SECRETKEY0123456789"
	password = "PASSWORDINTHEADDRESS"
)

// TestKeysDoNotLeak fails in many ways, with providers that repeat the key in their replies, and looks for the key in all output of the
// program.
func TestKeysDoNotLeak(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			look(t, "a header "+name+" to another host", strings.Join(values, " "))
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(elsewhere.Close)
	echo := func(r *http.Request) string {
		return fmt.Sprintf("Incorrect key: %s %s %s", r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.URL)
	}
	refuse := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]string{"type": "api_error", "message": echo(r), "code": secret}})
		}
	}
	stream := func(end string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Ada\"}}]}\n\n")
			fmt.Fprintf(w, end, echo(r))
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"400": refuse(400), "401": refuse(401), "403": refuse(403), "404": refuse(404), "413": refuse(413), "429": refuse(429), "500": refuse(500), "503": refuse(503),
		"error in the stream": stream("data: {\"error\":{\"message\":%q}}\n\n"), "junk": stream("data: {%s\n\n"), "cut": stream(": %s"),
		"event of an error": stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":%q}}\n\n"),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/v1", http.StatusTemporaryRedirect)
		},
		"hang up": func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		},
	} {
		for _, kind := range []string{config.KindOpenAI, config.KindAnthropic} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				provider := httptest.NewServer(h)
				t.Cleanup(provider.Close)
				address := strings.Replace(provider.URL, "http://", "http://user:"+password+"@", 1) + "/v1"
				a, logged := open(t, func(c *config.Config) {
					c.Keys = config.Keys{OpenAI: secret, Anthropic: secret}
					c.Models.Model, c.Models.ModelURL, c.Models.ModelName = []string{kind}, []string{address}, []string{"some-model"}
					c.Models.EmbedURL, c.Models.EmbedName = address, "some-embedder"
					c.Runs.Deadline = 10 * time.Second
				})
				log, st := ask(t, a, question)
				failed := st.Failure != nil && st.Failure.Code == fault.Model && strings.HasPrefix(st.Failure.Message, "some-model ")
				if st.Status != event.Finished && !failed || len(st.Warnings) == 0 {
					t.Errorf("%s, warnings %+v, failure %+v", st.Status, st.Warnings, st.Failure)
				}
				var written strings.Builder
				for _, e := range log {
					line, err := event.AppendJSON(nil, e)
					require.NoError(t, err)
					written.Write(line)
				}
				figures := httptest.NewRecorder()
				promhttp.HandlerFor(a.Registry, promhttp.HandlerOpts{}).ServeHTTP(figures, httptest.NewRequest(http.MethodGet, "/metrics", nil))
				written.WriteString(figures.Body.String())
				look(t, "an event or a figure", written.String())
				look(t, "the log", logged.String())
				lookIn(t, a.Config.Store.Data)
			})
		}
	}
}

func look(t *testing.T, where, text string) {
	t.Helper()
	for _, s := range []string{secret, "SECRETKEY", password} {
		if i := strings.Index(text, s); i >= 0 {
			t.Errorf("%s holds a secret: …%.200s", where, text[max(0, i-100):])
		}
	}
}

// lookIn looks for the key in all files of a folder.
func lookIn(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		look(t, path, string(b))
		return err
	})
	require.NoError(t, err)
}
