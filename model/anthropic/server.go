package anthropic

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/model/transport"
)

// The bounds of what is read from the API.
const (
	maxBody   = 64 << 10 // of a reply that is no stream; what is longer is not read
	maxBlocks = 1 << 10  // of an answer
)

const (
	apiVersion   = "2023-06-01"
	defaultModel = "claude-sonnet-5-5"
	official     = "https://api.anthropic.com/"
	// stall is long, as nothing comes while a model begins to read a long request; later a ping comes now and then.
	defaultStall = 30 * time.Second
	// afterEnd is how long the next byte may take once an answer is complete.
	trailerTimeout = time.Second
	// aside is how long a question besides the answer may take.
	metadataTimeout = 3 * time.Second
)

// address reads where the API stands. The URL that it gives ends in a slash, and what follows it begins with v1.
func address(given string) (*url.URL, error) {
	if given == "" {
		given = official
	}
	base, err := transport.Address(given)
	if err != nil {
		return nil, err
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("read the model's URL: it must end with the path")
	}
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/v1") + "/"
	return base, nil
}
