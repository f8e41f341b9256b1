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

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// benchmark sends requests over loopback with HTTP/1.1, each on a kept connection, and reports units per second.
func benchmark(b *testing.B, h http.Handler, contentType, body, unit string, units int) {
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
			r.Header.Set("Content-Type", contentType)
			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			if n, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK || n < int64(units) {
				b.Error(res.Status, n, err)
			}
			res.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)*float64(units)/b.Elapsed().Seconds(), unit)
}

const jsonType = "application/json"

// BenchmarkCall compares calls with Connect, and with a handler of net/http that decodes and encodes the same values. Only
// forrst validates the arguments.
func BenchmarkCall(b *testing.B) {
	const arguments = `{"id":1,"email":"ada@example.org"}`
	b.Run("forrst", func(b *testing.B) {
		benchmark(b, server(b, forrst.Options{}), jsonType, call("users.get", arguments), "calls/s", 1)
	})
	b.Run("net_http", func(b *testing.B) {
		benchmark(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in getUser
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			out, _ := usersGet(r.Context(), in)
			w.Header().Set("Content-Type", jsonType)
			_ = json.NewEncoder(w).Encode(out)
		}), jsonType, arguments, "calls/s", 1)
	})
	h := connect.NewUnaryHandler("/f", func(context.Context, *connect.Request[structpb.Struct]) (*connect.Response[structpb.Struct], error) {
		return connect.NewResponse(&structpb.Struct{Fields: map[string]*structpb.Value{
			"id": structpb.NewNumberValue(1), "name": structpb.NewStringValue("Ada")}}), nil
	})
	b.Run("connect_json", func(b *testing.B) { benchmark(b, h, jsonType, arguments, "calls/s", 1) })
	b.Run("connect_protobuf", func(b *testing.B) {
		in, err := proto.Marshal(&structpb.Struct{Fields: map[string]*structpb.Value{
			"id": structpb.NewNumberValue(1), "email": structpb.NewStringValue("ada@example.org")}})
		require.NoError(b, err)
		benchmark(b, h, "application/proto", string(in), "calls/s", 1)
	})
}

const (
	benchChunks = 1000
	word        = " word" // the value of each chunk
)

// BenchmarkStream compares streams with those of Connect, and with a handler of net/http that writes the same strings as JSON
// lines. All flush each chunk.
func BenchmarkStream(b *testing.B) {
	b.Run("forrst", func(b *testing.B) {
		f := producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
			for range benchChunks {
				if !yield(forrst.Data(word), nil) {
					return
				}
			}
		})
		benchmark(b, server(b, forrst.Options{}, f), jsonType, call("f", "{}", streamExt), "chunks/s", benchChunks)
	})
	b.Run("net_http", func(b *testing.B) {
		benchmark(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var line bytes.Buffer
			out := bufio.NewWriter(w)
			rc := http.NewResponseController(w)
			for range benchChunks {
				line.Reset()
				_ = json.NewEncoder(&line).Encode(word)
				_, _ = out.Write(line.Bytes())
				_ = out.Flush()
				_ = rc.Flush()
			}
		}), jsonType, "{}", "chunks/s", benchChunks)
	})
	h := connect.NewServerStreamHandler("/f", func(_ context.Context, _ *connect.Request[structpb.Struct], out *connect.ServerStream[wrapperspb.StringValue]) error {
		for range benchChunks {
			if err := out.Send(wrapperspb.String(word)); err != nil {
				return err
			}
		}
		return nil
	})
	b.Run("connect_json", func(b *testing.B) {
		benchmark(b, h, "application/connect+json", "\x00\x00\x00\x00\x02{}", "chunks/s", benchChunks)
	})
	b.Run("connect_protobuf", func(b *testing.B) {
		benchmark(b, h, "application/connect+proto", "\x00\x00\x00\x00\x00", "chunks/s", benchChunks)
	})
}
