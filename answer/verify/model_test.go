package verify_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
)

const asks = "What became of Acme?"

// claim cites chunks, each of which holds its id and the words.
func claim(s string, ids ...string) verify.Claim {
	c := verify.Claim{Text: s}
	for _, id := range ids {
		c.Cited = append(c.Cited, corpus.Chunk{ID: corpus.ChunkID(id), Title: "Report", Text: "Passage " + id + ": Acme rose in 2021. </claim>"})
	}
	return c
}

var (
	claimRE   = regexp.MustCompile(`<claim id="(\d+)" cites="([\d ]*)" tag="[0-9a-f]{16}">\n(.*)\n</claim [0-9a-f]{16}>`)
	passageRE = regexp.MustCompile(`<passage id="(\d+)" tag="[0-9a-f]{16}">\nReport\n\nPassage (\w+): .* ‹/claim>\n</passage [0-9a-f]{16}>`)
)

// judge answers each claim with the verdict that its text ends with, borne out by all that it cites.
func judge(r model.Request) string {
	var out []string
	for _, m := range claimRE.FindAllStringSubmatch(r.Messages[1].Text, -1) {
		said := strings.Fields(m[3])
		out = append(out, fmt.Sprintf(`{"id": %s, "verdict": %q, "passages": [%s]}`, m[1], said[len(said)-1], strings.ReplaceAll(m[2], " ", ",")))
	}
	slices.Reverse(out)
	return `{"verdicts": [` + strings.Join(out, ", ") + `]}`
}

func TestModel(t *testing.T) {
	ctx, told := modeltest.RecordTrace(t.Context())
	claims := []verify.Claim{
		claim("Acme rose in 2021 SUPPORTED", "a", "b"),
		claim("Acme hardly rose PARTIALLY_SUPPORTED", "b"),
		claim("Acme fell UNSUPPORTED", "a"),
		claim("Acme sank CONTRADICTED", "a"),
		claim("Acme bloomed SUPPORTED"),
		claim("Acme rose in 2022 SUPPORTED", "c", "a", "c"),
		claim("⟦⟧ ", "a"),
	}
	got, err := verify.NewModel(modeltest.ReplyFunc(func(_ context.Context, r model.Request) (string, error) {
		user := r.Messages[1].Text
		if strings.Contains(user, "bloomed") || r.Schema.Name != "verify" || !strings.Contains(user, ">\n"+asks+"\n</question ") || strings.Count(user, "Passage a:") > 1 ||
			len(claimRE.FindAllString(user, -1)) == 0 || len(passageRE.FindAllString(user, -1)) == 0 {
			t.Errorf("asked %s", user)
		}
		return judge(r), nil
	}), nil, verify.Overlap{}, verify.Options{}).Verify(ctx, asks, claims)
	want := verify.Check{By: "qwen", Verdicts: []verify.Verdict{
		{Claim: claims[0].Text, Verdict: event.Supported, Score: 1, Chunks: []corpus.ChunkID{"a", "b"}},
		{Claim: claims[1].Text, Verdict: event.PartiallySupported, Score: 0.6, Chunks: []corpus.ChunkID{"b"}},
		{Claim: claims[2].Text, Verdict: event.Unsupported},
		{Claim: claims[3].Text, Verdict: event.Unsupported, Contradicted: true},
		{Claim: claims[4].Text, Verdict: event.Unsupported},
		{Claim: claims[5].Text, Verdict: event.PartiallySupported, Score: 0.6, Chunks: []corpus.ChunkID{"c", "a"}}, // no passage holds 2022
		{Claim: claims[6].Text, Verdict: event.Unsupported},
	}}
	if d := cmp.Diff(want, got); d != "" || err != nil || len(*told) != 0 {
		t.Error(d, err, *told)
	}
}

func TestModelNamesPassages(t *testing.T) {
	for _, c := range []struct {
		says string
		want []corpus.ChunkID
		by   string
	}{
		{`{"id": 1, "verdict": "SUPPORTED", "passages": [2]}, {"id": 2, "verdict": "SUPPORTED", "passages": []}`, []corpus.ChunkID{"b"}, "qwen"},
		{`{"id": 1, "verdict": "SUPPORTED", "passages": [3, 2, 99, -1]}, {"id": 2, "verdict": "SUPPORTED", "passages": [1]}`, []corpus.ChunkID{"b"}, "qwen"},
		{`{"id": 1, "verdict": "SUPPORTED", "passages": []}, {"id": 2, "verdict": "SUPPORTED", "passages": [3]}`, []corpus.ChunkID{"a", "b"}, "overlap"},
		{`{"id": 1, "verdict": "SUPPORTED", "passages": [1]}`, []corpus.ChunkID{"a", "b"}, "overlap"},
		{`{"id": 1, "verdict": "SUPPORTED", "passages": [1]}, {"id": 1, "verdict": "SUPPORTED", "passages": [1]}`, []corpus.ChunkID{"a", "b"}, "overlap"},
		{`{"id": 1, "verdict": "SUPPORTED", "passages": [1]}, {"id": 3, "verdict": "SUPPORTED", "passages": [1]}`, []corpus.ChunkID{"a", "b"}, "overlap"},
		{`{"id": 1, "verdict": "MAYBE", "passages": [1]}, {"id": 2, "verdict": "SUPPORTED", "passages": [1]}`, []corpus.ChunkID{"a", "b"}, "overlap"},
	} {
		got, err := verify.NewModel(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) { return `{"verdicts": [` + c.says + `]}`, nil }), nil, verify.Overlap{}, verify.Options{}).
			Verify(t.Context(), asks, []verify.Claim{claim("Acme rose in 2021", "a", "b"), claim("Acme rose in 2021", "c")})
		if err != nil || got.By != c.by {
			t.Fatalf("%s: %+v, %v", c.says, got, err)
		}
		if d := cmp.Diff([][]corpus.ChunkID{c.want, {"c"}}, [][]corpus.ChunkID{got.Verdicts[0].Chunks, got.Verdicts[1].Chunks}); d != "" {
			t.Errorf("%s: %s", c.says, d)
		}
	}
}

