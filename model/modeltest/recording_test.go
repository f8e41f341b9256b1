package modeltest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

const recording = `A note.
-- ask.json --
{"MaxTokens":7}
-- request --
POST /v1/x
Authorization: Bearer {{key}}

{"a":[1,{"b":null}]}
-- response --
HTTP/1.1 200 OK
Content-Type: text/plain

{{repeat 3 ab}}\xff
-- play --
bytes 2
every 5ms
hold
-- want --

text "x"
stop stop
`

func TestParseRecording(t *testing.T) {
	t.Parallel()
	r, err := modeltest.ParseRecording("good", []byte(recording))
	require.NoError(t, err)
	if diff := cmp.Diff([]string{`text "x"`, "stop stop"}, r.Want); diff != "" || r.Ask.MaxTokens != 7 || r.Name != "good" {
		t.Errorf("%+v\n%s", r, diff)
	}
}

func TestParseRecordingRejects(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "no want": "-- response --\nHTTP/1.1 200 OK\n\n", "no response": "-- want --\nstop stop\n",
		"an unknown part": strings.Replace(recording, "-- play --", "-- plan --", 1),
		"an unknown word": strings.Replace(recording, "hold", "hole", 1),
		"no status":       strings.Replace(recording, "HTTP/1.1 200 OK", "HTTP/1.1", 1),
		"no JSON":         strings.Replace(recording, `{"a"`, `{a`, 1),
		"play first":      "-- play --\nhold\n" + recording,
		"a wrong header":  strings.Replace(recording, "Authorization:", "Authorization", 1),
	} {
		if _, err := modeltest.ParseRecording("bad", []byte(text)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
