package forrst_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

const head = `"protocol":{"name":"forrst","version":"0.1.0"},"id":"r1"`

func TestValidation(t *testing.T) {
	t.Parallel()
	with := func(members string) string { return `{` + head + `,` + members + `}` }
	get := `"call":{"function":"users.get","arguments":{"id":1}}`
	ext := func(list string) string { return with(get + `,"extensions":` + list) }
	deep := `{"a":{"b":{"c":{"d":{"e":1}}}}}`
	large := `{"a":"` + strings.Repeat("x", 64<<10) + `"}`
	// An expectation is "CODE pointer" or "CODE @position" or "CODE" without a source.
	for name, c := range map[string]struct {
		body   string
		status int
		null   bool // the id of the response
		want   []string
	}{
		"empty body":               {"", 400, true, []string{"PARSE_ERROR @0"}},
		"blank body":               {" \n", 400, true, []string{"PARSE_ERROR @0"}},
		"not JSON":                 {`{"a":x}`, 400, true, []string{"PARSE_ERROR @5"}},
		"cut off":                  {`{"a":1`, 400, true, []string{"PARSE_ERROR @6"}},
		"two documents":            {`{} {}`, 400, true, []string{"PARSE_ERROR @3"}},
		"not UTF-8":                {"{\"a\":\"é\xff\"}", 400, true, []string{"PARSE_ERROR @8"}},
		"too deep":                 {strings.Repeat("[", 20000) + strings.Repeat("]", 20000), 400, true, []string{"PARSE_ERROR @10000"}},
		"array":                    {`[{}]`, 400, true, []string{"INVALID_REQUEST "}},
		"scalar":                   {`7`, 400, true, []string{"INVALID_REQUEST "}},
		"null":                     {`null`, 400, true, []string{"INVALID_REQUEST "}},
		"no members":               {`{}`, 400, true, []string{"INVALID_REQUEST"}},
		"no protocol":              {`{"id":"r1",` + get + `}`, 400, false, []string{"INVALID_REQUEST /protocol"}},
		"protocol text":            {`{"protocol":"forrst/0.1","id":"r1",` + get + `}`, 400, false, []string{"INVALID_REQUEST /protocol"}},
		"protocol name":            {`{"protocol":{"name":"x","version":"0.1.0"},"id":"r1",` + get + `}`, 400, false, []string{"INVALID_REQUEST /protocol/name"}},
		"no protocol name":         {`{"protocol":{"Name":"forrst","version":"0.1.0"},"id":"r1",` + get + `}`, 400, false, []string{"INVALID_REQUEST /protocol/name"}},
		"no protocol version":      {`{"protocol":{"name":"forrst"},"id":"r1",` + get + `}`, 400, false, []string{"INVALID_REQUEST /protocol/version"}},
		"protocol version number":  {`{"protocol":{"name":"forrst","version":1},"id":"r1",` + get + `}`, 400, false, []string{"INVALID_REQUEST /protocol/version"}},
		"protocol version syntax":  {`{"protocol":{"name":"forrst","version":"0.1"},"id":"r1",` + get + `}`, 400, false, []string{"INVALID_REQUEST /protocol/version"}},
		"protocol major":           {`{"protocol":{"name":"forrst","version":"1.0.0"},"id":"r1",` + get + `}`, 400, false, []string{"INVALID_PROTOCOL_VERSION /protocol/version"}},
		"protocol minor":           {`{"protocol":{"name":"forrst","version":"0.7.3"},"id":"r1",` + get + `}`, 200, false, nil},
		"no id":                    {`{"protocol":{"name":"forrst","version":"0.1.0"},` + get + `}`, 400, true, []string{"INVALID_REQUEST /id"}},
		"null id":                  {`{"protocol":{"name":"forrst","version":"0.1.0"},"id":null,` + get + `}`, 400, true, []string{"INVALID_REQUEST /id"}},
		"empty id":                 {`{"protocol":{"name":"forrst","version":"0.1.0"},"id":"",` + get + `}`, 400, true, []string{"INVALID_REQUEST /id"}},
		"number id":                {`{"protocol":{"name":"forrst","version":"0.1.0"},"id":7,` + get + `}`, 400, true, []string{"INVALID_REQUEST /id"}},
		"no call":                  {`{` + head + `}`, 400, false, []string{"INVALID_REQUEST /call"}},
		"call text":                {with(`"call":"x"`), 400, false, []string{"INVALID_REQUEST /call"}},
		"no function":              {with(`"call":{}`), 400, false, []string{"INVALID_REQUEST /call/function"}},
		"empty function":           {with(`"call":{"function":""}`), 400, false, []string{"INVALID_REQUEST /call/function"}},
		"version number":           {with(`"call":{"function":"users.get","version":1,"arguments":{"id":1}}`), 400, false, []string{"INVALID_REQUEST /call/version"}},
		"version empty":            {with(`"call":{"function":"users.get","version":""}`), 400, false, []string{"INVALID_REQUEST /call/version"}},
		"version syntax":           {with(`"call":{"function":"users.get","version":"1.x"}`), 400, false, []string{"INVALID_REQUEST /call/version"}},
		"version zeros":            {with(`"call":{"function":"users.get","version":"01.0.0"}`), 400, false, []string{"INVALID_REQUEST /call/version"}},
		"version v":                {with(`"call":{"function":"users.get","version":"v1.0.0"}`), 400, false, []string{"INVALID_REQUEST /call/version"}},
		"version null":             {with(`"call":{"function":"users.get","version":null,"arguments":{"id":1}}`), 200, false, nil},
		"arguments array":          {with(`"call":{"function":"users.get","arguments":[1]}`), 400, false, []string{"INVALID_REQUEST /call/arguments"}},
		"arguments null":           {with(`"call":{"function":"math.version","arguments":null}`), 200, false, nil},
		"context text":             {with(get + `,"context":"x"`), 400, false, []string{"INVALID_REQUEST /context"}},
		"context null":             {with(get + `,"context":null`), 200, false, nil},
		"extensions object":        {ext(`{}`), 400, false, []string{"INVALID_REQUEST /extensions"}},
		"extensions null":          {ext(`null`), 400, false, []string{"INVALID_REQUEST /extensions"}},
		"too many extensions":      {ext(`[` + strings.Repeat(`{},`, 50) + `{}]`), 400, false, []string{"INVALID_REQUEST /extensions"}},
		"extension text":           {ext(`["x"]`), 400, false, []string{"INVALID_REQUEST /extensions/0"}},
		"no urn":                   {ext(`[{}]`), 400, false, []string{"INVALID_REQUEST /extensions/0/urn"}},
		"urn number":               {ext(`[{"urn":1}]`), 400, false, []string{"INVALID_REQUEST /extensions/0/urn"}},
		"urn malformed":            {ext(`[{"urn":"urn:forrst:stream"}]`), 400, false, []string{"INVALID_REQUEST /extensions/0/urn"}},
		"urn long":                 {ext(`[{"urn":"urn:forrst:ext:` + strings.Repeat("x", 250) + `"}]`), 400, false, []string{"INVALID_REQUEST /extensions/0/urn"}},
		"options array":            {ext(`[{"urn":"urn:forrst:ext:stream","options":[]}]`), 400, false, []string{"INVALID_REQUEST /extensions/0/options"}},
		"options deep":             {ext(`[{"urn":"urn:a:forrst:ext:b","options":{"x":` + deep + `}}]`), 400, false, []string{"INVALID_REQUEST /extensions/0/options"}},
		"options as deep as may":   {ext(`[{"urn":"urn:a:forrst:ext:b","options":` + deep + `}]`), 200, false, nil},
		"options large":            {ext(`[{"urn":"urn:a:forrst:ext:b","options":` + large + `}]`), 400, false, []string{"INVALID_REQUEST /extensions/0/options"}},
		"options and data":         {ext(`[{"urn":"urn:a:forrst:ext:b","options":{},"data":{}}]`), 400, false, []string{"INVALID_REQUEST /extensions/0"}},
		"duplicate urn":            {ext(`[{"urn":"urn:forrst:ext:retry"},{"urn":"URN:cline:forrst:ext:retry"}]`), 400, false, []string{"INVALID_REQUEST /extensions/1"}},
		"unknown function":         {with(`"call":{"function":"users.Get"}`), 404, false, []string{"FUNCTION_NOT_FOUND /call/function"}},
		"unknown version":          {with(`"call":{"function":"users.get","version":"3.0.0","arguments":{"id":1}}`), 404, false, []string{"VERSION_NOT_FOUND /call/version"}},
		"no stable version":        {with(`"call":{"function":"math.beta"}`), 404, false, []string{"VERSION_NOT_FOUND /call/version"}},
		"version after sunset":     {with(`"call":{"function":"math.version","version":"9.0.0"}`), 404, false, []string{"VERSION_NOT_FOUND /call/version"}},
		"disabled":                 {with(`"call":{"function":"users.off"}`), 503, false, []string{"FUNCTION_DISABLED"}},
		"maintenance":              {with(`"call":{"function":"users.fixed"}`), 503, false, []string{"FUNCTION_MAINTENANCE"}},
		"extension excluded":       {with(`"call":{"function":"users.plain","arguments":{"id":1}},"extensions":[{"urn":"urn:forrst:ext:retry"},{"urn":"urn:forrst:ext:tracing"}]`), 400, false, []string{"EXTENSION_NOT_APPLICABLE /extensions/1"}},
		"extension not listed":     {with(`"call":{"function":"users.only","arguments":{"id":1}},"extensions":[{"urn":"urn:cline:forrst:ext:retry"},{"urn":"urn:forrst:ext:tracing"}]`), 400, false, []string{"EXTENSION_NOT_APPLICABLE /extensions/1"}},
		"extension not here":       {ext(`[{"urn":"urn:cline:forrst:ext:simulation","options":{"key":"k"}}]`), 400, false, []string{"EXTENSION_NOT_SUPPORTED /extensions/0"}},
		"extension of others":      {ext(`[{"urn":"urn:acme:forrst:ext:colour"}]`), 200, false, nil},
		"option missing":           {ext(`[{"urn":"urn:forrst:ext:cancellation","options":{}}]`), 400, false, []string{"INVALID_ARGUMENTS /extensions/0/options/token"}},
		"options missing":          {ext(`[{"urn":"urn:forrst:ext:deadline"}]`), 400, false, []string{"INVALID_ARGUMENTS /extensions/0/options/unit", "INVALID_ARGUMENTS /extensions/0/options/value"}},
		"not streamable":           {ext(`[` + streamExt + `]`), 400, false, []string{"EXTENSION_NOT_APPLICABLE"}},
		"argument missing":         {with(`"call":{"function":"users.get"}`), 422, false, []string{"SCHEMA_VALIDATION_FAILED /call/arguments/id"}},
		"argument of another type": {with(`"call":{"function":"users.get","arguments":{"id":"1"}}`), 422, false, []string{"SCHEMA_VALIDATION_FAILED /call/arguments/id"}},
		"argument refused later":   {with(`"call":{"function":"users.get","arguments":{"id":1,"day":"sunday"}}`), 400, false, []string{"INVALID_ARGUMENTS /call/arguments/day"}},
		"argument out of range":    {with(`"call":{"function":"users.get","arguments":{"id":1e300}}`), 400, false, []string{"INVALID_ARGUMENTS /call/arguments/id"}},
		"several arguments": {with(`"call":{"function":"users.get","arguments":{"id":0,"email":"no","tags":["a",1,"c"]}}`), 400, false,
			[]string{"SCHEMA_VALIDATION_FAILED /call/arguments/email", "SCHEMA_VALIDATION_FAILED /call/arguments/id", "SCHEMA_VALIDATION_FAILED /call/arguments/tags", "SCHEMA_VALIDATION_FAILED /call/arguments/tags/1"}},
		"everything": {`{"protocol":{"name":"x","version":"9.0.0"},"id":1,"call":{"function":"users.get","arguments":{"id":0}},"context":1,"extensions":[1,{"urn":"urn:forrst:ext:simulation"},{"urn":"urn:forrst:ext:deadline","options":{"value":1,"unit":"year"}}]}`, 400, true,
			[]string{"EXTENSION_NOT_SUPPORTED /extensions/1", "INVALID_ARGUMENTS /extensions/2/options/unit", "INVALID_PROTOCOL_VERSION /protocol/version", "INVALID_REQUEST /context", "INVALID_REQUEST /extensions/0", "INVALID_REQUEST /id", "INVALID_REQUEST /protocol/name", "SCHEMA_VALIDATION_FAILED /call/arguments/id"}},
		"error of a function":     {call("users.get", `{"id":404}`), 404, false, []string{"NOT_FOUND"}},
		"errors of a function":    {call("users.get", `{"id":400}`), 400, false, []string{"USERS_BAD", "USERS_WORSE"}},
		"uncaught error":          {call("users.get", `{"id":500}`), 500, false, []string{"INTERNAL_ERROR"}},
		"panic":                   {call("users.get", `{"id":501}`), 500, false, []string{"INTERNAL_ERROR"}},
		"unknown members ignored": {with(get + `,"x":1`), 200, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := post(server(t, forrst.Options{}), c.body)
			d := parse(t, w.Body.String())
			if w.Code != c.status || (d.ID == nil) != c.null || !c.null && *d.ID != "r1" {
				t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if got := sources(d); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the text of an internal error is shown: %s", w.Body)
			}
		})
	}
}