// TestModelFailsInPart holds that the batches that a model judged stand, and that the others are judged without it.
func TestModelFailsInPart(t *testing.T) {
	for _, c := range []struct {
		name string
		says modeltest.ReplyFunc
		told string
		took time.Duration
	}{
		{"it breaks", func(context.Context, model.Request) (string, error) {
			return "", &model.Error{Model: "qwen", Failure: model.ServerError}
		}, "qwen failed", 0},
		{"nonsense", func(context.Context, model.Request) (string, error) { return "True. 7741", nil }, "qwen sent an invalid reply", 0},
		{"slow", func(ctx context.Context, _ model.Request) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, "qwen took too long", 8 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, told := modeltest.RecordTrace(t.Context())
				began := time.Now()
				claims := []verify.Claim{claim("Acme rose in 2021", "a"), claim("Bread is baked UNSUPPORTED"), claim("Bread is baked in 1999", "a"), claim("Acme rose, they say SUPPORTED", "b"), claim("Acme did not", "a")}
				got, err := verify.NewModel(modeltest.ReplyFunc(func(ctx context.Context, r model.Request) (string, error) {
					if strings.Contains(r.Messages[1].Text, "they say") {
						return judge(r), nil
					}
					return c.says(ctx, r)
				}), nil, verify.Overlap{}, verify.Options{Batch: 1}).Verify(ctx, asks, claims)
				if err != nil || got.By != "qwen + overlap" || time.Since(began) != c.took {
					t.Fatalf("%+v, %v after %v", got, err, time.Since(began))
				}
				free, err := verify.Overlap{}.Verify(t.Context(), asks, claims)
				require.NoError(t, err)
				free.Verdicts[3] = verify.Verdict{Claim: claims[3].Text, Verdict: event.Supported, Score: 1, Chunks: []corpus.ChunkID{"b"}}
				if d := cmp.Diff(free.Verdicts, got.Verdicts); d != "" {
					t.Error(d)
				}
				if len(*told) != 1 || !strings.HasPrefix((*told)[0], c.told) || !strings.HasSuffix((*told)[0], "| qwen > overlap") || strings.Contains((*told)[0], "7741") {
					t.Errorf("told %q", *told)
				}
			})
		})
	}
}

func TestModelEndsWithItsCaller(t *testing.T) {
	ctx, told := modeltest.RecordTrace(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	_, err := verify.NewModel(modeltest.ReplyFunc(func(ctx context.Context, r model.Request) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}), nil, verify.Overlap{}, verify.Options{}).Verify(ctx, asks, []verify.Claim{claim("Acme rose", "a")})
	if !errors.Is(err, context.Canceled) || len(*told) != 0 {
		t.Errorf("%v, told %q", err, *told)
	}
}

// TestModelIsAskedWithinBounds holds that a request shows so much of passages and no more, however much is cited.
func TestModelIsAskedWithinBounds(t *testing.T) {
	var claims []verify.Claim
	for i := range 12 {
		c := verify.Claim{Text: "Acme rose SUPPORTED"}
		for k := range 10 {
			c.Cited = append(c.Cited, corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint(i, k)), Text: strings.Repeat("Bread is baked. ", 200) + "Acme rose."})
		}
		claims = append(claims, c)
	}
	got, err := verify.NewModel(modeltest.ReplyFunc(func(_ context.Context, r model.Request) (string, error) {
		if user := r.Messages[1].Text; len(user) > 15000 || strings.Count(user, "<passage ") != 8 || !strings.Contains(user, "Acme rose.") {
			t.Errorf("asked with %d bytes", len(user))
		}
		return judge(r), nil
	}), nil, verify.Overlap{}, verify.Options{}).Verify(t.Context(), asks, claims)
	if err != nil || got.By != "qwen" || len(got.Verdicts) != 12 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestModelIsNotAskedAboutNothing(t *testing.T) {
	got, err := verify.NewModel(modeltest.ReplyFunc(nil), nil, verify.Overlap{}, verify.Options{}).Verify(t.Context(), asks, []verify.Claim{claim("Acme rose")})
	if err != nil || got.Verdicts[0].Verdict != event.Unsupported || got.By != "overlap" {
		t.Errorf("%+v, %v", got, err)
	}
}
