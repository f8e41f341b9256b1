package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/wire/sse"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// ingestionFrames reads a stream of an ingestion to its end: the name, the id and the data of each event but progress.
func ingestionFrames(t *testing.T, url, after string) (status int, names, ids []string, last map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	r := sse.NewReader(res.Body, 0)
	for res.StatusCode == http.StatusOK {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		last = nil
		if err == nil {
			err = json.Unmarshal([]byte(ev.Data), &last)
		}
		if err != nil || last["type"] != ev.Name {
			t.Fatalf("%+v: %v", ev, err)
		}
		if ev.Name != "ingestion_progress" {
			names, ids = append(names, ev.Name), append(ids, ev.ID)
		}
	}
	return res.StatusCode, names, ids, last
}

// TestIngestThroughServer ingests while a server uses the data folder, and follows ingestions of each kind.
func TestIngestThroughServer(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	url, stop := serve(t, "--data", data)
	write(t, filepath.Join(folder, "bad.pdf"), "%PDF-1.7 and nothing else")
	status, out, errs := run(t, "ingest", folder, "--data", data)
	_, local, failed := run(t, "ingest", folder, "--data", t.TempDir())
	if status != 0 || out != local || errs != "the server at "+url+" uses the data folder, so it ingests the files\n"+failed {
		t.Errorf("status %d: %s%s\nwithout a server: %s%s", status, out, errs, local, failed)
	}
	status, out, errs = run(t, "ingest", folder, "--data", data, "--json")
	var r source.Result
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil || r.Unchanged != 1 || r.Failed != 1 || len(r.Failures) != 1 || strings.Contains(errs, "bad.pdf") {
		t.Errorf("JSON: status %d, %v: %s%s", status, err, out, errs)
	}
	if status, out, errs := run(t, "ask", "--data", data, "When was the north lock opened?"); status != 0 || !strings.Contains(out, "handbook") {
		t.Errorf("asked: status %d: %s\n%s", status, out, errs)
	}
	if status, _, errs := run(t, "ingest", filepath.Join(folder, "bad.pdf"), "--data", data, "--retry"); status != 1 || !strings.Contains(errs, "none of the files could be read") {
		t.Errorf("one that cannot be read: status %d: %s", status, errs)
	}
	if status, out, errs := run(t, "ingest", folder, "--data", data, "--collection", "notes"); status != 0 || !strings.Contains(out, "collection notes: added 1 ") {
		t.Errorf("another collection: status %d: %s%s", status, out, errs)
	}
	if status, _, errs := run(t, "ingest", folder, "--data", data, "--collection", "files"); status != 1 || !strings.Contains(errs, "collection") {
		t.Errorf("the collection of uploads: status %d: %s", status, errs)
	}
	for _, body := range []string{`{"paths":["/etc"]}`, `{}`} {
		res, err := http.Post(url+"/api/ingestions", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s without a key of the server: status %d", body, res.StatusCode)
		}
	}
	if status, _, _, _ := ingestionFrames(t, url+"/api/ingestions/none/stream", ""); status != http.StatusNotFound {
		t.Errorf("an unknown ingestion: status %d", status)
	}
	checkStreams(t, url, folder, data)
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}

// checkStreams reads the stream of the sync of a source, from each of its events on.
func checkStreams(t *testing.T, url, folder, data string) {
	t.Helper()
	status, out, errs := run(t, "sources", "add", folder, "--data", data)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	id, _, _ := strings.Cut(out, " ")
	var src struct{ Ingestion string }
	res, err := http.Get(url + "/api/sources/" + id)
	require.NoError(t, err)
	err = json.NewDecoder(res.Body).Decode(&src)
	_ = res.Body.Close()
	if err != nil || src.Ingestion == "" {
		t.Fatalf("%+v, %v", src, err)
	}
	stream := url + "/api/ingestions/" + src.Ingestion + "/stream"
	status, names, ids, last := ingestionFrames(t, stream, "")
	if want := []string{"ingestion_started", "file_failed", "ingestion_finished"}; status != http.StatusOK || !slices.Equal(names, want) || !slices.Equal(ids, []string{"1", "1.1", "1.2"}) {
		t.Errorf("status %d, events %v with ids %v", status, names, ids)
	}
	if r, _ := last["result"].(map[string]any); r["failed"] != 1.0 || r["unchanged"] != 1.0 {
		t.Errorf("result %v", last)
	}
	for after, want := range map[string][]string{"1": names[1:], "1.1": names[2:]} {
		if status, got, _, _ := ingestionFrames(t, stream, after); status != http.StatusOK || !slices.Equal(got, want) {
			t.Errorf("after %s: status %d, events %v", after, status, got)
		}
	}
	for after, want := range map[string]int{"1.2": http.StatusNoContent, "1.3": http.StatusBadRequest, "3.1": http.StatusBadRequest, "7.2": http.StatusBadRequest, "x": http.StatusBadRequest, "1.0": http.StatusBadRequest} {
		if status, _, _, _ := ingestionFrames(t, stream, after); status != want {
			t.Errorf("after %s: status %d, want %d", after, status, want)
		}
	}
	res, err = http.Head(stream)
	require.NoError(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %v", res)
	}
}

