package fetch_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files/fetch"
)

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"https://example.org/a?b", "http://user:p@h/", "http://[::ffff:7f00:1]/", "http:\\\\127.0.0.1", "http://127.1/", "\x00"} {
		f.Add(seed)
	}
	fetcher := fetch.New(fetch.Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		err := fetcher.Check(raw)
		if err != nil {
			if e, ok := errors.AsType[*fault.Error](err); !ok || e.Field != "url" || len(e.Message) > 1200 {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			t.Errorf("%q passes", raw)
		}
	})
}
