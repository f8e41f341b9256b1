package client

import (
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire/forge"
)

// The descriptions of steps. A description says what the step does and, after a colon, its result.

func quoted(s string) string {
	return "“" + shorten(strings.Join(strings.Fields(s), " "), 80) + "”"
}

func difficulty(c event.Complexity) string {
	switch c {
	case event.Simple:
		return "a simple one"
	case event.Moderate:
		return "one of medium difficulty"
	case event.Complex:
		return "a complex one"
	}
	return shorten(string(c), 60)
}

// searchFor describes a search.
func searchFor(tool, query string) string {
	switch tool {
	case event.ToolHybridSearch:
		return "Looking for passages about " + quoted(query)
	case event.ToolSemanticSearch:
		return "Looking for passages close in meaning to " + quoted(query)
	case event.ToolPropositionSearch:
		return "Looking for single statements about " + quoted(query)
	case event.ToolHydeSearch: // its query is a draft of an answer
		return "Looking for passages that resemble a possible answer"
	}
	return shorten(tool, 60) + " " + quoted(query)
}

// useOf describes a call of a tool that is not a search.
func useOf(tool string) string {
	switch tool {
	case event.ToolDecomposeQuery:
		return "Splitting the question into parts"
	case event.ToolGraphTraverse:
		return "Following names from one document to the next"
	case event.ToolReadPages:
		return "Reading pages of a document"
	case event.ToolListDocuments:
		return "Listing the documents"
	case event.ToolSelfQuery:
		return "Choosing the documents that meet the conditions of the question"
	}
	return shorten(tool, 60)
}

func foundPassages(n int) string {
	if n == 0 {
		return "none found"
	}
	return fmt.Sprintf("%d found", n)
}

// reasonOf describes why the agent starts another round.
func reasonOf(reason string) string {
	if reason == "" {
		return "Looking again"
	}
	return "Looking again: " + shorten(reason, 200)
}

func judged(v forge.CRAGEvaluation) string {
	var found []string
	if v.Correct > 0 {
		found = append(found, fmt.Sprintf("%d fit", v.Correct))
	}
	if v.Ambiguous > 0 {
		found = append(found, fmt.Sprintf("%d may fit", v.Ambiguous))
	}
	if len(found) == 0 {
		found = append(found, "none fits")
	}
	return "Judging " + count(v.Correct+v.Ambiguous+v.Incorrect, "passage") + ": " + strings.Join(found, ", ")
}

func checkedClaims(v forge.Verification) string {
	s := fmt.Sprintf("Checking %s against the sources: %d supported", count(v.ClaimsChecked, "statement"), v.ClaimsSupported)
	if v.ClaimsPartial > 0 {
		s += fmt.Sprintf(", %d in part", v.ClaimsPartial)
	}
	if v.ClaimsUnsupported > 0 {
		s += fmt.Sprintf(", %d not supported", v.ClaimsUnsupported)
	}
	return s
}
