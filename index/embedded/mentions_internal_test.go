package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
)

func allowUnexported() cmp.Option { return cmp.AllowUnexported(passageMentions{}, relation{}) }

func TestEncodeMentions(t *testing.T) {
	for _, n := range []*passageMentions{
		{},
		{mentions: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}},
		{mentions: []corpus.Mention{{Name: "Żó", Kind: corpus.Phrase}, {Name: "B c", Kind: corpus.Link}},
			relations: []relation{{0, 1, "was directed by"}, {1, 0, "x"}}},
	} {
		got, err := decodeMentions(encodeMentions(n))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(n, got, allowUnexported()); d != "" {
			t.Errorf("record (-want +got):\n%s", d)
		}
	}
}

// FuzzDecodeMentions decodes arbitrary bytes. The result must be an error, or a record whose relations refer to its mentions.
func FuzzDecodeMentions(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeMentions(&passageMentions{mentions: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}, relations: []relation{{0, 0, "x"}}})[4:])
	f.Add([]byte{0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := decodeMentions(seal(raw))
		if err != nil {
			return
		}
		for _, r := range n.relations {
			if r.from >= len(n.mentions) || r.to >= len(n.mentions) {
				t.Errorf("relation %+v of %d mentions", r, len(n.mentions))
			}
		}
	})
}
