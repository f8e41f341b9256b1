package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/turns"
)

const (
	turnsStream = "/v1/rag/sessions/s_1/messages/stream"
	turnsReply  = "/v1/rag/sessions/s_1/messages"
)

var turnsEndpoint = server.Endpoint{API: turns.API(), StreamPath: "/v1/rag/sessions/{id}/messages/stream", ReplyPath: "/v1/rag/sessions/{id}/messages",
	Session: true, FailureStatus: http.StatusInternalServerError}

func withTurns() server.Options {
	return server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint, turnsEndpoint}}
}

func message(content string) string { return fmt.Sprintf(`{"content":%q}`, content) }

// turn sends a message and returns the parts of the complete stream.
func (s *site) turn(path, body string) (g turns.Grammar, trailer turns.Trailer) {
	s.t.Helper()
	res := s.do("POST", path, body)
	stream := slurp(s.t, res.Body)
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != turns.ContentType {
		s.t.Fatalf("%s, %s: %.300s", res.Status, got, stream)
	}
	_, err := io.WriteString(&g, stream)
	if err == nil {
		err = g.End()
	}
	if err == nil {
		err = json.Unmarshal(g.Trailer, &trailer)
	}
	if err != nil {
		s.t.Fatalf("%v: %.500q", err, stream)
	}
	if string(trailer.RunID) != res.Header.Get("Sluice-Run-Id") {
		s.t.Errorf("run %s has the header %s", trailer.RunID, res.Header.Get("Sluice-Run-Id"))
	}
	return g, trailer
}

// failing is an error that reaches clients, with a cause that does not.
func failing() error {
	return fault.Wrap(fault.Index, errors.New("secret cause"), "the index did not answer")
}

// then returns a script that fails after some events.
func then(bodies ...event.Body) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		if err := emit(ctx, r, bodies...); err != nil {
			return err
		}
		return failing()
	}
}

// TestTurnsFailures lets runs fail before the first byte of the stream and in each of its phases.
func TestTurnsFailures(t *testing.T) {
	t.Parallel()
	bodies := everything(5, 2)
	at := func(kind event.Kind) int {
		return slices.IndexFunc(bodies, func(b event.Body) bool { return b.Kind() == kind })
	}
	s := serve(t, byQuestion(map[string]script{
		"nothing": then(), "analyzed": then(bodies[:2]...), "searching": then(bodies[:3]...), "searched": then(bodies[:at(event.KindReranked)]...),
		"generating": then(bodies[:at(event.KindToken)]...), "answering": then(bodies[:at(event.KindToken)+2]...),
		"answered": then(bodies[:at(event.KindGenerationFinished)+1]...), "verified": then(bodies[:at(event.KindVerified)+1]...),
	}), engine.Options{}, withTurns())
	const none, some = "Sorry, this question could not be answered. Please try again.", "\n\nThis answer is incomplete: it was interrupted before its end."
	for name, want := range map[string]string{"searching": none, "searched": none, "generating": none, "answering": " word0 word919" + some,
		"answered": " word0 word919 word838 word757 word676", "verified": " word0 word919 word838 word757 word676"} {
		g, trailer := s.turn(turnsStream, message(name))
		if string(g.Text) != want || len(g.Lines) == 0 {
			t.Errorf("%s: the text is %q after %d lines, want %q", name, g.Text, len(g.Lines), want)
		}
		checkFailure(t, name, trailer)
		s.failedReply(t, name, turnsReply, want)
	}
	for _, name := range []string{"nothing", "analyzed"} {
		run := s.failedReply(t, name, turnsStream, none)
		s.failedReply(t, name, turnsReply, none)
		if res := s.do("GET", "/runs/"+run+"/stream?protocol=turns", ""); res.StatusCode != http.StatusInternalServerError || slurp(t, res.Body) == "" {
			t.Errorf("%s: the replayed stream has the status %s", name, res.Status)
		}
		// Who has received bytes goes on with bytes.
		if res := s.do("GET", "/runs/"+run+"/stream?protocol=turns&offset=1", ""); res.StatusCode != http.StatusOK || !strings.HasPrefix(slurp(t, res.Body), none+"\x1e{") {
			t.Errorf("%s: the resumed stream has the status %s", name, res.Status)
		}
	}
}

