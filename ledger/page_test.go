package ledger_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
)

// TestExampleOfThePage computes the example of docs/ledger.md.
func TestExampleOfThePage(t *testing.T) {
	t.Parallel()
	const price = "gpt-4o-mini base=0.001 second=0.0005 input=0.15 output=0.60"
	d, input, output := 3400*time.Millisecond, 100_000, 9_834
	fee := prices(t, price).Price("gpt-4o-mini", false, false).Fee(d, input, output)
	s := ledger.Settle(fee, 60, "alice", []event.Source{
		{Document: "handbook.md", Contributor: "bob", Weight: 0.25},
		{Document: "guide.md", Contributor: "alice", Weight: 0.3},
		{Document: "handbook.md", Contributor: "bob", Weight: 0.2},
		{Document: "notes.md", Weight: 0.25},
	})
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "price\t%s\nrun\t%s, %d input tokens, %d output tokens\nfee\t%s\ndistributed\t%s\n", price, d, input, output,
		ledger.FormatCredits(s.Fee), ledger.FormatCredits(s.Distributed))
	fmt.Fprintln(w, "\nDOCUMENT\tCONTRIBUTOR\tCHUNKS\tPORTION\tEARNED")
	entries := "\nACCOUNT\tAMOUNT\nalice\t" + ledger.FormatCredits(-s.Fee) + "\n"
	for _, share := range s.Shares {
		earned := "null"
		if share.Earned != nil {
			earned = ledger.FormatCredits(*share.Earned)
			entries += share.Contributor + "\t" + earned + "\n"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", share.Document, share.Contributor, share.Chunks, ledger.FormatCredits(event.Credits(share.Portion)), earned)
	}
	fmt.Fprint(w, entries+"platform\t"+ledger.FormatCredits(s.Fee-s.Distributed)+"\n")
	require.NoError(t, w.Flush())
	page, err := os.ReadFile(filepath.Join("..", "docs", "ledger.md"))
	if err != nil || !strings.Contains(string(page), "```text\n"+b.String()+"```\n") {
		t.Errorf("docs/ledger.md has another example: %v\n%s", err, &b)
	}
}
