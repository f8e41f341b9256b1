package entities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/prompt"
)

// passages returns chunks of a document about a lighthouse: a section, passages and a sentence.
func passages(texts ...string) []corpus.Chunk {
	out := []corpus.Chunk{{ID: "s", Level: corpus.Section, Title: "Farland lighthouse", Text: strings.Join(texts, "\n")}}
	for i, s := range texts {
		out = append(out, corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint(i)), Level: corpus.Passage, Title: "Farland lighthouse", Text: s})
	}
	return append(out, corpus.Chunk{ID: "l", Level: corpus.Sentence, Title: "Farland lighthouse", Text: "Ada Brook."})
}

const keeper = "Its keeper is Ada Brook, who came from the mill at żukowo.\nShe burns rapeseed oil."

// ruled is an extractor that finds the same two names in each passage.
type ruled struct{ fails error }

func (ruled) Name() string { return "ruled" }

func (r ruled) Extract(_ context.Context, chunks []corpus.Chunk, _ [][]entities.Link) ([]entities.Extraction, error) {
	out := make([]entities.Extraction, len(chunks))
	for i, c := range chunks {
		if c.Level == corpus.Passage {
			out[i] = entities.Extraction{Mentions: []corpus.Mention{{Name: "Farland lighthouse", Kind: corpus.Subject}, {Name: "Ada Brook", Kind: corpus.Named}},
				Relations: []corpus.Relation{{From: "Farland lighthouse", To: "Ada Brook", Predicate: "Its keeper is"}}}
		}
	}
	return out, r.fails
}

