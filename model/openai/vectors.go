package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// tokenBatch limits the tokens of a request for a vector per token: each number of the reply is a text of about ten bytes.
const tokenBatch = 2048

// vector is a vector in one of the formats of servers: numbers, base64 of little-endian float32, or a list with one such list.
type vector []float32

// UnmarshalJSON decodes all formats.
func (v *vector) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return transport.ErrUnreadable
		}
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil || len(raw)%4 != 0 {
			return transport.ErrUnreadable
		}
		*v = make([]float32, len(raw)/4)
		for i := range *v {
			(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return nil
	}
	var flat []float32
	if json.Unmarshal(text, &flat) == nil {
		*v = flat
		return nil
	}
	var nested [][]float32
	if json.Unmarshal(text, &nested) != nil || len(nested) != 1 {
		return transport.ErrUnreadable
	}
	*v = nested[0]
	return nil
}

// readVectors decodes a reply of OpenAI's protocol with n vectors, and the reported number of tokens.
func readVectors(text []byte, n int) (vectors [][]float32, tokens int, err error) {
	var reply struct {
		Data []struct {
			Index     int    `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt size `json:"prompt_tokens"`
			Total  size `json:"total_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(text, &reply) != nil || len(reply.Data) != n {
		return nil, 0, transport.ErrUnreadable
	}
	ordered := false // some servers send no index
	for _, d := range reply.Data {
		ordered = ordered || d.Index != 0
	}
	vectors = make([][]float32, n)
	for i, d := range reply.Data {
		if ordered {
			i = d.Index
		}
		if i < 0 || i >= n || vectors[i] != nil || len(d.Embedding) == 0 {
			return nil, 0, transport.ErrUnreadable
		}
		vectors[i] = d.Embedding
	}
	return vectors, int(first(reply.Usage.Prompt, reply.Usage.Total)), nil
}

// normalise scales a vector to unit length. It returns false for a zero vector.
func normalise(v []float32) (ok bool, err error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false, transport.ErrUnreadable
	}
	if sum == 0 {
		return false, nil
	}
	norm := math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) / norm)
	}
	return true, nil
}

