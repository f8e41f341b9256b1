package verify

import "strings"

// conflict is the result of the contradiction check, which overlap cannot outweigh.
type conflict uint8

const (
	none      conflict = iota
	unproven           // the claim says more than the passages: a name, or certainty
	unfounded          // a number or a date that the passages do not contain
	refuted            // the passages contradict the claim
)

// checkConflicts checks whether the passages and the best windows contradict the claim.
func (s *statement) checkConflicts(cited []*passage, proof []window) conflict {
	out := max(s.checkValues(cited, proof), s.checkNames(cited, proof))
	if len(proof) == 0 {
		return out
	}
	contradictions, weaker := 0, 0
	for _, w := range proof {
		if s.contradicted(w) {
			contradictions++
		}
		if s.sure && containsAny(w.lead, hedgeWords) || s.strict && !containsAny(w.lead, absoluteWords) && containsAny(w.lead, partialWords) {
			weaker++
		}
	}
	switch {
	case contradictions == len(proof):
		return refuted
	case weaker == len(proof):
		return max(out, unproven)
	}
	return out
}

// minShare is the share of a claim that a sentence must cover to contradict it. equalShare is the fraction of the best
// sentence's share from which another sentence counts equally: a passage that says both contradicts nothing.
const (
	minShare   = 0.4
	equalShare = 0.6
)

// contradicted reports whether a sentence of the passage contradicts the claim and none agrees with it.
func (s *statement) contradicted(w window) bool {
	against := false
	for i, x := range w.from.sentences {
		if w.shares[i] < minShare || w.shares[i] < equalShare*w.maxShare || !x.asserts {
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

// checkValues looks for a number or a date that no passage contains. If the windows contain another one of its kind, it is a
// contradiction.
func (s *statement) checkValues(cited []*passage, proof []window) conflict {
	out := none
	for _, v := range s.values {
		held := false
		for _, p := range cited {
			held = held || p.hasValue(v)
		}
		if held || v.kind == spellOut && v.x <= 10 && s.isListCount(v, cited) {
			continue
		}
		out = max(out, unfounded)
		for _, w := range proof {
			for _, o := range w.values {
				if o.kind == v.kind && !s.hasValue(o) {
					out = refuted
				}
			}
		}
	}
	return out
}

// isListCount reports whether a small number in letters may be a count of list items in the passages.
func (s *statement) isListCount(v value, cited []*passage) bool {
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

func (s *statement) hasValue(v value) bool {
	for _, o := range s.values {
		if o.same(v) || v.same(o) {
			return true
		}
	}
	return false
}

// checkNames looks for a name that no passage contains. If the windows contain another name at the same position, next to
// the same word, it is a contradiction.
func (s *statement) checkNames(cited []*passage, proof []window) conflict {
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
		if !name.allCaps && !strings.ContainsAny(name.text, "0123456789") { // the passages may not use the claim's short form
			out = max(out, unproven)
		}
		for _, w := range proof {
			if s.rivalName(i, w.lead) {
				out = refuted
			}
		}
	}
	return out
}

// names reports whether a passage contains a name, a form of it (German, Germany), or the words that it abbreviates.
func (p *passage) names(w word) bool {
	if _, ok := p.at[w.stem]; ok {
		return true
	}
	for _, stem := range p.stems {
		if related(w.stem, stem) {
			return true
		}
	}
	if !w.allCaps {
		return false
	}
	for i := range p.sentences {
		if abbreviates(w, p.sentences[i].words) {
			return true
		}
	}
	return abbreviates(w, p.headings.words)
}

// abbreviates reports whether a name consists of the initials of consecutive words, as CKD of chronic kidney disease.
func abbreviates(name word, ws []word) bool {
	letters := strings.TrimSuffix(name.text, "s")
	if !name.allCaps || len(letters) < 2 || len(letters) > 8 {
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

// rivalName reports whether the words contain a name that is not in the claim in the place of the word at i: the word before
// it, or after it, is the same.
func (s *statement) rivalName(i int, ws []word) bool {
	for k, w := range ws {
		if !w.inName || s.has(w.stem) {
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
