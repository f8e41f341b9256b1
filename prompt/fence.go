package prompt

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// sampleTag is the tag with which prompts are tried when they are loaded.
const sampleTag = "5a3b1e0f5a3b1e0f"

// The most bytes of what is quoted.
const (
	maxQuestion = 8 << 10
	maxHeading  = 300
	maxPassage  = 64 << 10
	maxClaim    = 4 << 10
	maxSaid     = 8 << 10
	maxWishes   = 8 << 10
)

// Quote is text from outside in its fence.
type Quote string

// fence quotes the texts of one request.
type fence struct {
	tag  string
	tags *regexp.Regexp
	all  *[]Quote
}

func newFence(tag string) fence {
	if tag == "" {
		tag = randomTag()
	}
	return fence{tag, regexp.MustCompile("(?i)" + regexp.QuoteMeta(tag)), new([]Quote)}
}

func (f fence) quoted() []Quote { return *f.all }

// randomTag draws 64 bits: a document that is to hold the tag has one try, for the next request has another.
func randomTag() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// quote puts a text into a fence. Attributes are written by the program alone.
func (f fence) quote(kind, attributes, s string, most int) Quote {
	q := f.spare(kind, attributes, s, most)
	*f.all = append(*f.all, q)
	return q
}

// spare puts a text into a fence that a template may leave out.
func (f fence) spare(kind, attributes, s string, most int) Quote {
	return Quote(fmt.Sprintf("<%s%s tag=%q>\n%s\n</%s %s>", kind, attributes, f.tag, f.harmless(s, most), kind, f.tag))
}

// harmless gives text that cannot end its fence.
func (f fence) harmless(s string, most int) string {
	s = harmless(s, most)
	if !strings.Contains(strings.ToLower(s), strings.ToLower(f.tag)) { // by far cheaper than to look with the expression
		return s
	}
	return f.tags.ReplaceAllString(s, "…")
}

var (
	// fenceRE is what looks like the mark of a fence.
	fenceRE = regexp.MustCompile(`(?i)[<＜﹤〈][\s\pZ/∕／]*(?:question|passage|claim|turn|wishes)`)
	// controlRE is what servers may read as the control words of a model's chat format, wherever it stands: ChatML, Llama,
	// Gemma, Mistral, DeepSeek, and the marks of reasoning and tool calls.
	controlRE = regexp.MustCompile(`(?i)<[|｜][^|｜<>\n]{1,64}[|｜]>|</?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|think|tool_call|tool_response)>|` +
		`\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]|<</?SYS>>`)
	// citations are the brackets that mark citations in answers, and those that look like them.
	citations = strings.NewReplacer("⟦", "[", "⟧", "]", "〚", "[", "〛", "]")
)

// harmless gives at most so many bytes of s, without control characters, what hides or reorders text, what looks like a
// fence, the control words of models, and the brackets of citations.
func harmless(s string, most int) string {
	s = lang.Clean(lang.Head(s, most))
	if strings.ContainsAny(s, "<＜﹤〈[") { // what either expression begins with
		s = fenceRE.ReplaceAllStringFunc(s, blunt)
		s = controlRE.ReplaceAllStringFunc(s, blunt)
	}
	return citations.Replace(s)
}

// blunt replaces the first character by one that opens nothing.
func blunt(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return "‹" + s[n:]
}
