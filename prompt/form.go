package prompt

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxForm is the maximum size of a validated object in bytes.
const maxForm = 16 << 10

// Form validates the JSON object that a model wrote against a JSON Schema. It is safe for concurrent use.
type Form struct{ schema *jsonschema.Schema }

// NewForm compiles a JSON Schema without external references.
func NewForm(schema json.RawMessage) (*Form, error) {
	s, err := compile(string(schema))
	if err != nil {
		return nil, err
	}
	return &Form{s}, nil
}

// Read returns the object that a model wrote. The complaint describes to the model what is wrong with it, and may quote
// it. It is empty for a valid object.
func (f *Form) Read(raw json.RawMessage) (object map[string]any, complaint string) {
	if len(raw) > maxForm {
		return nil, "its JSON is too long."
	}
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, "it is no JSON object."
	}
	if err := f.schema.Validate(object); err != nil {
		return nil, faults(err)
	}
	return object, ""
}
