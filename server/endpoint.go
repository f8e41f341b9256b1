package server

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Endpoint is a protocol with the paths at which questions are asked in it.
type Endpoint struct {
	wire.API
	StreamPath string // POST: the reply is a stream, unless the request has [wire.Request.NoStream]; empty: runs are only read in this protocol
	ReplyPath  string // POST: the reply is one JSON object; empty: none
	// ResumePath is set if clients resume a stream by the session of its question: GET on it, with the session's id as the parameter {id}, replies with
	// the whole stream of the answer that is in progress in the session, or with 204 if there is none.
	ResumePath string
	// StopPath is set if clients stop an answer by the session of its question: POST to it, with the session's id as the parameter {id}, cancels the
	// answer that is in progress in the session. The reply is 204, also if there is none.
	StopPath string
	// Path is set if StreamPath is empty: the path of the route in [Options.Routes] that belongs to the protocol. Its errors have the form of the
	// protocol, and its stream is described with the events of the protocol.
	Path string
	// Session is set if the questions belong to the session whose id is the parameter {id} of the paths. The session must exist.
	Session bool
	// AlwaysOK is set if the reply to a failed run has the status 200, because the object in the reply reports the failure.
	AlwaysOK bool
	// FailureStatus is the status of the reply to a run that failed; 0: that of its error. If it is set, the first frame of a stream decides
	// the status of the reply, and the header is sent with it. If the run fails before, the reply is the one without a stream.
	FailureStatus int
	// OwnKeys is set if requests may have a key of the caller for the model, in the header x-openai-key or x-anthropic-key: see
	// [Options.OwnModel].
	OwnKeys bool
	// RunHeader is a header with the id of the run, in addition to Sluice-Run-Id, in replies to questions; empty: none.
	RunHeader string
	// Misdirected returns the JSON object of the reply, whose status is 404, to a question that is meant for another protocol; nil: it is not. stream is
	// set unless the request demands a reply without a stream. May be nil.
	Misdirected func(r *http.Request, stream bool) any
	// TaskModel is the name of the model by which questions ask for [Options.Task]; empty: none.
	TaskModel string
	// RateHeaders sets the headers that clients of the protocol read about the rate of their key: how many requests it allows at once, how many of
	// them are left, and how long it takes until all of them are again. May be nil.
	RateHeaders func(h http.Header, limit, left int, full time.Duration)
}

// handler has the handlers of an endpoint. Errors have the form of its protocol.
type handler struct {
	*Server
	Endpoint
}

// defaultHandler returns the handler of the default protocol.
func (s *Server) defaultHandler() handler { return handler{s, s.o.Protocols[0]} }

// forPath returns the handler of the protocol that a request for the stream of a run names. For other requests, it is that of the endpoint whose path
// has the longest common prefix with the path of the request, in segments; if there are several, the first. The handler determines the form of errors
// and of rates.
func (h handler) forPath(r *http.Request) handler {
	most, name := 0, ""
	if strings.HasPrefix(r.URL.Path, "/runs/") {
		name = r.URL.Query().Get("protocol")
	}
	for _, e := range h.o.Protocols {
		if e.Name() == name {
			h.Fault, h.RateHeaders = e.Fault, e.RateHeaders
			return h
		}
		if n := commonSegments(e.path(), r.URL.Path); n > most {
			most, h.Fault, h.RateHeaders = n, e.Fault, e.RateHeaders
		}
	}
	for path, form := range h.o.Forms {
		if n := commonSegments(path, r.URL.Path); n > most {
			most, h.Fault, h.RateHeaders = n, form, nil
		}
	}
	return h
}

// path returns the path by which the protocol of a request is found.
func (e Endpoint) path() string { return cmp.Or(e.StreamPath, e.Path) }

// eventName returns the name of the events in the OpenAPI document: without hyphens, each part of the name begins with a capital letter.
func (e Endpoint) eventName() string { return eventName(e.Name()) }

func eventName(protocol string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(protocol, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String() + "Event"
}

// commonSegments returns the length of the common prefix of two paths, in segments.
func commonSegments(a, b string) (n int) {
	segments := strings.Split(strings.TrimPrefix(b, "/"), "/")
	for s := range strings.SplitSeq(strings.TrimPrefix(a, "/"), "/") {
		if n == len(segments) || segments[n] != s {
			break
		}
		n++
	}
	return n
}

// atOffset returns the protocol without the first bytes, whose number is the parameter offset. Only a [wire.ByteStream] has the parameter; it is ignored for
// other protocols.
func atOffset(p wire.Protocol, r *http.Request) (wire.Protocol, error) {
	stream, ok := p.(wire.ByteStream)
	text := r.URL.Query().Get(paramOffset)
	if !ok || text == "" {
		return p, nil
	}
	offset, err := strconv.ParseInt(text, 10, 64)
	if err != nil || offset < 0 {
		return nil, fault.Invalid(paramOffset, "want the number of bytes that were received")
	}
	return stream.From(offset), nil
}
