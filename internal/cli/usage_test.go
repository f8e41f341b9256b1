package cli_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/output"
)

// TestInvalidUse: the exit status of an invalid command line is 2, also if the parser of flags does not find it, and the error names what the user typed.
func TestInvalidUse(t *testing.T) {
	clean(t)
	data := t.TempDir()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"ask: the question is empty", []string{"ask", "--data", data, ""}},
		{"ask: --top-k: want 1 to 50", []string{"ask", "--data", data, "--top-k", "99", "why?"}},
		{"ask: filter: want a condition", []string{"ask", "--data", data, "--filter", "foo", "why?"}},
		{"ask: --stream requires", []string{"ask", "--data", data, "--stream", "why?"}},
		{"--server: make client: want an http or https URL", []string{"ask", "--data", data, "--server", "foo", "why?"}},
		{"--server: make client: want an http or https URL", []string{"chat", "--data", data, "--server", "foo"}},
		{"--tenant and --server exclude each other", []string{"ask", "--data", data, "--server", "http://127.0.0.1:1", "--tenant", "acme", "why?"}},
		{"--allow-removal needs the sources", []string{"sources", "sync", "--data", data, "--allow-removal"}},
		{"nothing to change", []string{"sources", "set", "--data", data, "src-1"}},
		{" is a folder: name a file in it", []string{"parse", data}},
	} {
		if status, out, errs := run(t, c.args...); status != 2 || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%v: status %d, want 2 and %q: %s%s", c.args, status, c.want, out, errs)
		}
	}
}

// TestMessagesForBeginners checks what the commands say after usual mistakes.
func TestMessagesForBeginners(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	status, out, errs := run(t, "doctor", "--data", data)
	if status != 0 || !strings.Contains(out, "  no document is indexed: add some") || !strings.Contains(out, "sluice ingest FOLDER") {
		t.Errorf("doctor: status %d: %s%s", status, out, errs)
	}
	if status, _, errs := run(t, "ask", "--data", data, "why?"); status != 1 || !strings.Contains(errs, "Nothing is indexed yet. Add your documents with: sluice ingest FOLDER") || !strings.Contains(errs, "--docs FOLDER") {
		t.Errorf("ask: status %d: %s", status, errs)
	}
	_, stop := serve(t, "--data", data)
	if _, out, errs := run(t, "doctor", "--data", data); !strings.Contains(out, "  no document is indexed: add some") {
		t.Errorf("doctor, with a server: %s%s", out, errs)
	}
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	unknown := func() {
		t.Helper()
		if _, out, errs := run(t, "doctor", "--data", data); strings.Contains(out, "no document") {
			t.Errorf("doctor: %s%s", out, errs)
		}
		if status, out, errs := run(t, "ask", "--data", data, "--use", "nope", "hi"); status != 1 || !strings.Contains(errs, "no documents are in the collection nope; there are documents in default") {
			t.Errorf("a greeting to an unknown collection: status %d: %s%s", status, out, errs)
		}
		if status, out, errs := run(t, "ask", "--data", data, "--use", "default", "hi"); status != 0 {
			t.Errorf("a greeting: status %d: %s%s", status, out, errs)
		}
	}
	unknown()
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
	unknown()
	for want, args := range map[string][]string{
		"htp:// is not known; did you mean http://?":               {"sources", "add", "--data", data, "htp://example.org/"},
		"give --fetch-allow RANGE, such as --fetch-allow 10.0.0.0": {"sources", "add", "--data", data, "http://127.0.0.1:1/"},
		"show session: no such session":                            {"sessions", "show", "--data", data, "nosuch"},
		"! 127.0.0.1:1: the server does not answer":                {"chat", "--data", data, "--server", "http://127.0.0.1:1"},
	} {
		status, out, errs := runWith(t, "why?\n", args...)
		if status != 1 || !strings.Contains(errs, want) || strings.Contains(out, "added 0") {
			t.Errorf("%v: status %d, want %q: %s%s", args, status, want, out, errs)
		}
	}
}

// TestServerSaysThatItStops: the log has a line when a signal stops the server, and one when it has stopped.
func TestServerSaysThatItStops(t *testing.T) {
	clean(t)
	var log output.Buffer
	_, stop := serveLogged(t, &log, "--data", t.TempDir())
	if status := stop(); status != 0 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{`"msg":"stopping`, `"msg":"stopped"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log.String())
		}
	}
}
