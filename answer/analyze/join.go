package analyze

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

var (
	// next matches the start of a second question.
	nextRE     = regexp.MustCompile(`(?i)(?:\?\s+(?:and\s+)?|\s*[,;]\s*(?:and|or)?\s*|\s+and\s+)(?:also\s+)?((?:who|what|when|where|why|how|which|whose)\s)`)
	questionRE = regexp.MustCompile(`(?i)^\W*(?:who|what|when|where|why|how|which|whose|is|are|was|were|do|does|did|can|could|should|will|has|have)\b`)
	// refers matches a reference to the subject of the previous question.
	pronounRE = regexp.MustCompile(`(?i)\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|these|those)\b`)
	// opening matches the words before the subject; after who, a verb follows directly.
	openingRE = regexp.MustCompile(`(?i)^\W*(?:who['’]s|who\s+\p{L}+|what|when|where|why|how|which|whose)(?:['’]s)?(?:\s+(?:is|are|was|were|do|does|did|can|could|should|will|has|have|many|much))*\s+`)
	// compared matches the two sides of a comparison of any kind.
	comparedRE = regexp.MustCompile(`(?i)(?:^\W*(?:compare|contrast)\s+(.+?)\s+(?:with|to|and|against|versus|vs\.?)|\bdifferences?\s+between\s+(.+?)\s+and)\s+(.+?)[\s?.!]*$`)
)

// incompleteRE matches the end of a phrase that is incomplete without the other side.
var incompleteRE = regexp.MustCompile(`(?i)\b(?:ones?|others?|it|them|that|this|these|those)$`)

// maxQuestions is the maximum number of sub-questions.
const maxQuestions = 4

// splitQuestions decomposes several questions in one: "When was it built, and who built it?" References in the later ones to the
// subject of the first are resolved. It returns nil for a single question.
func splitQuestions(question string) []string {
	var out []string
	rest := strings.TrimSpace(question)
	for len(out) < maxQuestions-1 {
		at := nextRE.FindStringSubmatchIndex(rest)
		if at == nil || !questionRE.MatchString(rest[:at[0]]) || len(lang.Words(rest[:at[0]])) < 3 {
			break
		}
		out = append(out, rest[:at[0]])
		rest = rest[at[2]:]
	}
	if out = append(out, rest); len(out) < 2 || len(lang.Words(rest)) < 3 {
		return nil
	}
	about := strings.TrimSpace(openingRE.ReplaceAllString(out[0], ""))
	for i, q := range out {
		q = strings.Join(strings.Fields(strings.TrimRight(q, " ?.!")), " ")
		if i > 0 && about != "" && pronounRE.MatchString(q) {
			q += " (" + about + ")"
		}
		out[i] = q + "?"
	}
	return out
}

// comparedThings decomposes a comparison into the question what each side is, if the sides are not names.
func comparedThings(question string) []string {
	m := comparedRE.FindStringSubmatch(question)
	if m == nil || incompleteRE.MatchString(m[1]+m[2]) || incompleteRE.MatchString(m[3]) {
		return nil
	}
	return []string{"What is " + strings.TrimSpace(m[1]+m[2]) + "?", "What is " + strings.TrimSpace(m[3]) + "?"}
}