func TestNames(t *testing.T) {
	rules, model := entities.Rules{}.Name(), entities.NewModel(nil, nil, entities.Rules{}, prompt.PassageOptions{}).Name()
	if none := (entities.None{}).Name(); rules == model || rules == none || model == none || rules == "" {
		t.Errorf("extractors have the same or no name: %q, %q, %q", rules, model, none)
	}
	if found, err := (entities.None{}).Extract(t.Context(), passages("Ada Brook keeps it."), nil); err != nil || len(found) != len(passages("x")) || found[0].Mentions != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func TestModel(t *testing.T) {
	alone, _ := ruled{}.Extract(t.Context(), passages(keeper), nil)
	long := strings.Repeat("long ", 100)
	for _, c := range []struct {
		name, says string
		want       entities.Extraction
	}{
		{"names and relations", `{"names": ["ada brook", "Zukowo", "the Mill"], "relations": [{"from": "Ada Brook", "says": "came\n from", "to": "ŻUKOWO"}]}`, entities.Extraction{
			Mentions: []corpus.Mention{{Name: "Farland lighthouse", Kind: corpus.Subject}, {Name: "Ada Brook", Kind: corpus.Named},
				{Name: "żukowo", Kind: corpus.Named}, {Name: "mill", Kind: corpus.Named}},
			Relations: []corpus.Relation{{From: "Ada Brook", To: "żukowo", Predicate: "came from"}, {From: "Farland lighthouse", To: "Ada Brook", Predicate: "Its keeper is"}}}},
		{"several relations between two names", `{"names": [], "relations": [{"from": "Farland lighthouse", "says": "is kept by", "to": "Ada Brook"},
			{"from": "Farland lighthouse", "says": "is guarded by", "to": "Ada Brook"}]}`, entities.Extraction{
			Mentions: alone[1].Mentions, Relations: []corpus.Relation{{From: "Farland lighthouse", To: "Ada Brook", Predicate: "is kept by"}}}},
		{"names that the passage does not contain", `{"names": ["Joan Marsh", "Brook Ada", "Ada Brooks", "", "?!", "brook, who came from the mill at żukowo. She burns rapeseed oil. She", "` + long + `"],
			"relations": [{"from": "Ada Brook", "says": "is the sister of", "to": "Joan Marsh"}]}`, alone[1]},
		{"invalid relations", `{"names": [], "relations": [{"from": "Ada Brook", "says": "is", "to": "Ada Brook"}, {"from": "Ada Brook", "says": "—", "to": "Farland lighthouse"},
			{"from": "Ada Brook", "says": "` + long + `", "to": "Farland lighthouse"}, {"from": "", "says": "is", "to": ""}]}`, alone[1]},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked atomic.Int64
			got, err := entities.NewModel(modeltest.ReplyFunc(func(_ context.Context, r model.Request) (string, error) {
				asked.Add(1)
				if user := r.Messages[1].Text; r.Schema.Name != "entities" || !strings.Contains(user, "Farland lighthouse\n\n"+keeper+"\n</passage ") {
					t.Errorf("asked %s", user)
				}
				return c.says, nil
			}), nil, ruled{}, prompt.PassageOptions{}).Extract(t.Context(), passages(keeper, "```\ncode()\n```", " "), nil)
			if err != nil || len(got) != 5 || asked.Load() != 1 {
				t.Fatalf("%d, %v, asked %d times", len(got), err, asked.Load())
			}
			if d := cmp.Diff(c.want, got[1]); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(entities.Extraction{}, got[0]) + cmp.Diff(alone[1], got[2]); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestModelIsBounded checks that the limits also apply to the model's results.
func TestModelIsBounded(t *testing.T) {
	var words, names, relations []string
	for i := range 500 {
		words = append(words, fmt.Sprint("Name", i))
		names = append(names, fmt.Sprintf("%q", words[i]))
		relations = append(relations, fmt.Sprintf(`{"from": "Name%d", "says": "knows", "to": "Name%d"}`, i/40, i%40))
	}
	got, err := entities.NewModel(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) {
		return `{"names": [` + strings.Join(names, ",") + `], "relations": [` + strings.Join(relations, ",") + `]}`, nil
	}), nil, ruled{}, prompt.PassageOptions{}).Extract(t.Context(), passages(strings.Join(words, " ")), nil)
	if err != nil || len(got[1].Mentions) != 64 || len(got[1].Relations) > 64 || len(got[1].Relations) < 60 || got[1].Mentions[0].Kind != corpus.Subject {
		t.Errorf("%d names and %d relations, %v", len(got[1].Mentions), len(got[1].Relations), err)
	}
}

func TestModelFallsBack(t *testing.T) {
	texts := slices.Repeat([]string{keeper}, 8)
	alone, _ := ruled{}.Extract(t.Context(), passages(texts...), nil)
	for _, c := range []struct {
		name     string
		says     func(ctx context.Context) (string, error)
		asked    int64 // for eight passages
		reported []string
	}{
		{"nonsense", func(context.Context) (string, error) { return "Ada Brook 7741", nil }, 6,
			[]string{"qwen sent an invalid reply", "qwen failed a moment ago and was not asked"}},
		{"down", func(context.Context) (string, error) {
			return "", &model.Error{Model: "qwen", Failure: model.Unreachable}
		}, 1, []string{"qwen could not be reached"}},
		{"this passage is too long", func(context.Context) (string, error) { return "", &model.Error{Model: "qwen", Failure: model.TooLong} }, 8,
			[]string{"qwen rejected the request as too long"}},
		{"slow", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, 1, []string{"qwen took too long"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				ctx, reported := modeltest.RecordTrace(t.Context())
				m := entities.NewModel(modeltest.ReplyFunc(func(ctx context.Context, _ model.Request) (string, error) {
					asked.Add(1)
					return c.says(ctx)
				}), nil, ruled{}, prompt.PassageOptions{Parallel: 1})
				got, err := m.Extract(ctx, passages(texts...), nil)
				if d := cmp.Diff(alone, got); d != "" || err != nil || asked.Load() != c.asked {
					t.Errorf("%v, asked %d times\n%s", err, asked.Load(), d)
				}
				if len(*reported) != len(c.reported) {
					t.Fatalf("reported %q", *reported)
				}
				for i, s := range *reported {
					if !strings.HasPrefix(s, c.reported[i]) || !strings.HasSuffix(s, "| qwen > rules") || strings.Contains(s, "7741") {
						t.Errorf("reported %q", s)
					}
				}
				time.Sleep(6 * time.Minute) // in the synctest bubble
				before := asked.Load()
				if _, err := m.Extract(ctx, passages(keeper), nil); err != nil || asked.Load() == before {
					t.Errorf("%v, and the model is not called again", err)
				}
			})
		})
	}
	broken := errors.New("broken")
	if _, err := entities.NewModel(nil, nil, ruled{broken}, prompt.PassageOptions{}).Extract(t.Context(), nil, nil); !errors.Is(err, broken) {
		t.Errorf("the rules failed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := entities.NewModel(modeltest.ReplyFunc(func(ctx context.Context, _ model.Request) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}), nil, ruled{}, prompt.PassageOptions{}).Extract(ctx, passages(texts...), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestModelMaxPassages(t *testing.T) {
	var asked atomic.Int64
	_, err := entities.NewModel(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) {
		asked.Add(1)
		return `{"names": [], "relations": []}`, nil
	}), nil, entities.Rules{}, prompt.PassageOptions{MaxPassages: 3}).Extract(t.Context(), passages(slices.Repeat([]string{keeper}, 9)...), nil)
	if err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
}
