package anthropic

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/model/transport"
)

// Bounds of replies.
const (
	maxBody   = 64 << 10 // bytes of a reply that is not a stream
	maxBlocks = 1 << 10  // of an answer
)

const (
	apiVersion   = "2023-06-01"
	defaultModel = "claude-sonnet-5-5"
	official     = "https://api.anthropic.com/"
	// defaultStall is long, as the API sends nothing while a model reads a long request; later it sends pings.
	defaultStall = 30 * time.Second
	// trailerTimeout limits the wait after a complete answer.
	trailerTimeout = time.Second
	// metadataTimeout limits requests for limits.
	metadataTimeout = 3 * time.Second
)

// address parses the base URL of the API. The result ends in a slash before v1.
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
