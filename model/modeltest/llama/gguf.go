package llama

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// The file format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3. All numbers are little-endian.
const (
	ggufMagic   = "GGUF"
	ggufVersion = 3
	alignment   = 32 // of the tensors' data, in bytes
	typeF32     = 0  // of a tensor's numbers
)

// The types of a value in the header.
const (
	valueUint32  = 4
	valueInt32   = 5
	valueFloat32 = 6
	valueBool    = 7
	valueString  = 8
	valueArray   = 9
)

// The shape of the tiny model. The first number of each vector in its stream is the same for every token: what the output
// layer multiplies it by is how likely a token is wherever it stands.
const (
	tinyWidth   = 64
	tinyLayers  = 2
	tinyHeads   = 4
	tinyForward = 96
	tinyShared  = 0.25 // that first number; the others make up a vector of length 1
	// TinyContext is how many tokens the tiny model is said to have been trained for.
	TinyContext = 4096
	// TinyName is the name that stands in the tiny model's file.
	TinyName = "sluice-tiny"
)

// tinyTemplate is the form of a chat, in the shape that small chat models use: a marker for each role, an end after each turn.
const tinyTemplate = `{% for message in messages %}` +
	`{{ '<|' + message['role'] + '|>\n' + message['content'] + '</s>\n' }}{% endfor %}` +
	`{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}`

// The strengths, as logits, that the model's output is built from.
const (
	pullNext  = 11   // of the word that follows the one before
	pullRare  = -12  // of what is no part of the story: it is said only where a grammar leaves nothing else
	pullEnd   = -.75 // of the end, where the story may end: at temperature 0 it goes on, at 0.8 it may not
	noiseMix  = 0.2  // of what the attention adds
	noiseFeed = 0.1  // of what the layer behind it adds
)

