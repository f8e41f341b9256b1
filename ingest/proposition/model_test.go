package proposition_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/proposition"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/prompt"
)

const mill = "# Farland Mill\n\nThe mill was built in 1871 by Joan Marsh, and it never burnt down. The owner lived there with 12 cats. " +
	"When the war came, the place was not sold. Others were."

// says returns a reply with texts for the sentences 1, 2, …
func says(texts ...string) string {
	var out []string
	for i, s := range texts {
		out = append(out, fmt.Sprintf(`{"id": %d, "text": %s}`, i+1, strconv.Quote(s)))
	}
	return `{"statements": [` + strings.Join(out, ", ") + `]}`
}

func statements(t *testing.T, p proposition.Generator, data string) (out []string) {
	t.Helper()
	chunks := chunksOf(t, "a.md", data)
	require.NoError(t, p.Generate(t.Context(), chunks))
	for _, c := range chunks {
		if c.Level == corpus.Sentence {
			out = append(out, c.Proposition)
		}
	}
	return out
}

func TestModel(t *testing.T) {
	for _, c := range []struct {
		name string
		said []string
		want []string
	}{
		{"resolved", []string{"", "The owner of Farland Mill lived there with 12 cats.", "When the war came, Farland Mill, the place, was not sold.", "Others were."},
			[]string{"", "The owner of Farland Mill lived there with 12 cats.", "When the war came, Farland Mill, the place, was not sold.", ""}},
		{"an invented number", []string{"", "The owner of Farland Mill lived there with 12 cats in 1890.", "", ""}, make([]string, 4)},
		{"an invented name", []string{"", "The owner, Ann Hale, lived there with 12 cats.", "", ""}, make([]string, 4)},
		{"a number left out", []string{"", "The owner of Farland Mill lived there with cats.", "", ""}, make([]string, 4)},
		{"a negation left out", []string{"", "", "When the war came, the place Farland Mill was sold.", ""}, make([]string, 4)},
		{"a negation added", []string{"", "The owner of Farland Mill never lived there with 12 cats.", "", ""}, make([]string, 4)},
		{"words left out", []string{"Farland Mill was built in 1871 and never.", "", "", ""}, make([]string, 4)},
		{"words added", []string{"", "The happy owner lived there quietly with 12 beautiful purring cats.", "", ""}, make([]string, 4)},
		{"too long", []string{"", "The owner lived there with 12 cats." + strings.Repeat(" The mill was built in 1871 by Joan Marsh.", 6), "", ""}, make([]string, 4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := statements(t, proposition.NewModel(modeltest.ReplyFunc(func(_ context.Context, r model.Request) (string, error) {
				user := r.Messages[1].Text
				if r.Schema.Name != "propose" || !strings.Contains(user, "Farland Mill\n</passage ") || !strings.Contains(user, ">\nOthers were.\n</passage ") {
					t.Errorf("asked %s", user)
				}
				return says(c.said...), nil
			}), nil, proposition.Rules{}, prompt.PassageOptions{}), mill)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestModelKeepsRules checks that the propositions of the rules are kept if those of the model fail the check.
func TestModelKeepsRules(t *testing.T) {
	data := box + "It was patented in 1871. No."
	want := statements(t, proposition.Rules{}, data)
	got := statements(t, proposition.NewModel(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) {
		return says("", "It was patented in 1999 by Ann Hale.", ""), nil
	}), nil, proposition.Rules{}, prompt.PassageOptions{}), data)
	if d := cmp.Diff(want, got); d != "" || want[1] == "" {
		t.Error(d, want)
	}
}

// TestModelRequestsPerPassage checks that there is one request per passage, without code and tables.
func TestModelRequestsPerPassage(t *testing.T) {
	var asked atomic.Int32
	statements(t, proposition.NewModel(modeltest.ReplyFunc(func(_ context.Context, r model.Request) (string, error) {
		asked.Add(1)
		if strings.Contains(r.Messages[1].Text, "--on") || strings.Contains(r.Messages[1].Text, "£4") {
			t.Errorf("asked %s", r.Messages[1].Text)
		}
		return says(make([]string, strings.Count(r.Messages[1].Text, "<passage id=")-1)...), nil
	}), nil, proposition.Rules{}, prompt.PassageOptions{}), document)
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times", n)
	}
}

// TestModelCooldown checks that a failed model is not called for a while, and that the failure is logged once.
func TestModelCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, reported := modeltest.RecordTrace(t.Context())
		var asked atomic.Int32
		p := proposition.NewModel(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) {
			asked.Add(1)
			return "", &model.Error{Model: "qwen", Failure: model.Unreachable}
		}), nil, proposition.Rules{}, prompt.PassageOptions{Parallel: 1})
		chunks := chunksOf(t, "a.md", document)
		for range 2 {
			require.NoError(t, p.Generate(ctx, chunks))
		}
		if asked.Load() != 1 || len(*reported) != 1 || !strings.HasSuffix((*reported)[0], "| qwen > rules-2") {
			t.Error(asked.Load(), *reported)
		}
		time.Sleep(2 * time.Minute)
		if err := p.Generate(ctx, chunks); err != nil || asked.Load() != 2 {
			t.Error(err, asked.Load())
		}
	})
}

func TestModelTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, reported := modeltest.RecordTrace(t.Context())
		p := proposition.NewModel(modeltest.ReplyFunc(func(ctx context.Context, _ model.Request) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}), nil, proposition.Rules{}, prompt.PassageOptions{Parallel: 1})
		if err := p.Generate(ctx, chunksOf(t, "a.md", document)); err != nil || len(*reported) != 1 {
			t.Error(err, *reported)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(2 * time.Minute)
		if err := p.Generate(ctx, chunksOf(t, "a.md", document)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestModelInvalidReplies(t *testing.T) {
	for _, said := range []string{"no", `{"statements": []}`, says("a"), `{"statements": [{"id": 9, "text": ""}]}`, says("", "", "", "", "", "")} {
		got := statements(t, proposition.NewModel(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) { return said, nil }),
			nil, proposition.Rules{}, prompt.PassageOptions{}), box+"It was patented in 1871.")
		if got[1] != "Riffle Box — It was patented in 1871." {
			t.Errorf("%s: %q", said, got)
		}
	}
}
