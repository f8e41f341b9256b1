package lang

import "regexp"

// actionRE matches the beginning of an English question how to do something, up to the verb.
var actionRE = regexp.MustCompile(`(?i)\b(?:how|way) (?:(?:do|can|should|could|would|must) (?:i|you|we|one) |to )`)

// Action returns the stems of the verb and of its object, the next content word, in an English question how to do something: remov and sourc in "How do I
// remove a source?". Both are empty for other questions and for verbs such as get or do that say nothing.
func Action(question string) (verb, object string) {
	question = Truncate(question, 2000)
	at := actionRE.FindStringIndex(question)
	if at == nil {
		return "", ""
	}
	for i, w := range Words(question[at[1]:]) {
		switch {
		case i == 0 && IsStopWord(w.Text):
			return "", ""
		case i == 0:
			verb = Stem(w.Text)
		case !IsStopWord(w.Text):
			return verb, Stem(w.Text)
		}
	}
	return verb, ""
}

// maxActionGap is the number of words that may be between a verb and its object.
const maxActionGap = 4

// HasAction reports whether a text has a verb and its object near each other, in either order.
func HasAction(text, verb, object string) bool {
	v, o := -1, -1
	for k, w := range Words(text) {
		switch Stem(w.Text) {
		case verb:
			v = k
		case object:
			o = k
		default:
			continue
		}
		if v >= 0 && o >= 0 && max(v-o, o-v) <= maxActionGap+1 {
			return true
		}
	}
	return false
}