func checkFailure(t *testing.T, name string, trailer turns.Trailer) {
	t.Helper()
	if diff := cmp.Diff([]string{turns.ChatFailed}, trailer.ToolsUsed); diff != "" || len(trailer.Citations) > 0 {
		t.Errorf("%s: %d citations, tools (-want +got):\n%s", name, len(trailer.Citations), diff)
	}
	if diff := cmp.Diff(&turns.Failure{Code: "vector_db_error", Message: "the index did not answer"}, trailer.Error); diff != "" {
		t.Errorf("%s: error (-want +got):\n%s", name, diff)
	}
}

// failedReply sends a message whose reply is the failure of its run, and returns the run.
func (s *site) failedReply(t *testing.T, name, path, content string) (run string) {
	t.Helper()
	res := s.do("POST", path, message(name))
	text := slurp(t, res.Body)
	var a turns.Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || res.StatusCode != http.StatusInternalServerError || res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %s, %v: %.200s", name, res.Status, err, text)
	}
	if a.Error != turns.ChatFailed || a.Message != "the index did not answer" || a.Content != content || strings.Contains(text, "secret") || string(a.RunID) != res.Header.Get("Sluice-Run-Id") {
		t.Errorf("%s: %s", name, text)
	}
	return string(a.RunID)
}

// TestTurnsStepsAreLive checks that the client reads the start of the first search before the second one begins.
func TestTurnsStepsAreLive(t *testing.T) {
	t.Parallel()
	steps := make(chan struct{})
	bodies := append(analysed(event.CacheChecked{}), append(searching(1), searching(2)...)...)
	bodies = append(bodies, event.GenerationStarted{Model: "m"}, event.Token{Text: "Yes."}, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{})
	s := serve(t, stepwise(steps, bodies), engine.Options{}, withTurns())
	next := func(n int) {
		for range n {
			steps <- struct{}{}
		}
	}
	go next(3) // the header comes with the first line
	res := s.do("POST", turnsStream, message("why?"))
	defer res.Body.Close()
	r := bufio.NewReader(res.Body)
	for i, step := range []struct{ end, want string }{
		{"\n", `{"type":"search","status":"started","tool":"semantic_search","query":"authentication","iteration":1}`},
		{"\n", `"status":"completed"`}, {"\n", `"type":"review"`}, {"\n", `"iteration":2`}, {"\n", `"status":"completed"`}, {"\n", `"type":"review"`}, {"\x1d", "\x1d"}, {".", "Yes."}, {"\x1e", "\x1e"},
	} {
		if i > 0 {
			next(1)
		}
		if got, err := r.ReadString(step.end[0]); err != nil || !strings.Contains(got, step.want) {
			t.Fatalf("step %d: %q, %v, want %s", i, got, err, step.want)
		}
	}
	next(2)
	if rest, err := io.ReadAll(r); err != nil || !json.Valid(rest) {
		t.Errorf("trailer %q, %v", rest, err)
	}
}

// TestTurnsHaveNoHeartbeats checks that time adds nothing to a stream, in any compression.
func TestTurnsHaveNoHeartbeats(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"identity", "gzip", "zstd"} {
		synctest.Test(t, func(t *testing.T) {
			steps := make(chan struct{})
			bodies := everything(3, 1)
			s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: 24 * time.Hour}, withTurns())
			defer s.close()
			go func() {
				for range bodies {
					time.Sleep(time.Hour)
					steps <- struct{}{}
				}
			}()
			res := s.do("POST", turnsStream, message("why?"), "Accept-Encoding", coding)
			live := plainText(t, res)
			if replayed := slurp(t, s.do("GET", "/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream?protocol=turns", "").Body); live != replayed {
				t.Errorf("%s: live and replayed streams differ:\n%s", coding, cmp.Diff(live, replayed))
			}
		})
	}
}

