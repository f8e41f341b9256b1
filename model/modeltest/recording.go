package modeltest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/sluice-rag/sluice/model"
)

// Recording is an exchange between the adapter of a model and its provider, with the expected result. It is a txtar file (golang.org/x/tools/txtar) of these parts:
//
//	-- ask.json --    the model.Request; default: [Ask]
//	-- request --     the expected request: a line "POST /path", required headers ({{key}} stands for
//	                  [Key]), an empty line, and JSON that the body must contain: the given keys of objects (null: the key
//	                  must be absent), each element of arrays. Default: any POST
//	-- response --    the reply: a line "HTTP/1.1 200 OK", headers, an empty line, and the body. In the body \xHH stands
//	                  for one byte and {{repeat N TEXT}} for TEXT N times
//	-- play --        how the reply is sent, one option a line; default: at once, complete
//	                    bytes N      in pieces of N bytes
//	                    every 5ms    with this time between pieces (of one line, unless bytes are given)
//	                    hold         the connection stays open after it
//	                    silent       nothing is sent
//	                    abort        the connection breaks after it, within its last line
//	-- want --        the expected result, a line each:
//	                    text "..."               adjacent pieces are joined
//	                    reasoning "..."          likewise
//	                    call ID NAME JSON
//	                    stop REASON
//	                    error FAILURE [status=N] [after=DURATION] [reason="..."]
//	                    used input=N output=N reasoning=N cached=N
//	                    used estimated           anything above 0
//
// For more than one request, the parts request, response and play are repeated.
type Recording struct {
	Name string
	Ask  model.Request
	Want []string

	exchanges []exchange
}

// Ask returns the request of recordings without ask.json.
func Ask() model.Request {
	return model.Request{MaxTokens: 100, Messages: []model.Message{
		{Role: model.System, Text: "Answer in one sentence."},
		{Role: model.User, Text: "What is a sluice?"},
	}}
}

// exchange is a request with its response.
type exchange struct {
	method, path string // empty: any
	headers      http.Header
	want         any // what the body must contain; nil: anything

	status  int
	reply   http.Header
	body    string
	bytes   int
	every   time.Duration
	hold    bool
	silent  bool
	aborted bool
}

// ParseRecording parses a recording.
func ParseRecording(name string, text []byte) (*Recording, error) {
	r := &Recording{Name: name, Ask: Ask()}
	var next exchange
	for _, f := range txtar.Parse(text).Files {
		var err error
		switch f.Name {
		case "ask.json":
			r.Ask = model.Request{}
			err = json.Unmarshal(f.Data, &r.Ask)
		case "request":
			err = next.parseRequest(string(f.Data))
		case "response":
			err = next.parseResponse(string(f.Data))
			r.exchanges = append(r.exchanges, next)
			next = exchange{}
		case "play":
			if len(r.exchanges) == 0 {
				return nil, fmt.Errorf("read recording %s: play without a response before it", name)
			}
			err = r.exchanges[len(r.exchanges)-1].parsePlay(string(f.Data))
		case "want":
			for line := range strings.Lines(string(f.Data)) {
				if line = strings.TrimSpace(line); line != "" {
					r.Want = append(r.Want, line)
				}
			}
		default:
			err = errors.New("unknown part")
		}
		if err != nil {
			return nil, fmt.Errorf("read recording %s: %s: %w", name, f.Name, err)
		}
	}
	if len(r.exchanges) == 0 || len(r.Want) == 0 {
		return nil, fmt.Errorf("read recording %s: response or want is missing", name)
	}
	return r, nil
}

// parseHead returns the first line, the headers and the body.
func parseHead(text string) (first string, h http.Header, body string, err error) {
	head, body, _ := strings.Cut(text, "\n\n")
	first, lines, _ := strings.Cut(head, "\n")
	m, err := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.TrimSpace(lines) + "\n\n"))).ReadMIMEHeader()
	if strings.TrimSpace(lines) == "" {
		m, err = nil, nil
	}
	return strings.TrimSpace(first), http.Header(m), body, err
}

func (x *exchange) parseRequest(text string) error {
	first, headers, body, err := parseHead(text)
	if err != nil {
		return err
	}
	x.headers = headers
	x.method, x.path, _ = strings.Cut(first, " ")
	if strings.TrimSpace(body) == "" {
		return nil
	}
	return json.Unmarshal([]byte(body), &x.want)
}

var (
	hexByte  = regexp.MustCompile(`\\x[0-9a-fA-F]{2}`)
	repeated = regexp.MustCompile(`\{\{repeat (\d+) ([^}]*)\}\}`)
)

func (x *exchange) parseResponse(text string) error {
	first, headers, body, err := parseHead(text)
	if err != nil {
		return err
	}
	x.reply = headers
	if fields := strings.Fields(first); len(fields) >= 2 {
		x.status, err = strconv.Atoi(fields[1])
	}
	if x.status == 0 || err != nil {
		return fmt.Errorf("no status in %q", first)
	}
	body = hexByte.ReplaceAllStringFunc(body, func(s string) string {
		b, _ := strconv.ParseUint(s[2:], 16, 8)
		return string([]byte{byte(b)})
	})
	x.body = repeated.ReplaceAllStringFunc(body, func(s string) string {
		m := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1])
		return strings.Repeat(m[2], n)
	})
	return nil
}

func (x *exchange) parsePlay(text string) (err error) {
	for line := range strings.Lines(text) {
		option, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch option {
		case "":
		case "bytes":
			x.bytes, err = strconv.Atoi(argument)
		case "every":
			x.every, err = time.ParseDuration(argument)
		case "hold":
			x.hold = true
		case "silent":
			x.silent = true
		case "abort":
			x.aborted = true
		default:
			err = fmt.Errorf("unknown option %q", option)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing lists the parts of want that got lacks: the given keys of objects, and each element of arrays.
func missing(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, not an object", at, got)}
		}
		var all []string
		for key, w := range want {
			g, ok := object[key]
			switch {
			case w == nil && ok:
				all = append(all, fmt.Sprintf("%s.%s is present: %v", at, key, g))
			case w != nil && !ok:
				all = append(all, fmt.Sprintf("%s.%s is missing", at, key))
			case w != nil:
				all = append(all, missing(at+"."+key, w, g)...)
			}
		}
		return all
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []string{fmt.Sprintf("%s is %v, not a list of %d", at, got, len(want))}
		}
		var all []string
		for i := range want {
			all = append(all, missing(fmt.Sprintf("%s[%d]", at, i), want[i], list[i])...)
		}
		return all
	}
	if want != got {
		return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
	}
	return nil
}
