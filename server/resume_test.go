package server_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/server"
)

func TestCursorsThatResumeNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(3, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		run, evs := s.answered("why?")
		for after, want := range map[string]int{
			"999": 400, "9223372036854775807": 400, "9223372036854775808": 400, "18446744073709551616": 400,
			"-1": 400, "+1": 400, "x": 400, "1.": 400, ".1": 400, "1.0": 400, "1.-1": 400, "1.+1": 400, "0.1": 400, "1.1.1": 400, "01": 400,
			"0x1": 400, "1e1": 400, "1 2": 400, "١": 400, "1,2": 400, strings.Repeat("1", 1000): 400, "1.99999999999999999999": 400,
			"0": 200, "1": 200, "2.1": 200,
		} {
			for name, resume := range resumptions {
				res := resume(s, run, after)
				body := slurp(t, res.Body)
				if res.StatusCode != want || want == 400 && !strings.Contains(body, `"field":"Last-Event-ID"`) {
					t.Errorf("%s after %.30q: %s: %.200s", name, after, res.Status, body)
				}
			}
		}
		last := evs[len(evs)-1].ID
		for name, resume := range resumptions {
			res := resume(s, run, last)
			want := http.StatusOK
			if strings.HasPrefix(name, "GET") {
				want = http.StatusNoContent
			}
			if body := slurp(t, res.Body); res.StatusCode != want || body != "" {
				t.Errorf("%s after the end: %s %q", name, res.Status, body)
			}
			if evs := rest(t, resume(s, run, last+".1")); len(evs) != 1 || evs[0].Name != "done" {
				t.Errorf("%s within the last event: %v", name, evs)
			}
		}
	})
}

func TestRunsThatAreNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(3, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		run, _ := s.answered("why?")
		for _, id := range []string{"run_unknown", strings.ToUpper(run), run + "x", run[:len(run)-1], strings.Repeat("a", 65), "a%2Fb", "..%2F..%2Fetc%2Fpasswd",
			"a%00b", "%20", "%C3%A9", "a.b", "*", "a%0d%0aX:y"} {
			for _, path := range []string{"GET /runs/%/stream", "GET /api/runs/%", "POST /runs/%/cancel"} {
				method, path, _ := strings.Cut(strings.ReplaceAll(path, "%", id), " ")
				res := s.do(method, path, "")
				if body := slurp(t, res.Body); res.StatusCode != http.StatusNotFound || !strings.Contains(body, `"code":"NOT_FOUND"`) {
					t.Errorf("%s %s: %s: %.100s", method, path, res.Status, body)
				}
			}
		}
		for _, id := range []string{"run_unknown", "a/b", "../../etc/passwd", "é", strings.Repeat("a", 65)} {
			res := s.do("POST", "/api/query/stream", question("why?"), "Sluice-Run-Id", id)
			if body := slurp(t, res.Body); res.StatusCode != http.StatusNotFound {
				t.Errorf("%q: %s: %.100s", id, res.Status, body)
			}
		}
		res := s.do("POST", "/api/query/stream", question("why?"), "Last-Event-ID", "3")
		if body := slurp(t, res.Body); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"field":"Sluice-Run-Id"`) {
			t.Errorf("a cursor of no run: %s: %s", res.Status, body)
		}
		res = s.do("GET", "/runs/"+run+"/stream?protocol=gopher", "")
		if body := slurp(t, res.Body); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"field":"protocol"`) {
			t.Errorf("unknown protocol: %s: %s", res.Status, body)
		}
	})
}
