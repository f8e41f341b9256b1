package anthropic

import (
	"errors"
	"net/url"
	"strings"
	"time"
)

// The bounds of what is read from the API.
const (
	maxLine   = 1 << 20  // of a stream's line
	maxStream = 64 << 20 // of a stream
	maxAnswer = 4 << 20  // of an answer's text, reasoning and calls together
	maxBody   = 64 << 10 // of a reply that is no stream; what is longer is not read
	maxBlocks = 1 << 10  // of an answer
)

const (
	official = "https://api.anthropic.com/"
	// stall is long, as nothing comes while a model begins to read a long request; later a ping comes now and then.
	stall = 30 * time.Second
	// afterEnd is how long the next byte may take once an answer is complete.
	afterEnd = time.Second
	// aside is how long a question besides the answer may take.
	aside = 3 * time.Second
)

var errTooLarge = errors.New("the reply is too large")

// address reads where the API stands. The URL that it gives ends in a slash, and what follows it begins with v1.
func address(given string) (*url.URL, error) {
	if given == "" {
		given = official
	}
	base, err := url.Parse(given)
	if err != nil {
		return nil, errors.New("read the model's URL: it is not one") // the error of url.Parse repeats it, password and all
	}
	if base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("read the model's URL: it must begin with http:// or https://")
	}
	if base.Hostname() == "" {
		return nil, errors.New("read the model's URL: it names no host")
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("read the model's URL: it must end with the path")
	}
	base.RawPath = ""
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/v1") + "/"
	return base, nil
}

// isKey tells whether a key can be sent in a header.
func isKey(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
