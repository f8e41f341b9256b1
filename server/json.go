package server

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// ReadJSON reads the body of a request, whose content type must be JSON. It does not parse the body. Serve should return
// its errors.
func ReadJSON(r *http.Request) ([]byte, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, UnsupportedMedia("Content-Type", "want application/json in UTF-8")
	}
	return io.ReadAll(r.Body)
}

// DecodeJSON decodes the JSON body of a request as [wire.Decode]. Serve should return its errors.
func DecodeJSON[T any](r *http.Request, into *T) error {
	body, err := ReadJSON(r)
	if err != nil {
		return err
	}
	return wire.Decode(body, into)
}

// readJSON reads the JSON body of a request. It writes errors to w.
func (h handler) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	r.Body = http.MaxBytesReader(w, r.Body, h.o.MaxBody)
	body, err := ReadJSON(r)
	if err == nil {
		err = h.clearDeadlines(w, r)
	} else if _, refused := errors.AsType[*statusError](err); !refused {
		err = bodyFault(err, h.o.MaxBody)
	}
	if err != nil {
		h.replyError(w, err)
		return nil, false
	}
	return body, true
}

// ReplyJSON writes a JSON reply.
func ReplyJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // fails if the client has disconnected
}

// IntParam returns a query parameter from least to most, or the default if it is not set.
func IntParam[T int | int64](q url.Values, name string, byDefault, least, most T) (T, error) {
	text := q.Get(name)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < int64(least) || n > int64(most) {
		return 0, fault.Invalid(name, "want %d to %d", least, most)
	}
	return T(n), nil
}
