package openai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of a request for embeddings. Those of OpenAI are 2048 texts of 8192 tokens.
const (
	maxInputs = 2048
	maxInput  = 32 << 10 // bytes of a text
	maxInputB = 4 << 20  // bytes of a request
	embedTime = 2 * time.Minute
)

// The forms of a vector.
const (
	formFloat  = "float"
	formBase64 = "base64"
)

// EmbeddingRequest is the body of a request for embeddings. Other fields are ignored.
type EmbeddingRequest struct {
	Input      json.RawMessage `json:"input" required:"true" description:"A text, or a list of at most 2048 texts, each with at most 32 KiB. Lists of tokens are refused."`
	Model      string          `json:"model,omitempty" description:"The reply repeats it. The embedder of the server is used, whatever it is."`
	Format     string          `json:"encoding_format,omitempty" enum:"float,base64" default:"float"`
	Dimensions int             `json:"dimensions,omitempty" description:"Only the number of dimensions that the embedder has."`
}

// EmbeddingList is the reply to a request for embeddings.
type EmbeddingList struct {
	Object string         `json:"object" enum:"list"`
	Data   []Embedding    `json:"data"`
	Model  string         `json:"model"`
	Usage  EmbeddingUsage `json:"usage"`
}

// Embedding is the vector of a text.
type Embedding struct {
	Object string `json:"object" enum:"embedding"`
	Index  int    `json:"index" description:"Number of the text, from 0."`
	Vector any    `json:"embedding" description:"A list of numbers, or the base64 text of 32-bit floats, the least significant byte first. All zeros if the embedder knows no word of the text."`
}

// EmbeddingUsage has no tokens: embedders do not report them.
type EmbeddingUsage struct {
	PromptTokens int `json:"prompt_tokens" enum:"0"`
	TotalTokens  int `json:"total_tokens" enum:"0"`
}

func (s *routes) embed(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var q EmbeddingRequest
	if err := wire.DecodeKnown(body, &q); err != nil {
		return err
	}
	texts, err := q.texts()
	if err != nil {
		return err
	}
	vectors, err := s.embedder.Embed(r.Context(), texts, model.ForPassage)
	if err != nil {
		return err
	}
	size, err := s.dimensions(r, vectors)
	if err != nil {
		return err
	}
	if q.Dimensions != 0 && q.Dimensions != size {
		return fault.Invalid("dimensions", "the embedder has %d dimensions", size)
	}
	out := EmbeddingList{Object: "list", Data: make([]Embedding, len(vectors)), Model: q.Model}
	for i, v := range vectors {
		if v == nil {
			v = make([]float32, size)
		}
		out.Data[i] = Embedding{"embedding", i, v}
		if q.Format == formBase64 {
			out.Data[i].Vector = encoded(v)
		}
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// texts returns the texts of the input.
func (q EmbeddingRequest) texts() (texts []string, err error) {
	if q.Format != "" && q.Format != formFloat && q.Format != formBase64 {
		return nil, fault.Invalid("encoding_format", "want %s or %s", formFloat, formBase64)
	}
	var one string
	if err := json.Unmarshal(q.Input, &one); err == nil {
		texts = []string{one}
	} else if json.Unmarshal(q.Input, &texts) != nil {
		return nil, fault.Invalid("input", "want a text or a list of texts")
	}
	if len(texts) == 0 || len(texts) > maxInputs {
		return nil, fault.Invalid("input", "want 1 to %d texts", maxInputs)
	}
	for i, text := range texts {
		field := fmt.Sprintf("input[%d]", i)
		if strings.TrimSpace(text) == "" {
			return nil, fault.Invalid(field, "want a text that is not only white space")
		}
		if err := wire.CheckText(field, text, maxInput); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// dimensions returns the size of the vectors. If the embedder knows none of the texts, it embeds a word that it knows.
func (s *routes) dimensions(r *http.Request, vectors [][]float32) (int, error) {
	for _, v := range vectors {
		if v != nil {
			return len(v), nil
		}
	}
	known, err := s.embedder.Embed(r.Context(), []string{"document"}, model.ForPassage)
	if err != nil || len(known) == 0 {
		return 0, err
	}
	return len(known[0]), nil
}

// encoded returns a vector as OpenAI's clients decode it.
func encoded(v []float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}
