package knowledge

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

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
		require.NoError(t, err)
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