// plainText reads a body and decompresses it.
func plainText(t testing.TB, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	var r io.Reader = res.Body
	switch res.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(r)
		require.NoError(t, err)
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		require.NoError(t, err)
		defer z.Close()
		r = z
	}
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

// TestTurnsResumeAtBytes resumes a stream after each of its bytes: on both routes, in both variants and in each compression, while the run is
// live and after its end.
func TestTurnsResumeAtBytes(t *testing.T) {
	t.Parallel()
	for _, inline := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bodies := append(everything(6, 1)[:9], event.GenerationStarted{Model: "m"}, event.Token{Text: "Zoë "}, event.Token{Text: "keeps 🕯 it."},
				event.Cited{N: 1, Chunk: "c_1"}, event.GenerationFinished{Reason: "stop"}, event.Verified{Confidence: 1}, event.Attributed{Sources: bigSources(1)})
			steps := make(chan struct{})
			s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, withTurns())
			defer s.close()
			emitted := 0
			advance := func(n int) {
				for ; emitted < min(n, len(bodies)); emitted++ {
					steps <- struct{}{}
				}
			}
			body, query := message("why?"), ""
			if inline {
				body, query = `{"content":"why?","citations":"inline"}`, "&citations=inline"
			}
			go advance(11) // the rest follows when readers have joined
			first := s.do("POST", turnsStream, body)
			synctest.Wait()
			run := first.Header.Get("Sluice-Run-Id")
			type reader struct {
				offset int
				coding string
				res    *http.Response
			}
			var readers []reader
			codings := []string{"identity", "gzip", "zstd"}
			get := func(offset int, coding string) reader {
				path := fmt.Sprintf("/runs/%s/stream?protocol=turns&offset=%d%s", run, offset, query)
				return reader{offset, coding, s.do("GET", path, "", "Accept-Encoding", coding)}
			}
			post := func(offset int, coding string) reader {
				return reader{offset, coding, s.do("POST", fmt.Sprintf("%s?offset=%d", turnsStream, offset), body, "Accept-Encoding", coding, "Sluice-Run-Id", run)}
			}
			for i := range 60 { // while the run is live
				readers = append(readers, get(29*i, codings[i%3]), post(31*i, codings[i%3]))
			}
			advance(len(bodies))
			whole := plainText(t, first)
			if strings.Contains(whole, "it. [1]\x1e") != inline {
				t.Errorf("inline %v: %q", inline, whole)
			}
			check := func(when string, r reader) {
				if got := plainText(t, r.res); r.res.StatusCode != http.StatusOK || got != whole[min(r.offset, len(whole)):] {
					t.Fatalf("%s, after %d of %d bytes with %s: %s, %q", when, r.offset, len(whole), r.coding, r.res.Status, got)
				}
			}
			for _, r := range readers {
				check("live", r)
			}
			for n := range len(whole) + 2 {
				check("ended", get(n, codings[n%3]))
				if n%7 == 0 {
					check("ended", post(n, codings[n%3]))
				}
			}
		})
	}
}

// TestTurnsWaitForTheFirstByte checks that a client which waits for the first frame blocks no other one, and that it is detached when it leaves, so
// that its run is cancelled.
func TestTurnsWaitForTheFirstByte(t *testing.T) {
	t.Parallel()
	started, stopped := make(chan event.RunID, 1), make(chan struct{})
	s := serve(t, byQuestion(map[string]script{"quick": saying(everything(3, 1)...), "slow": func(ctx context.Context, r *answer.Recorder) error {
		started <- r.State().Run
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}}), engine.Options{Grace: time.Nanosecond}, withTurns())
	ctx, leave := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		res, err := s.try(ctx, "POST", turnsStream, message("slow"))
		if err == nil {
			res.Body.Close()
		}
		failed <- err
	}()
	run := <-started
	s.turn(turnsStream, message("quick"))
	if res := s.do("HEAD", "/runs/"+string(run)+"/stream?protocol=turns", ""); res.StatusCode != http.StatusOK {
		t.Errorf("HEAD: %s", res.Status)
	}
	leave()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
	<-stopped
}

