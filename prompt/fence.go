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

// sampleTag is the tag used when prompts are tried at loading.
const sampleTag = "5a3b1e0f5a3b1e0f"

// The maximum number of bytes of quoted texts.
const (
	maxQuestion     = 8 << 10
	maxHeading      = 300
	maxPassage      = 64 << 10
	maxClaim        = 4 << 10
	maxSaid         = 8 << 10
	maxInstructions = 8 << 10
	maxSummary      = 16 << 10
)

// Quote is untrusted text in its fence.
type Quote string

// fence quotes the untrusted texts of one request.
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

// randomTag returns 64 random bits. A document has one try to guess the tag, because each request has another.
func randomTag() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// quote puts a text into a fence. Attributes come from the program only.
func (f fence) quote(kind, attributes, s string, most int) Quote {
	q := f.optional(kind, attributes, s, most)
	*f.all = append(*f.all, q)
	return q
}

// optional puts a text into a fence that a template may leave out.
func (f fence) optional(kind, attributes, s string, most int) Quote {
	return Quote(fmt.Sprintf("<%s%s tag=%q>\n%s\n</%s %s>", kind, attributes, f.tag, f.sanitize(s, most), kind, f.tag))
}

// sanitize returns text that cannot close its fence.
func (f fence) sanitize(s string, most int) string {
	s = sanitize(s, most)
	if !strings.Contains(strings.ToLower(s), strings.ToLower(f.tag)) { // much cheaper than the regular expression
		return s
	}
	return f.tags.ReplaceAllString(s, "…")
}

var (
	// fenceRE matches text that looks like a fence.
	fenceRE = regexp.MustCompile(`(?i)[<＜﹤〈][\s\pZ/∕／]*(?:question|passage|claim|turn|summary|wishes)`)
	// controlRE matches text that servers may read as control tokens of a model's chat format: ChatML, Llama, Gemma,
	// Mistral, DeepSeek, GLM, and the markers of reasoning, pictures and tool calls.
	controlRE = regexp.MustCompile(`(?i)<[|｜][^|｜<>\n]{1,64}[|｜]>|` +
		`</?(?:s|bos|eos|sop|eop|pad|unk|unused\d+|(?:start|end)_of_(?:turn|image)|think|tool_call|tool_response|tool_code)>|` +
		`</?(?:\w{1,16}:)?(?:function_calls|function_results|invoke|parameter)(?:\s[^<>\n]{0,200})?>|<function=|` +
		`\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|ARGS|CALL_ID|IMG|gMASK|sMASK)\]|<</?SYS>>`)
	// citations are the brackets that mark citations in answers, and similar characters.
	citations = strings.NewReplacer("⟦", "[", "⟧", "]", "〚", "[", "〛", "]")
)

// sanitize returns at most the given number of bytes of s without control characters, invisible and reordering characters,
// text that looks like a fence, control tokens of models, and citation brackets.
func sanitize(s string, most int) string {
	s = citations.Replace(lang.Clean(lang.Truncate(s, most))) // before the control tokens, which a bracket may begin
	if strings.ContainsAny(s, "<＜﹤〈[") {                      // first characters of both expressions
		s = fenceRE.ReplaceAllStringFunc(s, neutralize)
		s = controlRE.ReplaceAllStringFunc(s, neutralize)
	}
	return s
}

// neutralize replaces the first character by a harmless one.
func neutralize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return "‹" + s[n:]
}
