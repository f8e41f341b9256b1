package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/natsconn/natstest"
	"github.com/sluice-rag/sluice/wire/sse"
)

// broker starts a NATS server with a password and returns its address.
func broker(t *testing.T) (s *natstest.Server, url string) {
	t.Helper()
	s = natstest.Configured(t, "authorization: {user: sluice, password: hunter2}")
	return s, s.URLOf("sluice", "hunter2")
}

// TestRunsOfSeveralServers asks a question on one server, reads it on another one, and kills the first one in the middle of the answer. A third one
// is started and killed meanwhile: it must not end the run. Then the first one is started again and continues the answer. The reader gets all of it.
func TestRunsOfSeveralServers(t *testing.T) {
	const said = "A ship pays 12 euros for each metre of its length ⟦1⟧. Fishing boats pay nothing ⟦1⟧."
	words := strings.SplitAfter(said, " ")
	s := modeltest.NewOpenAI(t, modeltest.Script{Next: func(n int, _ []byte) modeltest.Script {
		if n == 0 {
			return modeltest.Script{Tokens: words, Fail: modeltest.Stall, After: 6}
		}
		return modeltest.Script{Tokens: words[6:]}
	}})
	_, nats := broker(t)
	args := func() []string {
		return []string{"--docs=" + docs(t), "--data=" + t.TempDir(), "--judge=none", "--model-url=" + s.URL, "--deadline=10m", "--model-stall=5m", "--keep-runs-bytes=64MiB", "--log=" + nats}
	}
	first := args()
	one, process := child(t, first...)
	two, _ := child(t, args()...)
	run, _ := frames(t, http.MethodPost, one+"/api/query/stream", `{"query":"What does a ship pay for each metre?","mode":"direct"}`, nil, `for"`)
	read := make(chan []sse.Event, 1)
	begun := make(chan struct{})
	go func() {
		_, seen := frames(t, http.MethodGet, two+"/runs/"+run+"/stream", "", nil, `for"`)
		close(begun)
		_, rest := frames(t, http.MethodGet, two+"/runs/"+run+"/stream", "", map[string]string{"Last-Event-ID": seen[len(seen)-1].ID}, "")
		read <- append(seen, rest...)
	}()
	<-begun // the second server shows what the model has said so far
	process.Kill()
	_, process = child(t, append(args(), "--recover=fail")...) // it ends its own unfinished runs only
	process.Kill()
	one, _ = child(t, first...)
	_, whole := frames(t, http.MethodGet, one+"/runs/"+run+"/stream", "", nil, "")
	if d := cmp.Diff(joined(t, whole), joined(t, <-read)); d != "" {
		t.Errorf("what was read on the other server (-log +read)\n%s", d)
	}
	if text := joined(t, whole)[0].Data; text != "A ship pays 12 euros for each metre of its length [1]. Fishing boats pay nothing [1]." || whole[len(whole)-1].Name != "done" {
		t.Errorf("the answer is %q, the end %s", text, whole[len(whole)-1].Name)
	}
	for protocol, path := range map[string]string{"forge": "", "knowledge": "?protocol=knowledge", "events": "?protocol=events"} {
		_, there := frames(t, http.MethodGet, one+"/runs/"+run+"/stream"+path, "", nil, "")
		_, here := frames(t, http.MethodGet, two+"/runs/"+run+"/stream"+path, "", nil, "")
		if d := cmp.Diff(there, here); d != "" {
			t.Errorf("%s on two servers:\n%s", protocol, d)
		}
	}
}

// TestLogURLIsSecret checks that no output shows the password of the run log.
func TestLogURLIsSecret(t *testing.T) {
	for _, c := range []struct {
		log  string
		args []string
	}{
		{"nats://sluice:hunter2@127.0.0.1:1", []string{"serve", "--help"}},
		{"nats://sluice:hunter2@127.0.0.1:1", []string{"serve", "--addr=127.0.0.1:0", "--data=" + t.TempDir()}},
		{"nats://sluice:hunter2@127.0.0.1:1", []string{"runs", "--data=" + t.TempDir()}},
		{"http://sluice:hunter2@127.0.0.1:1", []string{"serve", "--data=" + t.TempDir()}},
		{"nats://sluice:hunter2\n@127.0.0.1:1", []string{"serve", "--data=" + t.TempDir()}},
		{"nats://sluice:hunter2@%zz", []string{"serve", "--addr=127.0.0.1:0", "--data=" + t.TempDir()}},
	} {
		t.Setenv("SLUICE_LOG", c.log)
		_, out, errs := run(t, c.args...)
		if strings.Contains(out+errs, "hunter2") {
			t.Errorf("%q with the address %q shows the password:\n%s%s", c.args, c.log, out, errs)
		}
	}
}
