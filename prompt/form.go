package prompt

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxForm is how many bytes of JSON are held against a [Form].
const maxForm = 16 << 10

// Form is a JSON Schema of an object, which what a model wrote is held against. Its methods may be called at once.
type Form struct{ schema *jsonschema.Schema }

// NewForm reads a JSON Schema that refers to nothing outside itself.
func NewForm(schema json.RawMessage) (*Form, error) {
	s, err := compile(string(schema))
	if err != nil {
		return nil, err
	}
	return &Form{s}, nil
}

// Read gives the object that a model wrote. The complaint says to the model what is wrong with it, in a sentence that may hold
// words of the model's, and is empty where nothing is.
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
