// Package openai implements models behind OpenAI's protocol: OpenAI itself, llama.cpp's llama-server, Ollama, vLLM, LM Studio,
// OpenRouter and others. It learns from a server's replies what the server does not support.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/model/transport"
)

const (
	maxCalls = 128 // of one answer
)

const (
	openAI = "https://api.openai.com/v1"
	// defaultStall suits most servers; slow ones need more for the first byte of a large request.
	defaultStall = 15 * time.Second
	// metadataTimeout limits requests for limits and token counts.
	metadataTimeout = 3 * time.Second
	// trailerTimeout limits the wait after a complete answer: some servers keep the stream open.
	trailerTimeout = time.Second
)

// server is the address of a model with its credentials. Its methods may be called concurrently.
type server struct {
	base   *url.URL // ends in a slash
	root   *url.URL // base without v1, for endpoints of the server's own
	key    string
	stall  time.Duration
	client *http.Client
	log    *slog.Logger
}

func newServer(address, key string, patience time.Duration, client *http.Client, log *slog.Logger) (*server, error) {
	if address == "" {
		address = openAI
	}
	base, err := transport.Address(address)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckKey(key); err != nil {
		return nil, err
	}
	base.Fragment = ""
	if base.Path = strings.TrimRight(base.Path, "/"); base.Path == "" {
		base.Path = "/v1"
	}
	base.Path += "/"
	root := *base
	root.RawQuery = ""
	root.Path = strings.TrimSuffix(root.Path, "v1/")
	s := &server{base: base, root: &root, key: key, stall: patience, log: log}
	if s.stall <= 0 {
		s.stall = defaultStall
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.client = transport.Client(client)
	return s, nil
}

// host returns the display name of the server.
func (s *server) host() string { return s.base.Host }

// official reports whether the server is OpenAI's own.
func (s *server) official() bool { return s.base.Hostname() == "api.openai.com" }

// endpoint returns the URL of an endpoint of OpenAI's protocol.
func (s *server) endpoint(path string) *url.URL {
	u := *s.base
	u.Path += path
	return &u
}

// send sends a request. The body is JSON; nil is a GET.
func (s *server) send(ctx context.Context, at *url.URL, body any) (*http.Response, error) {
	method, sent := http.MethodGet, io.Reader(http.NoBody)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, errors.New("encode the request")
		}
		method, sent = http.MethodPost, bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, at.String(), sent)
	if err != nil {
		return nil, errors.New("write the request's address")
	}
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	return transport.CheckStatus(r, s.client.Do)
}

// ask sends a request and decodes the reply into dst. A nil body is a GET.
func (s *server) ask(ctx context.Context, at *url.URL, body, dst any) error {
	ctx, watch := transport.NewStallTimer(ctx, s.stall)
	defer watch.End()
	watch.Start()
	res, err := s.send(ctx, at, body)
	watch.Stop()
	if err != nil {
		return watch.Cause(err)
	}
	defer res.Body.Close()
	text, err := readAll(watch.Reader(res.Body), transport.MaxBody)
	if err != nil {
		return watch.Cause(err)
	}
	if err := json.Unmarshal(text, dst); err != nil {
		return transport.ErrUnreadable
	}
	return nil
}

// at returns the URL of an endpoint outside of OpenAI's protocol.
func (s *server) at(path string) *url.URL {
	u := *s.root
	u.Path += path
	return &u
}

// readAll reads a body up to a maximum size.
func readAll(r io.Reader, bound int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, bound+1))
	if err == nil && int64(len(text)) > bound {
		err = transport.ErrTooLarge
	}
	return text, err
}
