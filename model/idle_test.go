package model_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/sluice-rag/sluice/model"
)

// pieces is a chat model that yields pieces and then an error, unless it is nil.
type pieces struct {
	model.Chat
	all []model.Piece
	err error
}

func (p pieces) Complete(context.Context, model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		for _, piece := range p.all {
			if !yield(piece, nil) {
				return
			}
		}
		if p.err != nil {
			yield(model.Piece{}, p.err)
		}
	}
}

// TestRemoteIsIdle: text is passed on without a slot. Everything else, and the end, have one.
func TestRemoteIsIdle(t *testing.T) {
	failed := errors.New("failed")
	text, thought := model.Piece{Text: "a"}, model.Piece{Reasoning: "b"}
	for name, c := range map[string]struct {
		chat  pieces
		limit int    // pieces after which the caller leaves; 0: none
		idle  []bool // at each piece
		calls int    // of Idle
	}{
		"an answer":           {pieces{all: []model.Piece{text, thought, text, {Stop: model.StopEnd}}}, 0, []bool{true, true, true, false}, 2},
		"a call":              {pieces{all: []model.Piece{text, {Call: &model.ToolCall{}}, {Stop: model.StopTools}}}, 0, []bool{true, false, false}, 3},
		"an error":            {pieces{all: []model.Piece{text}, err: failed}, 0, []bool{true, false}, 2},
		"a caller who leaves": {pieces{all: []model.Piece{text, text}}, 1, []bool{true}, 1},
		"nothing":             {pieces{}, 0, nil, 1},
	} {
		depth, calls := 0, 0
		ctx := model.WithIdle(t.Context(), func(context.Context) func() {
			depth++
			calls++
			return func() { depth-- }
		})
		var idle []bool
		for _, err := range (model.Remote{Chat: c.chat}).Complete(ctx, model.Request{}) {
			if err != nil && !errors.Is(err, failed) {
				t.Error(name, err)
			}
			if idle = append(idle, depth > 0); len(idle) == c.limit {
				break
			}
		}
		if !slices.Equal(idle, c.idle) || calls != c.calls || depth != 0 {
			t.Errorf("%s: idle %v, %d calls, %d at the end", name, idle, calls, depth)
		}
	}
}
