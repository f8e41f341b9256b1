package forrst_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/forrst"
)

// benchmark sends requests over loopback, each on a kept connection, and reports units per second.
func benchmark(b *testing.B, h http.Handler, body, unit string, units int) {
	ts := httptest.NewServer(h)
	defer ts.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, ts.URL, strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/json")
			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
				b.Error(res.Status, err)
			}
			res.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)*float64(units)/b.Elapsed().Seconds(), unit)
}

// BenchmarkCall compares calls with a handler of net/http that decodes and encodes the same values and validates nothing.
func BenchmarkCall(b *testing.B) {
	b.Run("forrst", func(b *testing.B) {
		benchmark(b, server(b, forrst.Options{}), call("users.get", `{"id":1,"email":"ada@example.org"}`), "calls/s", 1)
	})
	b.Run("net_http", func(b *testing.B) {
		benchmark(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in getUser
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			out, _ := usersGet(r.Context(), in)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(out)
		}), `{"id":1,"email":"ada@example.org"}`, "calls/s", 1)
	})
}

const benchChunks = 1000

// BenchmarkStream compares streams with a handler of net/http that writes and flushes the same values as JSON lines.
func BenchmarkStream(b *testing.B) {
	b.Run("forrst", func(b *testing.B) {
		f := producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
			for range benchChunks {
				if !yield(forrst.Data(text{" word"}), nil) {
					return
				}
			}
		})
		benchmark(b, server(b, forrst.Options{}, f), call("f", "{}", streamExt), "chunks/s", benchChunks)
	})
	b.Run("net_http", func(b *testing.B) {
		benchmark(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var line bytes.Buffer
			out := bufio.NewWriter(w)
			rc := http.NewResponseController(w)
			for range benchChunks {
				line.Reset()
				_ = json.NewEncoder(&line).Encode(text{" word"})
				_, _ = out.Write(line.Bytes())
				_ = out.Flush()
				_ = rc.Flush()
			}
		}), "{}", "chunks/s", benchChunks)
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		server(b, forrst.Options{})
	}
}
