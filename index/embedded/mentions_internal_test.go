package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/prepare"
)

func allowUnexported() cmp.Option { return cmp.AllowUnexported(prepare.Mentions{}) }

func TestEncodeMentions(t *testing.T) {
	for _, n := range []*prepare.Mentions{
		{},
		{List: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}},
		{List: []corpus.Mention{{Name: "Żó", Kind: corpus.Phrase}, {Name: "B c", Kind: corpus.Link}},
			Relations: []prepare.Relation{{From: 0, To: 1, Predicate: "was directed by"}, {From: 1, To: 0, Predicate: "x"}}},
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
	f.Add(encodeMentions(&prepare.Mentions{List: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}, Relations: []prepare.Relation{{Predicate: "x"}}})[4:])
	f.Add([]byte{0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := decodeMentions(seal(raw))
		if err != nil {
			return
		}
		for _, r := range n.Relations {
			if r.From >= len(n.List) || r.To >= len(n.List) {
				t.Errorf("relation %+v of %d mentions", r, len(n.List))
			}
		}
	})
}
