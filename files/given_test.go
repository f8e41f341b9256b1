package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/store"
)

const stated = "---\ntitle: Of Ferns\nauthor: Ada Brook\ncontributor: ada\n---\n" + ferns

// TestMetadata: what users state wins over what the file states, when it is uploaded, edited, indexed again, and after a crash
// between the store and the index.
func TestMetadata(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPlace(t, func(_ *place, o *options) { o.dir = dir })
	id := p.indexed(files.Upload{ID: "one", Meta: corpus.DublinCore{Creator: "A. Brook", Identifier: "doi:1"}, Contributor: "brook"}, stated)
	check := func(when, contributor string, want corpus.DublinCore) {
		t.Helper()
		d, err := p.Document(p.ctx(), id, 0, 0)
		p.must(err)
		if got := d.Document.Metadata(); got != want || d.Document.Contributor != contributor {
			t.Errorf("%s: %+v of %q, want %+v of %q", when, got, d.Document.Contributor, want, contributor)
		}
	}
	check("uploaded", "brook", corpus.DublinCore{Title: "Of Ferns", Creator: "A. Brook", Identifier: "doi:1"})
	edit := func(meta string) {
		t.Helper()
		_, err := p.UpdateFile(p.ctx(), id, map[string]json.RawMessage{"dublin_core": json.RawMessage(meta)})
		p.must(err)
	}
	edit(`{"dc_title":"Ferns, revised"}`)
	edited := corpus.DublinCore{Title: "Ferns, revised", Creator: "Ada Brook"}
	check("edited", "brook", edited)
	p.must(p.index.Delete(p.ctx(), files.Collection, []corpus.DocumentID{corpus.DocumentID(id)}))
	p.close()
	p = newPlace(t, func(_ *place, o *options) { o.dir = dir })
	p.await(id, store.Completed)
	check("indexed again", "brook", edited)
	_, err := p.store.UpdateFile(p.ctx(), id, func(f *store.File) error {
		f.Fields = json.RawMessage(`{"dublin_core":{"dc_rights":"CC0"},"contributor":"ada"}`)
		return nil
	})
	p.must(err)
	check("before the crash", "brook", edited)
	p.close()
	p = newPlace(t, func(_ *place, o *options) { o.dir = dir })
	check("after the crash", "ada", corpus.DublinCore{Title: "Of Ferns", Creator: "Ada Brook", Rights: "CC0"})
	edit(`null`)
	check("removed", "ada", corpus.DublinCore{Title: "Of Ferns", Creator: "Ada Brook"})

	id = p.indexed(files.Upload{ID: "two"}, stated)
	check("named by the file", "ada", corpus.DublinCore{Title: "Of Ferns", Creator: "Ada Brook"})
}

func TestInvalidMetadata(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for field, u := range map[string]files.Upload{
		"dc_title":       {Meta: corpus.DublinCore{Title: strings.Repeat("a", corpus.MaxElement+1)}},
		"dc_description": {Meta: corpus.DublinCore{Description: "a\nb"}},
		"dc_identifier":  {Meta: corpus.DublinCore{Identifier: "\xff"}},
		"contributor":    {Contributor: "Ada\nBrook"},
	} {
		u.Name, u.Body = "a.md", strings.NewReader(ferns)
		_, _, err := p.Upload(t.Context(), u)
		wantFault(t, field, err, fault.InvalidRequest, field)
	}
	id := p.indexed(files.Upload{}, ferns)
	for field, wrong := range map[string][]string{
		"dublin_core": {`[]`, `"x"`, `{"dc_title":1}`, `{"dc_title":null}`, `{"dc_other":"x"}`, `{"dc_date":"a\u0000"}`, `{"dc_date":"` + strings.Repeat("a", corpus.MaxElement+1) + `"}`},
		"contributor": {`1`, `""`, `" Ada"`, `"platform"`, `"` + strings.Repeat("a", corpus.MaxAccount+1) + `"`},
	} {
		for _, w := range wrong {
			_, err := p.UpdateFile(t.Context(), id, map[string]json.RawMessage{field: json.RawMessage(w)})
			wantFault(t, w, err, fault.InvalidRequest, field)
		}
	}
}