// sources lists the codes and sources of the errors, sorted.
func sources(d document) (out []string) {
	for _, e := range d.Errors {
		s := e.Code
		switch {
		case e.Source == nil:
		case e.Source.Pointer != nil:
			s += " " + *e.Source.Pointer
		case e.Source.Position != nil:
			s += fmt.Sprint(" @", *e.Source.Position)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func TestTransport(t *testing.T) {
	t.Parallel()
	s := server(t, forrst.Options{MaxRequest: 1000, Node: "n1"})
	send := func(method, contentType, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/forrst", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	ok := call("users.get", `{"id":1}`)
	for _, c := range []struct {
		name   string
		w      *httptest.ResponseRecorder
		status int
	}{
		{"GET", send("GET", "application/json", ""), 405},
		{"no content type", send("POST", "", ok), 415},
		{"text", send("POST", "text/plain", ok), 415},
		{"large", send("POST", "application/json", strings.Repeat(" ", 1001)), 413},
		{"charset", send("POST", "application/json; charset=utf-8", ok), 200},
	} {
		d := parse(t, c.w.Body.String())
		if c.w.Code != c.status || c.status != 200 && (d.ID != nil || sources(d)[0] != "INVALID_REQUEST") {
			t.Errorf("%s: %d %s", c.name, c.w.Code, c.w.Body)
		}
		if (c.status == 405) != (c.w.Header().Get("Allow") == "POST") {
			t.Errorf("%s: Allow is %q", c.name, c.w.Header().Get("Allow"))
		}
	}
	chunked := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat(" ", 1001)))
	chunked.ContentLength = -1
	chunked.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, chunked); w.Code != 413 {
		t.Errorf("a large body of unknown length has status %d", w.Code)
	}
	w = send("POST", "application/json", ok, "X-Forrst-Request-Id", "other")
	h := w.Header()
	if h.Get("X-Forrst-Request-Id") != "r1" || h.Get("X-Forrst-Node") != "n1" || h.Get("X-Forrst-Duration-Ms") == "" || parse(t, w.Body.String()).Meta["node"] != "n1" {
		t.Errorf("headers %v", h)
	}
	if got := send("POST", "application/json", "x", "X-Forrst-Request-Id", "other").Header().Get("X-Forrst-Request-Id"); got != "other" {
		t.Errorf("the request id of a request without id is %q", got)
	}
	if w := send("POST", "application/json", call("users.get", `{"id":429}`)); w.Code != 429 || w.Header().Get("Retry-After") != "2" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"": "1.10.0", "1.1.0": "1.1.0", "2.0.0-rc.1": "2.0.0-rc.1", "1": "1.10.0", "1.1": "1.1.0"} {
		c := `"function":"math.version"`
		if asked != "" {
			c += `,"version":"` + asked + `"`
		}
		d := parse(t, post(server(t, forrst.Options{}), `{`+head+`,"call":{`+c+`}}`).Body.String())
		if string(d.Result) != `"`+want+`"` {
			t.Errorf("version %q selects %s, want %s", asked, d.Result, want)
		}
		if _, deprecated := d.Meta["deprecated"]; deprecated != (want == "1.1.0") {
			t.Errorf("meta of %s: %v", want, d.Meta)
		}
	}
	unknown := `{` + head + `,"call":{"function":"math.version","version":"7.0.0"}}`
	d := parse(t, post(server(t, forrst.Options{}), unknown).Body.String())
	if got := fmt.Sprint(d.Errors[0].Details); got != "map[available_versions:[1.0.0 1.1.0 1.10.0 2.0.0-rc.1] function:math.version requested_version:7.0.0]" {
		t.Error(got)
	}
	w := post(server(t, forrst.Options{StrictVersions: true}), `{`+head+`,"call":{"function":"math.version","version":"1"}}`)
	if got := sources(parse(t, w.Body.String())); w.Code != 400 || got[0] != "INVALID_REQUEST /call/version" {
		t.Errorf("strict versions: %d %v", w.Code, got)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code   forrst.Code
		status int
	}{{forrst.Unauthorized, 401}, {forrst.Forbidden, 403}} {
		s := server(t, forrst.Options{Authorize: func(_ context.Context, call *forrst.Call) error {
			if call.Function == "urn:forrst:fn:ping" {
				return nil
			}
			return forrst.Errorf(c.code, "no")
		}})
		// The arguments are wrong too, which a caller without access does not learn.
		if w := post(s, call("users.get", `{}`)); w.Code != c.status {
			t.Errorf("%s: %d %s", c.code, w.Code, w.Body)
		}
		if w := post(s, call("forrst.ping", `{}`)); w.Code != 200 {
			t.Error(w.Body)
		}
	}
	s := server(t, forrst.Options{Unavailable: func(context.Context) *forrst.CallError {
		return forrst.MaintenanceOfServer("upgrade", time.Now().Add(time.Hour))
	}})
	w := post(s, call("users.get", `{"id":1}`))
	if d := parse(t, w.Body.String()); w.Code != 503 || d.Errors[0].Code != "SERVER_MAINTENANCE" || w.Header().Get("Retry-After") != "3600" {
		t.Error(w.Code, w.Header(), w.Body)
	}
	if w := post(s, call("urn:cline:forrst:fn:health", `{}`)); w.Code != http.StatusOK {
		t.Error(w.Body)
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	t.Parallel()
	ok := forrst.Func("a", "1.0.0", usersGet)
	_, err := forrst.New([]forrst.Function{
		ok, ok, forrst.Func("forrst.x", "1.0.0", usersGet), forrst.Func("b", "1", usersGet), {Name: "c", Version: "1.0.0"},
		forrst.Func("d", "1.0.0", func(context.Context, int) (int, error) { return 0, nil }),
		{Name: "e", Version: "1.0.0", Arguments: []byte(`{"type":"no"}`), Call: ok.Call},
	}, forrst.Options{Extensions: []forrst.Extension{forrst.Retry{}, forrst.Retry{}}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"twice", "reserved", "semantic version", "neither", `"d"`, `"e"`, "used twice"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}

// TestOwnSchema uses a schema that was written by hand, with alternatives, references and escaped names.
func TestOwnSchema(t *testing.T) {
	t.Parallel()
	f := forrst.Function{Name: "f", Version: "1.0.0", Arguments: []byte(`{"type":"object","additionalProperties":false,"properties":{
		"either":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/positive"}]},"a/b~c":{"type":"array","items":{"$ref":"#/$defs/positive"}}},
		"$defs":{"positive":{"type":"integer","exclusiveMinimum":0}}}`), Call: func(context.Context, *forrst.Call) (any, error) { return nil, nil }}
	s := server(t, forrst.Options{}, f)
	for arguments, want := range map[string][]string{
		`{"either":1,"a/b~c":[1,2]}`: nil,
		`{"either":-1}`:              {"SCHEMA_VALIDATION_FAILED /call/arguments/either"},
		`{"a/b~c":[0,1,"x"]}`:        {"SCHEMA_VALIDATION_FAILED /call/arguments/a~1b~0c/0", "SCHEMA_VALIDATION_FAILED /call/arguments/a~1b~0c/2"},
		`{"x":1,"y":2}`:              {"SCHEMA_VALIDATION_FAILED /call/arguments/x", "SCHEMA_VALIDATION_FAILED /call/arguments/y"},
	} {
		if got := sources(parse(t, post(s, call("f", arguments)).Body.String())); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
	many := `{"a/b~c":[` + strings.Repeat("0,", 5000) + `0]}`
	if d := parse(t, post(s, call("f", many)).Body.String()); len(d.Errors) != 100 {
		t.Errorf("%d errors", len(d.Errors))
	}
	f.Arguments = []byte(`{"$ref":"file:///etc/passwd"}`)
	if _, err := forrst.New([]forrst.Function{f}, forrst.Options{}); err == nil {
		t.Error("a schema may load files")
	}
}
