package llama

import (
	"fmt"
	"slices"
	"strings"
)

// The tokens that stand at fixed places, as in every vocabulary of this kind. The 256 bytes follow.
const (
	tokenUnknown = iota
	tokenBegin
	tokenEnd
	tokenByte // the first of them
)

// The kinds of tokens, as the file names them.
const (
	kindNormal  = 1
	kindUnknown = 2
	kindControl = 3
	kindByte    = 6
)

// space is what stands for a space within a piece.
const space = "▁"

// story is what the tiny model tells, from its second word on round and round. Before the last word it may end. No word stands
// in it twice, so that each tells which comes next. Two words have letters that the vocabulary lacks: the model says those
// byte by byte, as real ones do.
const story = `Sluice gates hold back river water until someone at Montréal decides that fields below need it. Then an old keeper
walks along the canal, turns wheel after wheel, and every ditch fills slowly from north to south. Farmers write down how much
they took; figures go into one ledger which nobody may change. When winter comes all locks are opened, ice drifts past, boats
lie under roofs of tin — quiet returns for four months while`

// vocabulary is the tokens of the tiny model, each by its place.
type vocabulary struct {
	pieces []string
	scores []float32 // pieces of higher scores are joined first when a text is cut
	kinds  []int32
	pull   []float64 // how likely a token is wherever it stands, as a logit
	before [][]int   // the tokens that a token follows
}

func (v *vocabulary) add(piece string, kind int32, score float32) {
	v.pieces = append(v.pieces, piece)
	v.kinds = append(v.kinds, kind)
	v.scores = append(v.scores, score)
	v.pull = append(v.pull, pullRare)
	v.before = append(v.before, nil)
}

// tinyVocabulary makes pieces of single letters, every beginning of every word of the story, and markers. The beginnings are
// there because the tokenizer grows words by joining two pieces that are in the vocabulary.
func tinyVocabulary() vocabulary {
	var v vocabulary
	v.add("<unk>", kindUnknown, 0)
	v.add("<s>", kindControl, 0)
	v.add("</s>", kindControl, 0)
	for b := range 256 {
		v.add(fmt.Sprintf("<0x%02X>", b), kindByte, 0)
	}
	for _, role := range []string{"system", "user", "assistant", "tool"} {
		v.add("<|"+role+"|>", kindControl, 0)
	}
	v.pull[tokenEnd] = pullEnd
	have := map[string]int{}
	piece := func(s string) {
		if _, ok := have[s]; !ok {
			have[s] = len(v.pieces)
			v.add(s, kindNormal, float32(len(s)))
		}
	}
	piece(space)
	for c := '!'; c <= '~'; c++ {
		piece(string(c))
	}
	var walk []int
	for word := range strings.FieldsSeq(story) {
		whole := space
		for _, c := range word {
			if c < 0x80 {
				whole += string(c)
				piece(whole)
				continue
			}
			if whole != "" {
				walk = append(walk, have[whole])
			}
			for _, b := range []byte(string(c)) {
				walk = append(walk, tokenByte+int(b))
			}
			whole = ""
		}
		if whole != "" {
			walk = append(walk, have[whole])
		}
	}
	// An answer begins behind a new line.
	v.before[walk[0]] = append(v.before[walk[0]], tokenByte+'\n')
	v.before[tokenEnd] = append(v.before[tokenEnd], walk[len(walk)-2])
	for i, t := range walk {
		next := walk[1]
		if i+1 < len(walk) {
			next = walk[i+1]
		}
		if !slices.Contains(v.before[next], t) {
			v.before[next] = append(v.before[next], t)
		}
		v.pull[next] = 0
	}
	v.pull[walk[0]] = 0
	return v
}
