package s3

import (
	"bytes"
	"io"
	"net/http"

	"github.com/sluice-rag/sluice/fault"
)

// maxReply limits replies that the client decodes as a whole: a page of a listing has up to 1000 keys of up to 1024 bytes, and errors are short.
const maxReply = 16 << 20

// checked limits the replies of a server, and refuses listings that are none. The client would take the page of a proxy for an empty bucket, and the
// documents of the source would be removed.
type checked struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t checked) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	q := req.URL.Query()
	listing := q.Has("list-type")
	if !listing && !q.Has("location") && res.StatusCode < http.StatusMultipleChoices {
		return res, nil // an object, which Read limits
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	_ = res.Body.Close()
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxReply:
		return nil, fault.New(fault.Unavailable, "%q sends more than %d bytes for one request", req.URL.Hostname(), maxReply)
	case listing && res.StatusCode == http.StatusOK && !bytes.Contains(body[:min(len(body), 1<<10)], []byte("<ListBucketResult")):
		return nil, fault.New(fault.Unavailable, "%q does not answer as a server with the API of S3", req.URL.Hostname())
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}
