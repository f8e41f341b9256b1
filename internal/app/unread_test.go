package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
)

// TestUnreadDocs: a file of --docs that could not be read is listed until it is read, or all files are.
func TestUnreadDocs(t *testing.T) {
	t.Parallel()
	var d app.DocsIndexing
	bad := func(path string) ingest.Failure { return ingest.Failure{Path: path, Reason: "not valid PDF"} }
	for _, c := range []struct {
		only              []string
		failed, afterward []ingest.Failure
	}{
		{nil, []ingest.Failure{bad("/d/a"), bad("/d/sub/b")}, []ingest.Failure{bad("/d/a"), bad("/d/sub/b")}},
		{[]string{"/d/su"}, nil, []ingest.Failure{bad("/d/a"), bad("/d/sub/b")}},
		{[]string{"/d/a"}, []ingest.Failure{bad("/d/a")}, []ingest.Failure{bad("/d/sub/b"), bad("/d/a")}},
		{[]string{"/d/sub/"}, []ingest.Failure{bad("/d/sub/c")}, []ingest.Failure{bad("/d/a"), bad("/d/sub/c")}},
		{nil, nil, nil},
	} {
		d.NoteUnread(c.only, c.failed)
		if diff := cmp.Diff(c.afterward, d.Unread()); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", c.only, diff)
		}
	}
}