// TestTurnsFaults checks the errors of requests.
func TestTurnsFaults(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(5, 2)...), engine.Options{}, withTurns())
	for _, c := range []struct {
		method, path, body, headers string
		status                      int
		want                        turns.Fault
	}{
		{"POST", turnsStream, `{}`, "", 400, turns.Fault{Error: "invalid_request", Message: "content: required, and not only white space", Field: "content"}},
		{"POST", turnsReply, `{"content":"x","top_k":99}`, "", 400, turns.Fault{Error: "invalid_request", Message: "top_k: want 1 to 50, or 0 for the default", Field: "top_k"}},
		{"POST", turnsStream + "?citations=all", message("x"), "", 400, turns.Fault{Error: "invalid_request", Message: "citations: want trailer or inline", Field: "citations"}},
		{"POST", turnsStream + "?offset=3", message("x"), "", 400, turns.Fault{Error: "invalid_request", Message: "Sluice-Run-Id: required with offset", Field: "Sluice-Run-Id"}},
		{"POST", turnsStream + "?offset=3", message("x"), "Sluice-Run-Id none", 404, turns.Fault{Error: "not_found", Message: "no such run"}},
		{"PUT", turnsStream, "", "", 405, turns.Fault{Error: "invalid_request", Message: "method not allowed: want POST"}},
		{"GET", "/v1/rag/unknown", "", "", 404, turns.Fault{Error: "not_found", Message: "no such page; /docs/ lists the routes"}},
	} {
		res := s.do(c.method, c.path, c.body, strings.Fields(c.headers)...)
		var got turns.Fault
		dec := json.NewDecoder(strings.NewReader(slurp(t, res.Body)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&got); err != nil || res.StatusCode != c.status {
			t.Errorf("%s %s: %s, %v", c.method, c.path, res.Status, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.method, c.path, diff)
		}
	}
	_, trailer := s.turn(turnsStream, message("x"))
	for _, offset := range []string{"-1", "x", "1.5", "99999999999999999999"} {
		if res := s.do("GET", "/runs/"+string(trailer.RunID)+"/stream?protocol=turns&offset="+offset, ""); res.StatusCode != http.StatusBadRequest || !strings.Contains(slurp(t, res.Body), `"field":"offset"`) {
			t.Errorf("offset %s: %s", offset, res.Status)
		}
	}
	// The errors of other protocols keep their form.
	for path, want := range map[string]string{"/v1/unknown": `"detail":`, "/api/unknown": `"type":"error"`, "/unknown": `"type":"error"`} {
		if text := slurp(t, s.do("GET", path, "").Body); !strings.Contains(text, want) {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// TestTurnsRunInAnyProtocol checks that the protocol shows runs of other protocols, and other protocols its runs.
func TestTurnsRunInAnyProtocol(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(30, 3)...), engine.Options{}, withTurns())
	run, evs := s.answered("why?")
	g, trailer := turns.Grammar{}, turns.Trailer{}
	if _, err := io.WriteString(&g, slurp(t, s.do("GET", "/runs/"+run+"/stream?protocol=turns&citations=inline", "").Body)); err != nil || g.End() != nil {
		t.Fatalf("%v, %v", err, g.End())
	}
	if text, _ := textAndNames(evs); text != string(g.Text) {
		t.Errorf("the text is %q in turns and %q in forge", g.Text, text)
	}
	if err := json.Unmarshal(g.Trailer, &trailer); err != nil || string(trailer.RunID) != run || len(trailer.Citations) != 1 || trailer.SessionID != "" {
		t.Errorf("%v: %s", err, g.Trailer)
	}
	_, own := s.turn(turnsStream, message("why not?"))
	if evs := whole(t, s.do("GET", "/runs/"+string(own.RunID)+"/stream?protocol=forge", "")); len(evs) == 0 {
		t.Error("forge shows no events")
	}
}

// TestTurnsDocument checks that the OpenAPI document describes the lines, the trailer, the replies and the parameters.
func TestTurnsDocument(t *testing.T) {
	t.Parallel()
	s := serve(t, byQuestion(map[string]script{"all": saying(everything(9, 3)...), "none": then()}), engine.Options{}, withTurns())
	d := openDocument(t, s)
	g, _ := s.turn(turnsStream, message("all"))
	path := turnsEndpoint.StreamPath
	for _, value := range append(slices.Clone(g.Lines), string(g.Trailer)) {
		d.holds("part of a stream", "POST", path, 200, "text/plain", value)
		d.holds("part of a stream", "GET", "/runs/{id}/stream", 200, "text/plain", value)
	}
	for _, c := range []struct{ path, described, body string }{{turnsReply, turnsEndpoint.ReplyPath, message("all")}, {turnsReply, turnsEndpoint.ReplyPath, message("none")},
		{turnsStream, path, message("none")}, {turnsStream, path, `{}`}, {turnsReply, turnsEndpoint.ReplyPath, `{}`}} {
		res := s.do("POST", c.path, c.body)
		d.holds(c.body, "POST", c.described, res.StatusCode, "application/json", slurp(t, res.Body))
	}
	var got []string
	for _, p := range d.paths[path]["post"].Parameters {
		got = append(got, p.In+" "+p.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"header Idempotency-Key", "header Last-Event-ID", "header Sluice-Run-Id", "path id", "query citations", "query offset"}, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

// TestTurnsExamples runs the examples of the protocol.
func TestTurnsExamples(t *testing.T) {
	t.Parallel()
	o := withTurns()
	o.Routes = []server.Route{{Method: "POST", Path: "/v1/rag/sessions", Scope: auth.Ask, Serve: func(w http.ResponseWriter, _ *http.Request) error {
		server.ReplyJSON(w, http.StatusCreated, map[string]string{"session_id": "s_1"})
		return nil
	}}}
	s := serve(t, byQuestion(map[string]script{"Say": saying(everything(20, 2)...), "fail": then(), "break": then(everything(20, 2)[:12]...)}), engine.Options{}, o)
	for name, args := range map[string][]string{
		"turns.sh":  {needs.Program(t, "bash"), "../examples/turns.sh"},
		"turns.mjs": {needs.Program(t, "node"), "../examples/turns.mjs"},
		"turns.py":  {needs.Python(t, "urllib.request"), "../examples/turns.py"},
	} {
		run := func(question string) (stdout, stderr string, err error) {
			cmd := exec.Command(args[0], append(args[1:], question)...)
			cmd.Env = append(cmd.Environ(), "SLUICE_URL="+s.url, "no_proxy=*", "PYTHONIOENCODING=utf-8")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err = cmd.Run()
			return out.String(), errs.String(), err
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, steps, err := run(`Say "why"?`)
			if err != nil {
				t.Fatalf("%v: %s", err, steps)
			}
			if name == "turns.sh" {
				steps = out
			} else if !strings.Contains(out, "word676") || !strings.Contains(out, " [1]\n[1] Title: ") {
				t.Errorf("output %.500q", out)
			}
			if !strings.Contains(out, "word919") || !strings.Contains(steps, "started") || !strings.Contains(steps, "review") {
				t.Errorf("output %.500q, steps %.500q", out, steps)
			}
			for _, question := range []string{"fail now", "break now"} {
				out, errs, err := run(question)
				if !strings.Contains(out+errs, "the index did not answer") || err == nil {
					t.Errorf("%s: %v, output %.500q, errors %.500q", question, err, out, errs)
				}
			}
		})
	}
}
