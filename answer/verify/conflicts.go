package verify

import (
	"slices"
)

// conflict is the result of the contradiction check, which overlap cannot outweigh.
type conflict uint8

const (
	none      conflict = iota
	unfounded          // a number or a date that the passages do not contain
	refuted            // the passages contradict the claim
)

// checkConflicts checks whether the passages and the best windows contradict the claim.
func (s *statement) checkConflicts(cited []*passage, proof []window) conflict {
	out := max(s.checkValues(cited, proof), s.checkNames(cited, proof))
	if len(proof) == 0 {
		return out
	}
	for _, w := range proof {
		if !s.contradicted(w) {
			return out
		}
	}
	return refuted
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
		if held {
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

func (s *statement) hasValue(v value) bool {
	for _, o := range s.values {
		if o.same(v) || v.same(o) {
			return true
		}
	}
	return false
}

// checkNames looks for a name that no passage contains, where the windows contain another name at the same position, next to the same word.
func (s *statement) checkNames(cited []*passage, proof []window) conflict {
	out := none
	for _, i := range s.names {
		name := s.words[i]
		if slices.ContainsFunc(cited, func(p *passage) bool { return p.names(name) }) {
			continue
		}
		for _, w := range proof {
			if s.rivalName(i, w.lead) {
				out = refuted
			}
		}
	}
	return out
}

// names reports whether a passage contains a name or a form of it (German, Germany).
func (p *passage) names(w word) bool {
	return slices.ContainsFunc(p.stems, func(stem string) bool { return stem == w.stem || related(w.stem, stem) })
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