// TestSourceSettings sets the schedule, the watch, the collection and the metadata of a source, in the data folder and through a server.
func TestSourceSettings(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	expect := expectOfSources(t, data)
	refuse := func(want string, args ...string) {
		t.Helper()
		if status, _, errs := run(t, append([]string{"sources"}, append(args, "--data", data)...)...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, want %q in %s", args, status, want, errs)
		}
	}
	refuse("every", "add", folder, "--every", "1s")
	refuse("every", "add", folder, "--every", "tomorrow")
	refuse("want elements of", "add", folder, "--meta", "colour=red")
	refuse("KEY=VALUE", "add", folder, "--meta", "red")
	out := expect("added 1 ", "add", folder, "--every", "90m", "--meta", "creator=Ada", "--meta", "dc_rights=CC0", "--contributor", "bob", "--collection", "harbour")
	id, _, _ := strings.Cut(out, " ")
	expect("every 1h30m, next ", "list")
	expect("harbour ", "list")

	url, stop := serve(t, "--data", data)
	view := func() string {
		t.Helper()
		res, err := http.Get(url + "/api/sources/" + id)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return string(text)
	}
	for _, want := range []string{`"every":"1h30m"`, `"dublin_core":{"dc_creator":"Ada","dc_rights":"CC0"}`, `"contributor":"bob"`, `"collection":"harbour"`, `"next_sync":`} {
		if got := view(); !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
	expect("watched", "set", id, "--watch", "--every", "0")
	expect("unchanged 1,", "set", folder, "--meta", "creator=Bea")
	if got := view(); !strings.Contains(got, `"watch":true`) || strings.Contains(got, "every") || !strings.Contains(got, `{"dc_creator":"Bea"}`) {
		t.Error(got)
	}
	expect("none", "set", id, "--no-watch", "--clear-meta", "--contributor", "")
	if got := view(); strings.Contains(got, "watch") || strings.Contains(got, "dublin_core") || strings.Contains(got, "contributor") {
		t.Error(got)
	}
	refuse("nothing to change", "set", id)
	refuse("every", "set", id, "--every", "5s")
	refuse("no source", "set", "none", "--watch")
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}

// TestServeWatches changes documents of --docs while the server runs.
func TestServeWatches(t *testing.T) {
	folder := docs(t)
	url, stop := serve(t, "--data", t.TempDir(), "--docs", folder, "--watch")
	listed := func(want ...string) {
		t.Helper()
		for {
			var list struct{ Documents []struct{ Path string } }
			res, err := http.Get(url + "/api/documents")
			require.NoError(t, err)
			err = json.NewDecoder(res.Body).Decode(&list)
			_ = res.Body.Close()
			require.NoError(t, err)
			var got []string
			for _, d := range list.Documents {
				got = append(got, strings.TrimPrefix(d.Path, filepath.Base(folder)+"/"))
			}
			if slices.Sort(got); slices.Equal(got, want) {
				return
			}
			if t.Context().Err() != nil {
				t.Fatal(fmt.Sprint(got))
			}
		}
	}
	listed("handbook.md")
	write(t, filepath.Join(folder, "new/tide.md"), "The tide rises four metres.")
	listed("handbook.md", "new/tide.md")
	require.NoError(t, os.Rename(filepath.Join(folder, "new"), filepath.Join(folder, "old")))
	listed("handbook.md", "old/tide.md")
	require.NoError(t, os.Remove(filepath.Join(folder, "handbook.md")))
	listed("old/tide.md")
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
