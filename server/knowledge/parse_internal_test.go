package knowledge

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-rag/sluice/fault"
)

func TestFilterHolds(t *testing.T) {
	t.Parallel()
	of := func(key string) (any, truth) {
		switch key {
		case "filename":
			return "a.md", yes
		case "year":
			return 2024.0, yes
		case "draft":
			return false, yes
		case "tags":
			return []any{"x", "y"}, yes
		case "page":
			return nil, unknown
		}
		return nil, no
	}
	for _, test := range []struct {
		filter string
		want   truth
	}{
		{`{"type":"eq","key":"filename","value":"a.md"}`, yes},
		{`{"type":"eq","key":"filename","value":"b.md"}`, no},
		{`{"type":"ne","key":"filename","value":"b.md"}`, yes},
		{`{"type":"ne","key":"nothing","value":"b.md"}`, yes},
		{`{"type":"eq","key":"nothing","value":"b.md"}`, no},
		{`{"type":"gt","key":"year","value":2023}`, yes},
		{`{"type":"gte","key":"year","value":2024}`, yes},
		{`{"type":"lt","key":"year","value":2024}`, no},
		{`{"type":"lte","key":"year","value":2024}`, yes},
		{`{"type":"gt","key":"year","value":"2023"}`, no},
		{`{"type":"lt","key":"filename","value":"b"}`, yes},
		{`{"type":"in","key":"filename","value":["b.md","a.md"]}`, yes},
		{`{"type":"nin","key":"filename","value":["b.md"]}`, yes},
		{`{"type":"nin","key":"nothing","value":["b.md"]}`, yes},
		{`{"type":"in","key":"nothing","value":["b.md"]}`, no},
		{`{"type":"eq","key":"draft","value":false}`, yes},
		{`{"type":"eq","key":"tags","value":"y"}`, yes},
		{`{"type":"eq","key":"page","value":1}`, unknown},
		{`{"type":"and","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":true}]}`, no},
		{`{"type":"and","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":false}]}`, unknown},
		{`{"type":"or","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":false}]}`, yes},
		{`null`, yes}, {`{}`, yes}, {``, yes},
	} {
		f, err := parseFilter(json.RawMessage(test.filter))
		if err != nil {
			t.Errorf("%s: %v", test.filter, err)
		} else if got := f.matches(of); got != test.want {
			t.Errorf("%s: %d, want %d", test.filter, got, test.want)
		}
	}
}

func TestFilterRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"and","filters":[`, 40) + `{"type":"eq","key":"a","value":1}` + strings.Repeat(`]}`, 40)
	wide := `{"type":"or","filters":[` + strings.TrimSuffix(strings.Repeat(`{"type":"eq","key":"a","value":1},`, 400), ",") + `]}`
	for filter, field := range map[string]string{
		`[]`:                                    "filters",
		`"x"`:                                   "filters",
		`{"key":"a","value":1}`:                 "filters.type",
		`{"type":"like","key":"a","value":1}`:   "filters.type",
		`{"type":"eq","value":1}`:               "filters.key",
		`{"type":"eq","key":"a"}`:               "filters.value",
		`{"type":"eq","key":"a","value":{}}`:    "filters.value",
		`{"type":"in","key":"a","value":"x"}`:   "filters.value",
		`{"type":"in","key":"a","value":[[]]}`:  "filters.value",
		`{"type":"and"}`:                        "filters.filters",
		`{"type":"and","filters":[1]}`:          "filters.filters[0]",
		`{"type":"and","filters":[{"type":1}]}`: "filters.filters[0]",
		deep:                                    "filters", wide: "filters",
	} {
		_, err := parseFilter(json.RawMessage(filter))
		if f := fault.Public(err); f == nil || f.Code != fault.InvalidRequest || f.Field != field {
			t.Errorf("%.60s: %v, want an error of %s", filter, err, field)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(`{"type":"and","filters":[{"type":"eq","key":"a","value":1},{"type":"nin","key":"b","value":["x"]}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		x, err := parseFilter(json.RawMessage(raw))
		if err == nil {
			x.matches(func(string) (any, truth) { return nil, unknown })
			x.matches(func(string) (any, truth) { return []any{"a", 1.0, nil}, yes })
		} else if fault.Public(err).Code != fault.InvalidRequest {
			t.Error(err)
		}
	})
}

