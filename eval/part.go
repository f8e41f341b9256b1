package eval

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
)

// Parts of [Set.Split].
const (
	PartTuning  = "tuning"   // two thirds
	PartHeldOut = "held-out" // one third
)

// Split returns the set with the questions of a part. Questions about one document are in one part, which a hash of the document's id determines: what was
// tuned on one part is judged on documents that it has not seen. All documents stay in the set.
func (s *Set) Split(part string) (*Set, error) {
	if part != PartTuning && part != PartHeldOut {
		return nil, errors.New("the parts of a set are tuning and held-out")
	}
	return s.only(part, func(q Question) bool {
		key := q.ID
		if len(q.Documents) > 0 {
			key = s.Name + "/" + q.Documents[0]
		}
		hash := sha256.Sum256([]byte(key))
		return (hash[0]%3 == 0) == (part == PartHeldOut)
	}), nil
}

// Training returns the set with the questions to fit to: the tuning part if the questions name their documents, otherwise half a.
func (s *Set) Training() (*Set, error) {
	if slices.ContainsFunc(s.Questions, func(q Question) bool { return len(q.Documents) > 0 }) {
		return s.Split(PartTuning)
	}
	return s.Half("a")
}

// only returns the set with some of its questions.
func (s *Set) only(part string, in func(Question) bool) *Set {
	some := *s
	some.Part, some.Whole, some.Questions = part, s.Questions, nil
	for _, q := range s.Questions {
		if in(q) {
			some.Questions = append(some.Questions, q)
		}
	}
	return &some
}

// Half returns the set with about half of its questions, a or b, chosen by a hash of their ids. Constants that were tuned on one half
// must be judged on the other.
func (s *Set) Half(which string) (*Set, error) {
	if which != "a" && which != "b" {
		return nil, errors.New("the halves of a set are a and b")
	}
	return s.only(which, func(q Question) bool { return HalfOf(q.ID) == which }), nil
}

// HalfOf returns the half, a or b, to which the question of an id belongs.
func HalfOf(id string) string {
	if hash := sha256.Sum256([]byte(id)); hash[0]&1 == 0 {
		return "a"
	}
	return "b"
}

// Pool returns one report of the questions of several sets in one mode.
func Pool(name string, reports ...*ModeReport) *ModeReport {
	all := &ModeReport{Set: name}
	for _, r := range reports {
		all.Mode = cmp.Or(all.Mode, r.Mode)
		all.Results = append(all.Results, r.Results...)
	}
	all.summarize()
	return all
}

// WithoutAnswers returns the report without the results of single questions, so that nobody tunes on what is held out.
func (r *ModeReport) WithoutAnswers() *ModeReport {
	short := *r
	short.Results = slices.Clone(r.Results[:0])
	return &short
}