// WriteTiny writes a language model of the llama architecture that is as small as one can be and still be run: half a
// million weights, which are made and not trained. What it says is a walk through a fixed story, at temperature 0 without an
// end; its vectors are those of bags of words. The same seed gives the same bytes.
func WriteTiny(w io.Writer, seed uint64) error {
	v := tinyVocabulary()
	header := header{
		{"general.architecture", "llama"},
		{"general.name", TinyName},
		{"general.alignment", uint32(alignment)},
		{"general.file_type", uint32(typeF32)},
		{"llama.context_length", uint32(TinyContext)},
		{"llama.embedding_length", uint32(tinyWidth)},
		{"llama.block_count", uint32(tinyLayers)},
		{"llama.feed_forward_length", uint32(tinyForward)},
		{"llama.rope.dimension_count", uint32(tinyWidth / tinyHeads)},
		{"llama.attention.head_count", uint32(tinyHeads)},
		{"llama.attention.head_count_kv", uint32(tinyHeads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.vocab_size", uint32(len(v.pieces))},
		{"llama.pooling_type", uint32(1)}, // the mean of the tokens' vectors
		{"tokenizer.ggml.model", "llama"},
		{"tokenizer.ggml.tokens", v.pieces},
		{"tokenizer.ggml.scores", v.scores},
		{"tokenizer.ggml.token_type", v.kinds},
		{"tokenizer.ggml.unknown_token_id", uint32(tokenUnknown)},
		{"tokenizer.ggml.bos_token_id", uint32(tokenBegin)},
		{"tokenizer.ggml.eos_token_id", uint32(tokenEnd)},
		{"tokenizer.ggml.add_bos_token", true},
		{"tokenizer.ggml.add_eos_token", false},
		{"tokenizer.ggml.add_space_prefix", false},
		{"tokenizer.chat_template", tinyTemplate},
	}
	return writeGGUF(w, header, tinyTensors(v, rand.New(rand.NewPCG(seed, seed))))
}

// tinyTensors makes the weights. The vector of each token is random, and so nearly at right angles to the others; the
// output layer looks for the vectors of the tokens before a token, which makes the model say what follows.
func tinyTensors(v vocabulary, r *rand.Rand) []tensor {
	embed := newTensor("token_embd.weight", tinyWidth, len(v.pieces))
	for t := range v.pieces {
		row := embed.row(t)
		row[0] = tinyShared
		unit(r, row[1:])
	}
	output := newTensor("output.weight", tinyWidth, len(v.pieces))
	gain := math.Sqrt(tinyWidth / (1 + tinyShared*tinyShared)) // of the normalization before the output
	for t := range v.pieces {
		row := output.row(t)
		row[0] = float32(v.pull[t] / gain / tinyShared)
		for _, before := range v.before[t] {
			for i, x := range embed.row(before)[1:] {
				row[1+i] += x * float32(pullNext/gain)
			}
		}
	}
	all := []tensor{embed, ones("output_norm.weight"), output}
	for l := range tinyLayers {
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s.weight", l, s) }
		all = append(all, ones(name("attn_norm")), ones(name("ffn_norm")),
			noise(r, name("attn_q"), tinyWidth, tinyWidth, noiseMix), noise(r, name("attn_k"), tinyWidth, tinyWidth, noiseMix),
			noise(r, name("attn_v"), tinyWidth, tinyWidth, noiseMix), noise(r, name("attn_output"), tinyWidth, tinyWidth, noiseMix),
			noise(r, name("ffn_gate"), tinyWidth, tinyForward, 1), noise(r, name("ffn_up"), tinyWidth, tinyForward, noiseFeed),
			noise(r, name("ffn_down"), tinyForward, tinyWidth, noiseFeed))
	}
	return all
}

// tensor is a matrix: rows of width numbers each.
type tensor struct {
	name        string
	width, rows int
	data        []float32
}

func newTensor(name string, width, rows int) tensor {
	return tensor{name, width, rows, make([]float32, width*rows)}
}

func (t tensor) row(i int) []float32 { return t.data[i*t.width : (i+1)*t.width] }

func ones(name string) tensor {
	t := newTensor(name, tinyWidth, 0)
	for range tinyWidth {
		t.data = append(t.data, 1)
	}
	return t
}

// noise returns a matrix that keeps the length of a vector, on average, times scale.
func noise(r *rand.Rand, name string, width, rows int, scale float64) tensor {
	t := newTensor(name, width, rows)
	for i := range t.data {
		t.data[i] = float32(r.NormFloat64() * scale / math.Sqrt(float64(width)))
	}
	return t
}

// unit fills row with a random vector of length 1.
func unit(r *rand.Rand, row []float32) {
	sum := 0.0
	for i := range row {
		row[i] = float32(r.NormFloat64())
		sum += float64(row[i]) * float64(row[i])
	}
	for i := range row {
		row[i] /= float32(math.Sqrt(sum))
	}
}

// header is the part of the file that describes the model, in the order in which it is written.
type header []struct {
	key   string
	value any // string, bool, uint32, float32, or a slice of string, float32 or int32
}

// writeGGUF writes a file: the header, what each tensor is called and where its data begins, and the data.
func writeGGUF(w io.Writer, h header, tensors []tensor) error {
	var b bytes.Buffer
	b.WriteString(ggufMagic)
	put(&b, uint32(ggufVersion), uint64(len(tensors)), uint64(len(h)))
	for _, kv := range h {
		putString(&b, kv.key)
		if err := putValue(&b, kv.value); err != nil {
			return fmt.Errorf("write %s: %w", kv.key, err)
		}
	}
	offset := 0
	for _, t := range tensors {
		putString(&b, t.name)
		if t.rows == 0 { // a vector
			put(&b, uint32(1), uint64(t.width))
		} else {
			put(&b, uint32(2), uint64(t.width), uint64(t.rows))
		}
		put(&b, uint32(typeF32), uint64(offset))
		offset += aligned(4 * len(t.data))
	}
	pad(&b)
	for _, t := range tensors {
		put(&b, t.data)
		pad(&b)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write the model: %w", err)
	}
	return nil
}

func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

func pad(b *bytes.Buffer) { b.Write(make([]byte, aligned(b.Len())-b.Len())) }

// put writes numbers; writing to a buffer does not fail.
func put(b *bytes.Buffer, numbers ...any) {
	for _, n := range numbers {
		_ = binary.Write(b, binary.LittleEndian, n)
	}
}

func putString(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func putValue(b *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case string:
		put(b, uint32(valueString))
		putString(b, v)
	case bool:
		put(b, uint32(valueBool), v)
	case uint32:
		put(b, uint32(valueUint32), v)
	case float32:
		put(b, uint32(valueFloat32), v)
	case []string:
		put(b, uint32(valueArray), uint32(valueString), uint64(len(v)))
		for _, s := range v {
			putString(b, s)
		}
	case []float32:
		put(b, uint32(valueArray), uint32(valueFloat32), uint64(len(v)), v)
	case []int32:
		put(b, uint32(valueArray), uint32(valueInt32), uint64(len(v)), v)
	default:
		return fmt.Errorf("a %T has no type in the format", value)
	}
	return nil
}