func TestFilenames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("报", 100) + ".pdf"
	for disposition, want := range map[string]string{
		`form-data; name="file"; filename="%E6%8A%A5%20no%201.txt"`:                   "报 no 1.txt",
		`form-data; name="file"; filename="a.txt"; filename*=UTF-8''%E6%8A%A5%25.txt`: "报%.txt",
		`form-data; name="file"; filename="报.txt"`:                                    "报.txt",
		`form-data; name="file"; filename="100%.txt"`:                                 "100%.txt",
		`form-data; name="file"; filename="../../etc/passwd"`:                         "passwd",
		`form-data; name="file"; filename="..%2F..%2Fetc%2Fpasswd"`:                   "passwd",
		`form-data; name="file"; filename="C:\\docs\\a.txt"`:                          "a.txt",
		`form-data; name="file"; filename="%ff%fe.txt"`:                               "%ff%fe.txt",
		`form-data; name="file"; filename="` + long + `"`:                             strings.Repeat("报", 83) + ".pdf",
	} {
		if got, err := filename(disposition); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", disposition, got, err, want)
		}
	}
	for _, disposition := range []string{
		`form-data; name="file"; filename=""`, `form-data; name="file"; filename="a/"`, `form-data; name="file"; filename=".."`,
		`form-data; name="file"; filename="a%00b.txt"`, `form-data; name="file"; filename="a%0Ab.txt"`, "form-data; name=\"file\"; filename=\"\xff\"", `;;`,
	} {
		if got, err := filename(disposition); fault.Public(err) == nil || fault.Public(err).Code != fault.InvalidRequest {
			t.Errorf("%s: %q, %v", disposition, got, err)
		}
	}
}

func FuzzFilename(f *testing.F) {
	f.Add(`form-data; name="file"; filename="%E6%8A%A5%20no%201.txt"`)
	f.Fuzz(func(t *testing.T, disposition string) {
		name, err := filename(disposition)
		if err == nil && (name == "" || len(name) > 255 || strings.ContainsAny(name, "/\\\x00\n") || !printable(name)) {
			t.Errorf("%q", name)
		}
	})
}

// TestFormTellsWhatBrokeIt: the error of an incomplete body has the cause.
func TestFormTellsWhatBrokeIt(t *testing.T) {
	t.Parallel()
	const whole = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\ntext\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nqa\r\n--b--"
	cause := fault.New(fault.TooLarge, "over the limit")
	for n := range len(whole) {
		r := httptest.NewRequest(http.MethodPost, "/v1/files", io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(cause)))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		f, err := openForm(r)
		if err != nil {
			t.Fatal(err)
		}
		u, err := f.readUpload()
		if err == nil {
			_, err = io.Copy(io.Discard, u.Body)
		}
		if err == nil {
			err = u.AfterBody(&u)
		}
		if !errors.Is(err, cause) {
			t.Errorf("broken off at %d: %v", n, err)
		}
	}
}

// FuzzForm reads forms with any content.
func FuzzForm(f *testing.F) {
	whole := "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\ntext\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nqa\r\n--b--\r\n"
	f.Add("multipart/form-data; boundary=b", whole)
	f.Add("multipart/form-data; boundary=b", strings.ReplaceAll(whole, "\r\n", "\n"))
	f.Add("multipart/form-data; boundary=b", whole[:len(whole)-20])
	f.Add("multipart/form-data; boundary=\"b b\"", "--b b\r\n\r\n--b b--")
	f.Add("application/x-www-form-urlencoded", "url=http%3A%2F%2Fexample.com&name=a&skip_exists=true")
	f.Fuzz(func(t *testing.T, kind, body string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/files", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		form, err := openForm(r)
		if err != nil {
			return
		}
		u, err := form.readUpload()
		if err == nil && u.Body != nil {
			var n int64
			if n, err = io.Copy(io.Discard, u.Body); n > int64(len(body)) {
				t.Errorf("a file of %d bytes in %d", n, len(body))
			}
			if err == nil {
				err = u.AfterBody(&u)
			}
		}
		if err != nil && fault.Public(err).Code == fault.Internal {
			t.Errorf("%v", err)
		}
		if err == nil && (u.Body == nil) == (u.URL == "") {
			t.Errorf("%+v", u)
		}
	})
}