// EmbedTokens returns a vector for each token of each text, in order; none for an empty text. Special tokens are omitted, and
// tokens without a letter or digit have weight 0. Without [Embedder.PerToken], the error is an [*model.Error] of kind
// [model.Rejected].
func (e *Embedder) EmbedTokens(ctx context.Context, texts []string, p model.Purpose) ([][]model.TokenVector, error) {
	if !e.PerToken(ctx) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &model.Error{Model: e.model, Failure: model.Rejected}
	}
	out := make([][]model.TokenVector, len(texts))
	err := e.each(ctx, texts, p, min(embedTokens, tokenBatch), func(ctx context.Context, batch []string, at []int) error {
		found, err := embedSplitting(ctx, e, batch, func(ctx context.Context, batch []string) ([][]model.TokenVector, error) {
			vectors, err := e.nativeVectors(ctx, batch)
			if err != nil {
				return nil, err
			}
			return e.withTokens(ctx, batch, vectors)
		})
		for i := range found {
			out[at[i]] = found[i]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// meanVectors returns the normalized mean of the token vectors of each text.
func (e *Embedder) meanVectors(ctx context.Context, batch []string) ([][]float32, error) {
	all, err := e.nativeVectors(ctx, batch)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(all))
	for i, vectors := range all {
		out[i] = make([]float32, len(vectors[0]))
		for _, v := range vectors {
			for j := range v {
				out[i][j] += v[j] / float32(len(vectors))
			}
		}
	}
	if err := e.check(out); err != nil {
		return nil, fail(ctx, e.model, err)
	}
	return out, nil
}

// tokenVectors is the reply of llama.cpp's server for a text: {"index", "embedding": [[...], ...]}, or "embedding": [...] of
// older versions for a single text.
type tokenVectors struct {
	Index     int     `json:"index"`
	Embedding vectors `json:"embedding"`
}

type vectors [][]float32

// UnmarshalJSON decodes a list of vectors, or one vector.
func (v *vectors) UnmarshalJSON(text []byte) error {
	var nested [][]float32
	if json.Unmarshal(text, &nested) == nil {
		*v = nested
		return nil
	}
	var flat []float32
	if json.Unmarshal(text, &flat) != nil {
		return transport.ErrUnreadable
	}
	*v = vectors{flat}
	return nil
}

// nativeVectors asks llama.cpp's own endpoint for the token vectors of each text.
func (e *Embedder) nativeVectors(ctx context.Context, batch []string) ([][][]float32, error) {
	var reply json.RawMessage
	if err := e.server.ask(ctx, e.server.at("embedding"), map[string]any{"content": batch}, &reply); err != nil {
		return nil, fail(ctx, e.model, err)
	}
	used := model.Usage{Estimated: true}
	out := make([][][]float32, len(batch))
	ok := false
	defer func() {
		for i, text := range batch {
			if used.Input += len(out[i]); !ok {
				used.Input += estimate(text)
			}
		}
		used.Estimated = !ok
		model.Used(ctx, e.model, used)
	}()
	var list []tokenVectors
	var wrapped struct {
		Results []tokenVectors `json:"results"`
	}
	var one tokenVectors
	switch {
	case json.Unmarshal(reply, &list) == nil:
	case json.Unmarshal(reply, &wrapped) == nil && wrapped.Results != nil:
		list = wrapped.Results
	case json.Unmarshal(reply, &one) == nil && one.Embedding != nil:
		list = []tokenVectors{one}
	}
	if len(list) != len(batch) {
		return nil, fail(ctx, e.model, transport.ErrUnreadable)
	}
	for _, t := range list {
		if t.Index < 0 || t.Index >= len(out) || out[t.Index] != nil || len(t.Embedding) == 0 {
			return nil, fail(ctx, e.model, transport.ErrUnreadable)
		}
		for _, v := range t.Embedding {
			if len(v) == 0 || len(v) != len(t.Embedding[0]) {
				return nil, fail(ctx, e.model, transport.ErrUnreadable)
			}
		}
		out[t.Index] = t.Embedding
	}
	ok = true
	return out, nil
}

// withTokens combines the vectors with their tokens.
func (e *Embedder) withTokens(ctx context.Context, batch []string, vectors [][][]float32) ([][]model.TokenVector, error) {
	out := make([][]model.TokenVector, len(batch))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(embedClients)
	for i, text := range batch {
		group.Go(func() error {
			pieces := e.tokenTexts(inner, text)
			if err := e.check(vectors[i]); err != nil {
				return fail(inner, e.model, err)
			}
			for j, v := range vectors[i] {
				t := model.TokenVector{Weight: 1, Vector: v}
				if len(pieces) == len(vectors[i]) {
					if isSpecialToken(pieces[j]) {
						continue
					}
					t.Token, t.Weight = cleanToken(pieces[j])
				}
				if v != nil {
					out[i] = append(out[i], t)
				}
			}
			return nil
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out, err
}

// tokenTexts asks llama.cpp's server for the tokens of a text; nil if it does not report them.
func (e *Embedder) tokenTexts(ctx context.Context, text string) []string {
	var reply struct {
		Tokens []struct {
			Piece json.RawMessage `json:"piece"` // a string, or bytes that are not UTF-8
		} `json:"tokens"`
	}
	err := e.server.ask(ctx, e.server.at("tokenize"), map[string]any{
		"content": text, "add_special": true, "parse_special": true, "with_pieces": true,
	}, &reply)
	if err != nil {
		return nil
	}
	pieces := make([]string, len(reply.Tokens))
	for i, t := range reply.Tokens {
		var bytes []int
		if json.Unmarshal(t.Piece, &pieces[i]) != nil && json.Unmarshal(t.Piece, &bytes) != nil {
			return nil
		}
	}
	return pieces
}

// isSpecialToken reports whether a token is not a part of the text: <s>, </s>, [CLS], <|endoftext|> and similar ones.
func isSpecialToken(piece string) bool {
	if len(piece) < 3 {
		return false
	}
	first, last := piece[0], piece[len(piece)-1]
	if first == '[' && last == ']' {
		return piece == strings.ToUpper(piece) && strings.ContainsFunc(piece, unicode.IsLetter)
	}
	return first == '<' && last == '>' && !strings.ContainsAny(piece, " \t\n")
}

// cleanToken returns a token in lower case without its space marker, and its weight.
func cleanToken(piece string) (string, float64) {
	token := strings.ToLower(strings.Trim(strings.ToValidUTF8(piece, ""), "\u2581\u0120 \t\r\n"))
	if strings.ContainsFunc(token, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return token, 1
	}
	return token, 0
}
