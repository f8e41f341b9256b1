package client_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestResultsFindTheirSearches: results of concurrent searches belong to the right steps, in whatever order they arrive.
func TestResultsFindTheirSearches(t *testing.T) {
	t.Parallel()
	var f client.Fold
	for _, ev := range [][2]string{
		{"query_analysis", `{"query":"q","complexity":"simple","estimated_mode":"agentic","standalone_query":"Where are the piers?","summarized_turns":6}`},
		{"retrieval_start", `{"tool":"hybrid_search","query":"piers","iteration":1,"call_id":1}`},
		{"retrieval_start", `{"tool":"hybrid_search","query":"locks","iteration":1,"call_id":2}`},
		{"retrieval_result", `{"tool":"hybrid_search","chunks_found":3,"call_id":2}`},
		{"retrieval_result", `{"tool":"hybrid_search","chunks_found":0,"call_id":1}`},
		{"retrieval_start", `{"tool":"proposition_search","query":"piers","iteration":2,"reason":"Lunden Creek mentions Ada Vale","call_id":3}`},
		{"crag_evaluation", `{"correct":1,"ambiguous":2,"incorrect":3,"action":"proceed"}`},
		{"verification", `{"claims_checked":3,"claims_supported":2,"claims_partially_supported":1,"confidence":0.8}`},
	} {
		require.NoError(t, f.Add(client.Event{Protocol: "forge", Name: ev[0], Data: json.RawMessage(ev[1])}))
	}
	var got []string
	for _, s := range f.Snapshot().Steps {
		got = append(got, s.Detail)
	}
	want := []string{
		"Reading the question: a simple one",
		"Summarizing the conversation: 6 messages",
		"Understood as: Where are the piers?",
		"Looking for passages about “piers”: none found",
		"Looking for passages about “locks”: 3 found",
		"Looking again: Lunden Creek mentions Ada Vale",
		"Looking for single statements about “piers”",
		"Judging 6 passages: 1 fit, 2 may fit",
		"Checking 3 statements against the sources: 2 supported, 1 in part",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestUnderstood checks that the steps of a snapshot show the rewritten question.
func TestUnderstood(t *testing.T) {
	t.Parallel()
	var f client.Fold
	for range 2 { // each snapshot replaces the one before
		require.NoError(t, f.Add(client.Event{Protocol: "knowledge", Name: "response.in_progress",
			Data: json.RawMessage(`{"object":"response","id":"r","status":"in_progress","output":[],"standalone_query":"Where are\nthe piers?","summarized_turns":1}`)}))
	}
	steps := f.Snapshot().Steps
	if len(steps) != 2 || steps[0].Detail != "Summarizing the conversation: 1 message" || steps[1].Detail != "Understood as: Where are the piers?" {
		t.Errorf("%+v", steps)
	}
}
