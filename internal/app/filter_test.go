package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestFilterOfQuestions asks with filters in each protocol, over uploaded files with metadata that users set.
func TestFilterOfQuestions(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	for i, keeper := range []string{"Ada Brook", "Ed Mill", "Una Vale"} {
		id := fmt.Sprintf("f%d", i)
		c.upload("default", id, farland(keeper))
		c.reply(http.StatusOK, "default", "POST", "/v1/files/"+id+"/content",
			fmt.Sprintf(`{"metadata":{"year":%d,"team":"lights"},"dublin_core":{"dc_creator":"%s","dc_date":"%d-05"}}`, 2019+i, keeper, 2019+i))
	}
	const (
		byMill = `{"type":"contains","key":"creator","value":"mill"}`
		year   = `{"type":"and","filters":[{"type":"eq","key":"year","value":2021},{"type":"eq","key":"team","value":"lights"}]}`
		since  = `{"type":"and","filters":[{"type":"gte","key":"date","value":"2020-05-01"},{"type":"lt","key":"date","value":"2021"}]}`
		nobody = `{"type":"contains","key":"creator","value":"doe"}`
	)
	for _, q := range []struct{ path, body, field string }{
		{"/api/query", `{"query":"Who keeps the lighthouse of Farland?","collection":"files","filter":%s}`, "filter"},
		{"/api/query", `{"query":"Who keeps the lighthouse of Farland?","collection":"files","mode":"direct","filter":%s}`, "filter"},
		{"/functions/v1/rag", `{"question":"Who keeps the lighthouse of Farland?","collection":"files","stream":false,"filter":%s}`, "filter"},
		{"/v1/responses", `{"input":"Who keeps the lighthouse of Farland?","stream":false,"tools":[{"type":"file_search","vector_store_ids":["files"],"filters":%s}]}`, "filters"},
	} {
		for filter, want := range map[string]string{byMill: "Ed Mill", since: "Ed Mill", year: "Una Vale"} {
			w := c.request("default", "POST", q.path, fmt.Sprintf(q.body, filter))
			if got := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(got, want) {
				t.Errorf("%s, %s: status %d: %s", q.path, filter, w.Code, got)
			}
			for _, other := range []string{"Ada Brook", "Ed Mill", "Una Vale"} {
				if other != want && strings.Contains(w.Body.String(), other) {
					t.Errorf("%s, %s: the reply has %s: %s", q.path, filter, other, w.Body)
				}
			}
		}
		w := c.request("default", "POST", q.path, fmt.Sprintf(q.body, nobody))
		if !strings.Contains(w.Body.String(), "no document in the collection files matches the filter") {
			t.Errorf("%s, nothing matches: status %d: %s", q.path, w.Code, w.Body)
		}
		w = c.request("default", "POST", q.path, fmt.Sprintf(q.body, `{"type":"and","filters":[{"type":"like","key":"a","value":1}]}`))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), q.field+".filters[0].type") {
			t.Errorf("%s, a filter that is not valid: status %d: %s", q.path, w.Code, w.Body)
		}
	}

	// A question that is asked again has its filter, and a follow-up has its own.
	if _, err := c.Default.Sessions.Create(t.Context(), c.account, "talk", ""); err != nil {
		t.Fatal(err)
	}
	const who = `{"content":"Who keeps the lighthouse of Farland?","collection":"files"`
	g, first := c.turn(who + `,"filter":` + byMill + `}`)
	if !strings.Contains(string(g.Text), "Ed Mill") {
		t.Errorf("%s", g.Text)
	}
	if g, _ = c.turn(fmt.Sprintf(`{"regenerate":%q}`, first.RunID.QuestionID())); !strings.Contains(string(g.Text), "Ed Mill") || strings.Contains(string(g.Text), "Brook") {
		t.Errorf("again: %s", g.Text)
	}
	if g, _ = c.turn(who + `,"filter":` + year + `}`); !strings.Contains(string(g.Text), "Una Vale") || strings.Contains(string(g.Text), "Ed Mill") {
		t.Errorf("another filter: %s", g.Text)
	}
}
