package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
)

// FuzzStream decodes arbitrary bytes. The stream must end with one stop or error, and its text must be UTF-8.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		for _, part := range txtar.Parse(text).Files {
			if _, body, ok := strings.Cut(string(part.Data), "\n\n"); ok && part.Name == "response" {
				f.Add([]byte(body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var given reader = body
		c := open(t, anthropic.Options{URL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: &given}})
		ends, used := 0, 0
		ctx := model.WithTrace(t.Context(), &model.Trace{Used: func(_ string, u model.Usage) {
			if used++; u.Input < 0 || u.Output < 0 || u.Reasoning < 0 || u.Cached < 0 || u.Cached > u.Input && !u.Estimated {
				t.Errorf("the usage is %+v", u)
			}
		}})
		for p, err := range c.Complete(ctx, model.Request{}) {
			check(t, p, err)
			if ends > 0 {
				t.Fatal("the sequence goes on after its end")
			}
			if err != nil || p.Stop != "" {
				ends++
			}
		}
		if ends != 1 || used != 1 {
			t.Errorf("%d ends, usage %d times", ends, used)
		}
	})
}

// reader is a transport that answers each request with these bytes, in small reads.
type reader []byte

// RoundTrip implements [http.RoundTripper].
func (b *reader) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(iotest.HalfReader(bytes.NewReader(*b))), Request: r,
	}, nil
}

// check checks that a piece has one valid field.
func check(t *testing.T, p model.Piece, err error) {
	t.Helper()
	if err != nil {
		if _, ok := errors.AsType[*model.Error](err); !ok {
			t.Errorf("the error is %v", err)
		}
		return
	}
	if !utf8.ValidString(p.Text+p.Reasoning) || p.Call != nil && (!json.Valid(p.Call.Input) || p.Call.Name == "") {
		t.Errorf("got %+v", p)
	}
	if (p.Text != "") == (p.Reasoning != "") && p.Text != "" || p == (model.Piece{}) {
		t.Errorf("got %+v", p)
	}
}
