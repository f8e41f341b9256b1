package wiretest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Decode is a function that decodes the body of a request, as [wire.API] has it.
type Decode func(body []byte, maxQuery int) (wire.Request, error)

// TestDecode checks the requests of bodies.
func TestDecode(t *testing.T, decode Decode, maxQuery int, bodies map[string]wire.Request) {
	t.Helper()
	for body, want := range bodies {
		got, err := decode([]byte(body), maxQuery)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

// TestRefuses checks that bodies are invalid, and that the errors name the fields.
func TestRefuses(t *testing.T, decode Decode, maxQuery int, fields map[string]string) {
	t.Helper()
	for body, field := range fields {
		_, err := decode([]byte(body), maxQuery)
		if f := fault.Public(err); f == nil || f.Code != fault.InvalidRequest || f.Field != field || !strings.HasPrefix(f.Message, field+": ") {
			t.Errorf("%.100s: %+v, want the field %s", body, f, field)
		}
	}
}

// Strict decodes a JSON text. Unknown fields are errors.
func Strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
