package openai

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/sluice-rag/sluice/model/transport"
)

const (
	perMessage = 4 // tokens that a chat template adds to each message
	// maxTokenized is the size from which a text is estimated, since a tokenizer would take too long.
	maxTokenized = 256 << 10
	maxCounts    = 512 // texts in the cache
)

// counter counts tokens. Its methods may be called concurrently.
type counter struct {
	server       *server
	capabilities *capabilities

	o200k func() *codec.Codec // created at first use, which takes 30 ms

	mu          sync.Mutex
	counts      map[[sha256.Size]byte]*list.Element
	order       *list.List // of counted, most recently used first
	lastTimeout time.Time  // zero: the server responds
}

type counted struct {
	text [sha256.Size]byte
	n    int
}

func newCounter(s *server, f *capabilities) *counter {
	return &counter{
		server: s, capabilities: f,
		o200k:  sync.OnceValue(codec.NewO200kBase),
		counts: map[[sha256.Size]byte]*list.Element{}, order: list.New(),
	}
}

// kind returns how tokens are counted.
func (c *counter) kind(ctx context.Context) string {
	k := c.capabilities.fetch(ctx)
	if k.llama {
		return "server"
	}
	return vocabulary(k.model)
}

// count returns the number of tokens of a text. It asks llama.cpp.
func (c *counter) count(ctx context.Context, text string) int {
	if text == "" {
		return 0
	}
	k := c.capabilities.fetch(ctx)
	if !k.llama || len(text) > maxTokenized {
		return c.local(k.model, text)
	}
	key := sha256.Sum256([]byte(text))
	if n, ok := c.cached(key); ok {
		return n
	}
	if c.unresponsive() {
		return c.local(k.model, text)
	}
	short, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	var reply struct {
		Tokens []any `json:"tokens"`
	}
	err := c.server.ask(short, c.server.at("tokenize"), map[string]any{"content": strings.ToValidUTF8(text, "\uFFFD")}, &reply)
	if ctx.Err() == nil { // otherwise the caller has cancelled
		c.setUnresponsive(short.Err() != nil || errors.Is(err, transport.ErrStalled))
	}
	if err != nil || len(reply.Tokens) == 0 {
		return c.local(k.model, text)
	}
	c.store(key, len(reply.Tokens))
	return len(reply.Tokens)
}

// unresponsive reports whether a recent request timed out: an answer needs many counts and must not wait for each.
func (c *counter) unresponsive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.lastTimeout.IsZero() && c.capabilities.now().Sub(c.lastTimeout) < askAgain
}

// setUnresponsive records whether a request timed out. Other errors are fast, and may concern one text.
func (c *counter) setUnresponsive(failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastTimeout = (time.Time{}); failed {
		c.lastTimeout = c.capabilities.now()
	}
}

func (c *counter) cached(key [sha256.Size]byte) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.counts[key]
	if e == nil {
		return 0, false
	}
	c.order.MoveToFront(e)
	return e.Value.(counted).n, true
}

func (c *counter) store(key [sha256.Size]byte, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[key] != nil {
		return
	}
	c.counts[key] = c.order.PushFront(counted{key, n})
	if c.order.Len() > maxCounts {
		delete(c.counts, c.order.Remove(c.order.Back()).(counted).text)
	}
}

// local returns the number of tokens of a text without a request.
func (c *counter) local(name, text string) int {
	var by *codec.Codec
	switch {
	case text == "":
		return 0
	case len(text) > maxTokenized:
	case vocabulary(name) == "o200k":
		by = c.o200k()
	}
	if by != nil && !hasLongWord(text) {
		if n, err := by.Count(text); err == nil {
			return n
		}
	}
	return estimate(text)
}

// hasLongWord reports whether a text has a run without space that is so long that the quadratic time of a tokenizer matters.
func hasLongWord(text string) bool {
	run := 0
	for i := range len(text) {
		if run++; text[i] == ' ' || text[i] == '\n' {
			run = 0
		}
		if run > 4<<10 {
			return true
		}
	}
	return false
}

// vocabulary returns the name of the vocabulary of OpenAI's models. Older models than GPT-4o have others, whose tables are not
// worth their size; their tokens are estimated.
func vocabulary(name string) string {
	name = strings.TrimPrefix(name, "openai/")
	for _, prefix := range []string{"gpt-4o", "gpt-4.1", "gpt-5", "gpt-oss", "chatgpt-4o", "o1", "o3", "o4"} {
		if strings.HasPrefix(name, prefix) {
			return "o200k"
		}
	}
	return "estimate"
}

// estimate returns an upper estimate for the usual vocabularies of 32,000 to 256,000 byte pairs: one token for three bytes of a
// Latin word, for a digit, a sign and a letter of another script; one and a half for a Han character; three for a character
// outside of the basic plane and two for a joiner. Runs of white space count, too.
func estimate(text string) int {
	n, word, space, han := 0, 0, 0, 0
	flush := func() {
		n += (word + 2) / 3
		if space > 1 {
			n += 1 + space/8
		}
		word, space = 0, 0
	}
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		i += width
		switch {
		case r < unicode.MaxLatin1 && unicode.IsLetter(r), unicode.Is(unicode.Latin, r):
			if space > 0 {
				flush()
			}
			word += width
		case r == '\n': // counts as two spaces, since it is a token
			if word > 0 {
				flush()
			}
			space += 2
		case unicode.IsSpace(r):
			if word > 0 {
				flush()
			}
			space++
		default:
			flush()
			switch n++; {
			case r > 0xFFFF:
				n += 2
			case r == 0x200D, r == 0xFE0F:
				n++
			case unicode.Is(unicode.Han, r):
				han++
			}
		}
	}
	flush()
	n += (han + 1) / 2
	if n == 0 && text != "" {
		return 1
	}
	return n
}
