package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
)

func allowNamed() cmp.Option { return cmp.AllowUnexported(named{}, related{}) }

func TestNamedRecord(t *testing.T) {
	for _, n := range []*named{
		{},
		{mentions: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}},
		{mentions: []corpus.Mention{{Name: "Żó", Kind: corpus.Phrase}, {Name: "B c", Kind: corpus.Link}},
			relations: []related{{0, 1, "was directed by"}, {1, 0, "x"}}},
	} {
		got, err := unsealNamed(sealNamed(n))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(n, got, allowNamed()); d != "" {
			t.Errorf("record (-want +got):\n%s", d)
		}
	}
}

// FuzzNamedRecord reads records that no program wrote: an error or a record whose relations are between its mentions.
func FuzzNamedRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add(sealNamed(&named{mentions: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}, relations: []related{{0, 0, "x"}}})[4:])
	f.Add([]byte{0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := unsealNamed(seal(raw))
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
