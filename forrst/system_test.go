package forrst_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
)

// result calls a system function and decodes its result, or lists the errors.
func result(t *testing.T, s *forrst.Server, name, arguments string) (map[string]any, []string) {
	t.Helper()
	d := parse(t, post(s, call(name, arguments)).Body.String())
	var out map[string]any
	if len(d.Errors) == 0 && json.Unmarshal(d.Result, &out) != nil {
		t.Fatalf("%s: %s", name, d.Result)
	}
	return out, sources(d)
}

func TestPing(t *testing.T) {
	t.Parallel()
	s := server(t, forrst.Options{})
	for _, name := range []string{"urn:cline:forrst:fn:ping", "urn:forrst:fn:ping", "forrst.ping"} {
		got, errs := result(t, s, name, "{}")
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(got["timestamp"])); got["status"] != "healthy" || err != nil {
			t.Errorf("%s: %v %v", name, got, errs)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		checks := map[string]func(context.Context) error{
			"store": func(context.Context) error { runs++; return nil },
			"model": func(context.Context) error { return forrst.Degraded("one of two models") },
		}
		f := forrst.Func("f", "1.0.0", usersGet)
		s := server(t, forrst.Options{Version: "3", Checks: checks}, f)
		state := func(arguments, component string) string {
			got, errs := result(t, s, "forrst.health", arguments)
			components, _ := got["components"].(map[string]any)
			c, _ := components[component].(map[string]any)
			return fmt.Sprint(got["status"], " ", c["status"], " ", c["message"], " ", errs)
		}
		for _, c := range []struct{ arguments, component, want string }{
			{`{}`, "model", "degraded degraded one of two models []"},
			{`{}`, "store", "degraded healthy <nil> []"},
			{`{"component":"store"}`, "store", "healthy healthy <nil> []"},
			{`{"component":"self"}`, "store", "healthy <nil> <nil> []"},
			{`{"include_details":false}`, "store", "degraded <nil> <nil> []"},
			{`{"component":"x"}`, "store", "<nil> <nil> <nil> [INVALID_ARGUMENTS /call/arguments/component]"},
		} {
			if got := state(c.arguments, c.component); got != c.want {
				t.Errorf("%s: %s, want %s", c.arguments, got, c.want)
			}
		}
		if runs != 1 {
			t.Errorf("%d checks within a second", runs)
		}
		time.Sleep(time.Second)
		if state(`{}`, "store"); runs != 2 {
			t.Errorf("%d checks after a second", runs)
		}
		checks["bad"] = func(context.Context) error { return errors.New("hunter2") }
		checks["mad"] = func(context.Context) error { panic("hunter2") }
		checks["slow"] = func(context.Context) error { time.Sleep(time.Hour); return nil }
		f.Unavailable = func(context.Context) *forrst.CallError {
			return forrst.Maintenance("f", "upgrade", time.Now().Add(time.Minute))
		}
		s = server(t, forrst.Options{Checks: checks}, f)
		began := time.Now()
		got, _ := result(t, s, "forrst.health", "{}")
		if took := time.Since(began); took != 5*time.Second || got["status"] != "unhealthy" || strings.Contains(fmt.Sprint(got), "hunter2") {
			t.Errorf("after %v: %v", took, got)
		}
		if got := fmt.Sprint(got["functions"]); got != "map[f:map[message:the function is in maintenance retry_after:map[unit:second value:60] status:maintenance]]" {
			t.Error(got)
		}
		for _, name := range []string{"bad", "mad", "slow"} {
			if got := got["components"].(map[string]any)[name].(map[string]any)["status"]; got != "unhealthy" {
				t.Errorf("%s is %v", name, got)
			}
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	s := server(t, forrst.Options{})
	got, _ := result(t, s, "forrst.describe", `{"function":"math.version","include_schema":false}`)
	var versions []string
	for _, v := range got["versions"].([]any) {
		v := v.(map[string]any)
		versions = append(versions, fmt.Sprint(v["version"], " ", v["stability"], " ", v["deprecated"], " ", v["schema"]))
	}
	want := []string{"1.0.0 stable <nil> <nil>", "1.1.0 stable map[reason:use 2] <nil>", "1.10.0 stable <nil> <nil>", "2.0.0-rc.1 rc <nil> <nil>"}
	if diff := cmp.Diff(want, versions); diff != "" || got["recommended_version"] != "1.10.0" {
		t.Error(diff, got)
	}
	for arguments, want := range map[string]string{
		`{"function":"x"}`:                           "[FUNCTION_NOT_FOUND /call/arguments/function]",
		`{"function":"users.get","version":"7.0.0"}`: "[VERSION_NOT_FOUND /call/arguments/version]",
		`{}`:                       "[SCHEMA_VALIDATION_FAILED /call/arguments/function]",
		`{"function":"math.beta"}`: "[]",
		`{"function":"urn:cline:forrst:fn:ping"}`:       "[]",
		`{"function":"math.version","version":"1.0.0"}`: "[]",
	} {
		if _, errs := result(t, s, "forrst.describe", arguments); fmt.Sprint(errs) != want {
			t.Errorf("%s: %v, want %s", arguments, errs, want)
		}
	}
}

// FuzzRequest sends any body. The reply must be a document with a status that agrees with its errors, or a stream.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(call("users.get", `{"id":1}`)))
	f.Add([]byte(call("ai.generate", `{"prompt":"x"}`, streamExt, withToken(`"t"`), `{"urn":"urn:forrst:ext:tracing"}`)))
	f.Add([]byte(call("urn:cline:forrst:fn:describe", `{"function":"users.get"}`, deadline("5", "minute"))))
	f.Add([]byte(`{"protocol":{"name":"x","version":"9.0.0"},"id":1,"call":{"function":"users.get","arguments":{"id":0}},"extensions":[1,{"urn":"urn:a:forrst:ext:b","options":{"a":[[[[]]]]}}]}`))
	f.Add([]byte("{\"id\":\"\xff\"}"))
	s := server(f, forrst.Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(s, string(body))
		if w.Header().Get("Content-Type") != "application/json" {
			got, _ := events(t, w.Body)
			checkStream(t, got, false)
			return
		}
		checkStatus(t, body, w)
	})
}

func checkStatus(t *testing.T, body []byte, w *httptest.ResponseRecorder) {
	d := parse(t, w.Body.String())
	want := 200
	switch len(d.Errors) {
	case 0:
	case 1:
		want = forrst.Code(d.Errors[0].Code).Status()
	default:
		want = 400
	}
	if w.Code != want {
		t.Errorf("status %d, want %d: %s", w.Code, want, w.Body)
	}
	for _, e := range d.Errors {
		if e.Source != nil && e.Source.Position != nil && (*e.Source.Position < 0 || *e.Source.Position > int64(len(body))) {
			t.Errorf("position %d is outside of the body", *e.Source.Position)
		}
	}
	if d.ID == nil != slices.ContainsFunc(d.Errors, func(e problem) bool {
		return e.Code == "PARSE_ERROR" || e.Source == nil && e.Code == "INVALID_REQUEST" || e.Source != nil && e.Source.Pointer != nil && (*e.Source.Pointer == "/id" || *e.Source.Pointer == "")
	}) {
		t.Errorf("the id is wrong: %s", w.Body)
	}
}
