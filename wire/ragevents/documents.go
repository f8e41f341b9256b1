package ragevents

import (
	"cmp"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// maxURL limits the URL of a document, in bytes. It is a key, so it is the same in all events.
const maxURL = 200

// maxSources limits the number of documents in events-sources-data: those with the largest portions.
const maxSources = 25

// owner is the account of the server's operator, to whom the documents without a contributor belong.
const owner = "owner"

// document is a document that was read for the answer.
type document struct {
	id          corpus.DocumentID
	url         string // unique among the documents of the run
	title       string
	contributor string
	meta        *corpus.DublinCore
	attributes  map[string]any
	passages    []event.Source
	weight      float64
	portion     Decimal
	cited       bool
}

// documentsOf groups the sources of a run by document, the largest portion first. The portions of the documents on which the answer rests sum
// to 1; if it rests on none, all are 0. They are those that the ledger pays, which divides ties in the order of the first source with a weight.
func documentsOf(st *event.State) []*document {
	var docs, weighted []*document
	byID, urls := map[corpus.DocumentID]*document{}, map[string]bool{}
	for _, s := range st.Sources {
		d := byID[s.Document]
		if d == nil {
			d = &document{id: s.Document, url: wire.Clip(cmp.Or(s.URI, s.File, s.Name, string(s.Document)), maxURL), title: s.Title,
				contributor: s.Contributor, meta: s.Meta, attributes: s.Attributes}
			if urls[d.url] {
				d.url += "#" + string(s.Document)
			}
			docs, byID[s.Document], urls[d.url] = append(docs, d), d, true
		}
		d.passages = append(d.passages, s)
		d.cited = d.cited || s.Cited
	}
	for _, s := range st.Contributing() {
		d := byID[s.Document]
		if d.weight == 0 {
			weighted = append(weighted, d)
		}
		d.weight += s.Weight
	}
	divide(weighted)
	slices.SortStableFunc(docs, func(a, b *document) int { return cmp.Compare(b.portion, a.portion) })
	return docs
}

// divide sets the portions by the largest remainder method: each document gets the whole part of its share in millionths, and those
// with the largest remainders get one more, until the sum is 1.
func divide(docs []*document) {
	sum, given := 0.0, Decimal(0)
	for _, d := range docs {
		sum += d.weight
	}
	rest := func(d *document) float64 { return d.weight/sum*decimalUnit - float64(d.portion) }
	for _, d := range docs {
		d.portion = Decimal(d.weight / sum * decimalUnit)
		given += d.portion
	}
	byRest := slices.Clone(docs)
	slices.SortStableFunc(byRest, func(a, b *document) int { return cmp.Compare(rest(b), rest(a)) })
	for _, d := range byRest[:min(max(decimalUnit-int(given), 0), len(docs))] {
		d.portion++
	}
}

// attention returns the portions of the documents that have one.
func attention(docs []*document) Attention {
	a := Attention{map[string]Decimal{}, map[string]Decimal{}}
	for _, d := range docs {
		if d.portion > 0 {
			a.BySource[d.url], a.AsPercent[d.url] = d.portion, d.portion*100
		}
	}
	return a
}

// sourcesData lists the documents with at most limit bytes of each text.
func sourcesData(docs []*document, limit int) SourcesData {
	r := SourcesData{Sources: []Source{}, TotalSources: len(docs)}
	for _, d := range docs[:min(len(docs), maxSources)] {
		s := Source{SourceURL: d.url, SourceTitle: optional(d.title, limit), DocumentID: string(d.id), Portion: d.portion, ChunksUsed: len(d.passages),
			Cited: d.cited, DublinCore: dublinCore(d.meta, limit), Passages: []CitedPassage{}}
		if limit > minText {
			s.Attributes = d.attributes
		}
		for _, p := range d.passages {
			s.Passages = append(s.Passages, CitedPassage{p.N, string(p.Chunk), p.Pages, wire.Round(p.Score), p.Cited, wire.Clip(p.CitedText(), limit)})
		}
		r.Sources = append(r.Sources, s)
		r.UsedAttention = r.UsedAttention || d.portion > 0
	}
	return r
}

// summary counts the passages of each document.
func summary(docs []*document, limit int) MetadataSummary {
	r := MetadataSummary{}
	for _, d := range docs {
		r[d.url] = DocumentSummary{wire.Clip(d.title, limit), len(d.passages)}
	}
	return r
}

// transaction returns the settlement of a run. Without one, nothing was charged, and the portions are those of the sources.
func transaction(s *event.State, docs []*document, limit int) Transaction {
	paid := func(d *document) PaidSource {
		return PaidSource{SourceURL: d.url, SourceTitle: optional(d.title, limit), ContributorID: cmp.Or(d.contributor, owner), Portion: d.portion,
			ChunksUsed: len(d.passages), DublinCore: dublinCore(d.meta, limit)}
	}
	t := Transaction{UsageDurationSeconds: seconds(s.Waited + event.MillisOf(s.Elapsed())), TransactionType: "none", Sources: []PaidSource{}}
	set := s.Settlement
	if set == nil {
		for _, d := range docs {
			if d.portion > 0 {
				t.Sources = append(t.Sources, paid(d))
			}
		}
		return t
	}
	t.PlatformFee, t.RoCCreditsDistributed, t.UsageDurationSeconds = Decimal(set.Fee), Decimal(set.Distributed), seconds(s.Waited+set.Duration)
	t.TransactionType, t.TransactionID = set.Type, &set.Transaction
	t.BalanceBefore, t.BalanceAfter = decimalOf(&set.Before), decimalOf(&set.After)
	for _, share := range set.Shares {
		p := PaidSource{SourceURL: string(share.Document)}
		if i := slices.IndexFunc(docs, func(d *document) bool { return d.id == share.Document }); i >= 0 {
			p = paid(docs[i])
		}
		p.ContributorID, p.ContributorName, p.ChunksUsed = share.Contributor, optional(cmp.Or(share.Name, share.Contributor), limit), share.Chunks
		p.Portion, p.RoCEarned = Decimal(share.Portion), decimalOf(share.Earned)
		t.Sources = append(t.Sources, p)
	}
	return t
}

// dublinCore converts metadata, with at most limit bytes of each field. It returns nil if there is none.
func dublinCore(m *corpus.DublinCore, limit int) *DublinCore {
	if m == nil {
		return nil
	}
	d := DublinCore{wire.Clip(m.Title, limit), wire.Clip(m.Creator, limit), wire.Clip(m.Publisher, limit), wire.Clip(m.Date, limit), wire.Clip(m.Rights, limit),
		wire.Clip(m.Description, limit), wire.Clip(m.Source, limit), wire.Clip(m.Identifier, limit)}
	if d == (DublinCore{}) || limit <= minText { // so many sources leave no room for it
		return nil
	}
	return &d
}

// optional returns at most limit bytes of a text, or nil if it is empty.
func optional(s string, limit int) *string {
	if s == "" {
		return nil
	}
	return new(wire.Clip(s, limit))
}
