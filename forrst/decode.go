package forrst

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/semver"
)

// Limits of a request other than its size.
const (
	maxExtensions   = 50
	maxOptions      = 64 << 10 // bytes of the options of one extension
	maxOptionsDepth = 5
)

// version is the version of the protocol that this package implements.
const version = "0.1.0"

// request is a decoded request document. Members that are wrong have an error and stay zero.
type request struct {
	id         string
	hasID      bool
	function   string
	version    string
	arguments  json.RawMessage // nil if they are wrong
	context    map[string]json.RawMessage
	extensions []Asked
	errs       Errors
}

// members are the members of a JSON object. Names are case-sensitive, as they are not with structs of encoding/json.
type members map[string]json.RawMessage

// decode reads a request document. It collects all violations; only a document without members has a single one. strict
// refuses short versions.
func decode(body []byte, strict bool) request {
	var r request
	var doc members
	if err := syntax(body); err != nil {
		r.errs = Errors{err}
		return r
	}
	switch kindOf(body) {
	case '{':
	case '[':
		r.fail(Errorf(InvalidRequest, "the document must be one object: batches are not supported").At(""))
		return r
	default:
		r.fail(Errorf(InvalidRequest, "the document must be an object").At(""))
		return r
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		r.fail(Errorf(ParseError, "the body cannot be decoded")) // nested too deep
		return r
	}
	if len(doc) == 0 {
		r.fail(Errorf(InvalidRequest, "the document is empty"))
		return r
	}
	r.decodeProtocol(doc)
	r.decodeID(doc)
	r.decodeCall(doc, strict)
	if raw, ok := doc["context"]; ok && !isNull(raw) {
		if kindOf(raw) != '{' || json.Unmarshal(raw, &r.context) != nil {
			r.invalid("/context", "must be an object or null", raw)
		}
	}
	r.decodeExtensions(doc)
	return r
}

// syntax checks that the body is one JSON value in UTF-8.
func syntax(body []byte) *CallError {
	at := func(position int64, message string) *CallError {
		return &CallError{Code: ParseError, Message: message, Source: &Source{Position: &position}}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return at(0, "the body is empty")
	}
	if !utf8.Valid(body) {
		n := 0
		for n < len(body) {
			c, size := utf8.DecodeRune(body[n:])
			if c == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		return at(int64(n), "the body is not UTF-8")
	}
	if json.Valid(body) {
		return nil
	}
	var discard json.RawMessage
	err := json.Unmarshal(body, &discard)
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) {
		return at(0, "the body is not valid JSON")
	}
	offset := wrong.Offset // counts the offending byte, if there is one
	if !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(wrong.Error(), "unexpected end") {
		offset--
	}
	return at(max(offset, 0), "the body is not valid JSON")
}

// kindOf returns the first byte of a JSON value, which tells its type.
func kindOf(raw []byte) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

func isNull(raw []byte) bool { return kindOf(raw) == 'n' }

