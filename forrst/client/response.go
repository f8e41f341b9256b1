package client

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// Response is the reply to a call that succeeded.
type Response struct {
	ID         string
	Result     json.RawMessage
	Extensions []ExtensionData
	Meta       map[string]json.RawMessage
	// Header holds the headers of the reply, if the transport has them.
	Header http.Header
}

// ExtensionData is the data of an extension in a response.
type ExtensionData struct {
	URN  string          `json:"urn"`
	Data json.RawMessage `json:"data"`
}

// Decode decodes the result.
func (r *Response) Decode(out any) error {
	if err := json.Unmarshal(r.Result, out); err != nil {
		return fmt.Errorf("decode the result: %w", err)
	}
	return nil
}

// Extension decodes the data of an extension, and returns false if the response has none. The spellings
// urn:forrst:ext:NAME and urn:cline:forrst:ext:NAME are equal.
func (r *Response) Extension(urn string, data any) (bool, error) {
	raw := extensionData(r.Extensions, urn)
	if raw == nil {
		return false, nil
	}
	return true, json.Unmarshal(raw, data)
}

func extensionData(all []ExtensionData, urn string) json.RawMessage {
	for _, e := range all {
		if canonical(e.URN) == canonical(urn) {
			return e.Data
		}
	}
	return nil
}

// canonical brings both spellings of a URN of the protocol to one form.
func canonical(urn string) string {
	urn = strings.ToLower(urn)
	if rest, ok := strings.CutPrefix(urn, "urn:cline:forrst:"); ok {
		return "urn:forrst:" + rest
	}
	return urn
}

// document is a response document.
type document struct {
	Protocol struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"protocol"`
	ID         *string                    `json:"id"`
	Result     json.RawMessage            `json:"result"`
	Errors     []wireError                `json:"errors"`
	Extensions []ExtensionData            `json:"extensions"`
	Meta       map[string]json.RawMessage `json:"meta"`
}

// decodeResponse decodes the response to the request with an id. The error is an [*Error] if the server reports one.
func decodeResponse(m Message, body []byte, id string) (*Response, error) {
	var d document
	if err := json.Unmarshal(body, &d); err != nil || d.Protocol.Name != "forrst" {
		return nil, foreign(m)
	}
	switch {
	case !strings.HasPrefix(d.Protocol.Version, "0."):
		return nil, fmt.Errorf("%w: another version of the protocol", ErrResponse)
	case d.ID == nil && len(d.Errors) == 0, d.ID != nil && *d.ID != id:
		return nil, fmt.Errorf("%w: it belongs to another request", ErrResponse)
	case len(d.Errors) > 0:
		e := joinErrors(m.Status, d.Errors)
		e.Retry = adviceOf(d.Extensions)
		return nil, e
	}
	r := &Response{ID: id, Result: d.Result, Extensions: d.Extensions, Meta: d.Meta, Header: m.Header}
	if r.Result == nil {
		r.Result = json.RawMessage("null")
	}
	return r, nil
}

// adviceOf returns the data of the retry extension, or nil.
func adviceOf(all []ExtensionData) *Advice {
	var a struct {
		Allowed     bool             `json:"allowed"`
		Strategy    string           `json:"strategy"`
		After       *forrst.Duration `json:"after"`
		MaxAttempts int              `json:"max_attempts"`
	}
	raw := extensionData(all, "urn:forrst:ext:retry")
	if raw == nil || json.Unmarshal(raw, &a) != nil {
		return nil
	}
	out := &Advice{Allowed: a.Allowed, Strategy: a.Strategy, MaxAttempts: a.MaxAttempts}
	if a.After != nil {
		out.After = lengthOf(*a.After)
	}
	return out
}

var units = map[string]time.Duration{
	"millisecond": time.Millisecond, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

// decodeLength decodes a duration of the wire that may be absent.
func decodeLength(raw json.RawMessage) (time.Duration, bool) {
	var d forrst.Duration
	if raw == nil || json.Unmarshal(raw, &d) != nil || units[d.Unit] == 0 {
		return 0, false
	}
	return lengthOf(d), true
}

// lengthOf returns a duration of the wire. One that is too large is the largest possible.
func lengthOf(d forrst.Duration) time.Duration {
	unit := units[d.Unit]
	switch {
	case d.Value <= 0 || unit == 0:
		return 0
	case d.Value > math.MaxInt64/int64(unit):
		return math.MaxInt64
	}
	return time.Duration(d.Value) * unit
}
