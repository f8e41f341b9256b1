package verify

import "strings"

// veto is what no overlap can outweigh.
type veto uint8

const (
	none     veto = iota
	unproven      // it lacks something that makes a claim more than what the passages say: a name, or certainty
	unheld        // a number or a date that the passages do not hold
	against       // the passages say otherwise
)

// veto looks for what speaks against the claim in the passages and in the sentences of the proof.
func (s *statement) veto(cited []*passage, proof []window) veto {
	out := max(s.valueVeto(cited, proof), s.nameVeto(cited, proof))
	if len(proof) == 0 {
		return out
	}
	turned, weaker := 0, 0
	for _, w := range proof {
		if s.contradicted(w) {
			turned++
		}
		if s.sure && holds(w.lead, hedges) || s.strict && !holds(w.lead, absolutes) && holds(w.lead, partials) {
			weaker++
		}
	}
	switch {
	case turned == len(proof):
		return against
	case weaker == len(proof):
		return max(out, unproven)
	}
	return out
}

// aboutIt is the share of a claim that a sentence must cover to contradict it, and alongside the part of the best sentence's
// share from which another one counts as much: a passage that says both contradicts nothing.
const (
	aboutIt   = 0.4
	alongside = 0.6
)

// contradicted says whether a sentence of the passage says the opposite of the claim, and none the same.
func (s *statement) contradicted(w window) bool {
	against := false
	for i, x := range w.from.sentences {
		if w.shares[i] < aboutIt || w.shares[i] < alongside*w.most || !x.asserts {
			continue
		}
		switch s.stance(x.words) {
		case contradicts:
			against = true
		case agrees:
			return false
		}
	}
	return against
}

// valueVeto looks for a number or a date that no passage holds. Where the proof has another of its kind, that is against it.
func (s *statement) valueVeto(cited []*passage, proof []window) veto {
	out := none
	for _, v := range s.values {
		held := false
		for _, p := range cited {
			held = held || p.holds(v)
		}
		if held || v.kind == spellOut && v.x <= 10 && s.counts(v, cited) {
			continue
		}
		out = max(out, unheld)
		for _, w := range proof {
			for _, o := range w.values {
				if o.kind == v.kind && !s.says(o) {
					out = against
				}
			}
		}
	}
	return out
}

// counts says whether a small number in letters may be one that a reader has counted: the passages hold a list.
func (s *statement) counts(v value, cited []*passage) bool {
	for _, p := range cited {
		n := 0
		for _, x := range p.sentences {
			if x.item {
				n++
			}
		}
		if n == int(v.x) {
			return true
		}
	}
	return false
}

func (s *statement) says(v value) bool {
	for _, o := range s.values {
		if o.same(v) || v.same(o) {
			return true
		}
	}
	return false
}

// nameVeto looks for a name that no passage holds. Where the proof has another one in its place, beside the same word, that is
// against the claim.
func (s *statement) nameVeto(cited []*passage, proof []window) veto {
	out := none
	for _, i := range s.names {
		name := s.words[i]
		held := abbreviates(name, s.words)
		for _, p := range cited {
			held = held || p.names(name)
		}
		if held {
			continue
		}
		if !name.capitals && !strings.ContainsAny(name.text, "0123456789") { // the claim's own short form may be unknown to them
			out = max(out, unproven)
		}
		for _, w := range proof {
			if s.rival(i, w.lead) {
				out = against
			}
		}
	}
	return out
}

// names says whether a passage holds a name, a form of it (German, Germany), or the words that it abbreviates.
func (p *passage) names(w word) bool {
	if _, ok := p.at[w.stem]; ok {
		return true
	}
	for _, stem := range p.stems {
		if related(w.stem, stem) {
			return true
		}
	}
	if !w.capitals {
		return false
	}
	for i := range p.sentences {
		if abbreviates(w, p.sentences[i].words) {
			return true
		}
	}
	return abbreviates(w, p.above.words)
}

// abbreviates says whether a name is made of the initials of words in a row, as CKD is of chronic kidney disease.
func abbreviates(name word, ws []word) bool {
	letters := strings.TrimSuffix(name.text, "s")
	if !name.capitals || len(letters) < 2 || len(letters) > 8 {
		return false
	}
	for i := 0; i+len(letters) <= len(ws); i++ {
		k := 0
		for k < len(letters) && ws[i+k].text[0] == letters[k] && len(ws[i+k].text) > 1 {
			k++
		}
		if k == len(letters) {
			return true
		}
	}
	return false
}

// rival says whether the words hold a name that the claim does not, in the place of the one at i: the word before it is the same,
// or the word behind it.
func (s *statement) rival(i int, ws []word) bool {
	for k, w := range ws {
		if !w.upper || s.has(w.stem) {
			continue
		}
		if i > 0 && k > 0 && s.words[i-1].stem == ws[k-1].stem || i+1 < len(s.words) && k+1 < len(ws) && s.words[i+1].stem == ws[k+1].stem {
			return true
		}
	}
	return false
}

func (s *statement) has(stem string) bool {
	_, ok := s.at[stem]
	return ok
}