// typeName returns the name of the type of a JSON value.
func typeName(raw []byte) string {
	switch kindOf(raw) {
	case 0:
		return "nothing"
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func (r *request) fail(e *CallError) { r.errs = append(r.errs, e) }

// invalid reports a violation. It names the type of the value, not the value.
func (r *request) invalid(at, expected string, raw []byte) {
	name := at[strings.LastIndexByte(at, '/')+1:]
	r.fail(Errorf(InvalidRequest, "%s %s", name, expected).At(at).With(map[string]any{"received": typeName(raw)}))
}

// text returns a non-empty string, and false after it has reported that there is none.
func (r *request) text(raw json.RawMessage, at string) (string, bool) {
	var s string
	if kindOf(raw) != '"' || json.Unmarshal(raw, &s) != nil || s == "" {
		r.invalid(at, "must be a non-empty string", raw)
		return "", false
	}
	return s, true
}

func (r *request) decodeProtocol(doc members) {
	var p members
	raw := doc["protocol"]
	if kindOf(raw) != '{' || json.Unmarshal(raw, &p) != nil {
		r.invalid("/protocol", "must be an object with name and version", raw)
		return
	}
	if name, ok := r.text(p["name"], "/protocol/name"); ok && name != "forrst" {
		r.fail(Errorf(InvalidRequest, `name must be "forrst"`).At("/protocol/name"))
	}
	v, ok := r.text(p["version"], "/protocol/version")
	switch {
	case !ok:
	case !validVersion(v):
		r.fail(Errorf(InvalidRequest, "version must be a semantic version").At("/protocol/version"))
	case semver.Major("v"+v) != semver.Major("v"+version):
		r.fail(Errorf(InvalidProtocolVersion, "this version of the protocol is not supported").At("/protocol/version").
			With(map[string]any{"requested": cut(v), "supported": []string{version}}))
	}
}

func (r *request) decodeID(doc members) {
	if id, ok := r.text(doc["id"], "/id"); ok {
		r.id, r.hasID = id, true
	}
}

func (r *request) decodeCall(doc members, strict bool) {
	var c members
	raw := doc["call"]
	if kindOf(raw) != '{' || json.Unmarshal(raw, &c) != nil {
		r.invalid("/call", "must be an object", raw)
		return
	}
	var ok bool
	versionFits := true
	if raw, given := c["version"]; given && !isNull(raw) {
		r.version, versionFits = r.text(raw, "/call/version")
		if versionFits && !validVersion(r.version) && (strict || !shortVersion(r.version)) {
			r.fail(Errorf(InvalidRequest, "version must be a semantic version").At("/call/version"))
			versionFits = false
		}
	}
	if r.function, ok = r.text(c["function"], "/call/function"); !ok || !versionFits {
		r.function = "" // it cannot be resolved
	}
	r.arguments = json.RawMessage("{}")
	if raw, given := c["arguments"]; given && !isNull(raw) {
		r.arguments = raw
		if kindOf(raw) != '{' {
			r.invalid("/call/arguments", "must be an object or null", raw)
			r.arguments = nil
		}
	}
}

func (r *request) decodeExtensions(doc members) {
	raw, given := doc["extensions"]
	if !given {
		return
	}
	var list []json.RawMessage
	if kindOf(raw) != '[' || json.Unmarshal(raw, &list) != nil {
		r.invalid("/extensions", "must be an array", raw)
		return
	}
	if len(list) > maxExtensions {
		r.fail(Errorf(InvalidRequest, "extensions must have at most %d elements", maxExtensions).At("/extensions"))
		return
	}
	seen := map[string]bool{}
	for i, raw := range list {
		a := Asked{index: i}
		if !r.decodeExtension(&a, raw) {
			continue
		}
		if u := canonicalURN(a.URN); seen[u] {
			r.fail(Errorf(InvalidRequest, "the extension is listed twice").At(a.pointer()))
		} else {
			seen[u] = true
			r.extensions = append(r.extensions, a)
		}
	}
}

// decodeExtension reads one element of the extensions, and reports whether it has no violation.
func (r *request) decodeExtension(a *Asked, raw json.RawMessage) bool {
	var e members
	at, before := a.pointer(), len(r.errs)
	if kindOf(raw) != '{' || json.Unmarshal(raw, &e) != nil {
		r.fail(Errorf(InvalidRequest, "an extension must be an object with urn").At(at).With(map[string]any{"received": typeName(raw)}))
		return false
	}
	var ok bool
	if a.URN, ok = r.text(e["urn"], at+"/urn"); ok && !validURN(a.URN) {
		r.fail(Errorf(InvalidRequest, "urn must have the form urn:forrst:ext:NAME or urn:VENDOR:forrst:ext:NAME, with at most %d bytes", maxURN).At(at + "/urn"))
	}
	options, given := e["options"]
	switch {
	case !given:
	case kindOf(options) != '{':
		r.invalid(at+"/options", "must be an object", options)
	case len(options) > maxOptions || depth(options) > maxOptionsDepth:
		r.fail(Errorf(InvalidRequest, "options must have at most %d bytes and %d levels", maxOptions, maxOptionsDepth).At(at + "/options"))
	case json.Unmarshal(options, &a.options) != nil:
		r.invalid(at+"/options", "must be an object", options)
	}
	if _, both := e["data"]; both && given {
		r.fail(Errorf(InvalidRequest, "an extension cannot have both options and data").At(at))
	}
	return len(r.errs) == before
}

// depth returns how many levels of objects and arrays a valid JSON value has.
func depth(raw []byte) int {
	level, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// validText reports whether a name is printable in errors and logs.
func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsAny(s, "\r\n\x00") }

// Asked is one extension of a request.
type Asked struct {
	// URN is the spelling of the client.
	URN     string
	options members
	index   int
}

// Option returns the JSON value of an option, and nil if it is absent or null.
func (a *Asked) Option(name string) json.RawMessage {
	if raw := a.options[name]; !isNull(raw) {
		return raw
	}
	return nil
}

// Invalid returns an error about an option, with a pointer to it.
func (a *Asked) Invalid(option, format string, args ...any) *CallError {
	return Errorf(InvalidArguments, "%s", fmt.Sprintf(format, args...)).At(pointer(a.pointer()+"/options", option))
}

func (a *Asked) pointer() string { return fmt.Sprintf("/extensions/%d", a.index) }
