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
	fenceRE   = regexp.MustCompile(`(?i)[<＜﹤〈][\s\pZ/∕／]*(?:question|passage|claim|turn|summary|wishes)`)
	controlRE = regexp.MustCompile("(?:" + strings.Join(controlForms, ")|(?:") + ")")
	// citations are the brackets that mark citations in answers, and similar characters.
	citations = strings.NewReplacer("⟦", "[", "⟧", "]", "〚", "[", "〛", "]")
)

// controlForms match text that servers may read as control tokens of a model's chat format. They are families of forms rather than lists of
// tokens, because a new model mostly has new words in a known form.
var controlForms = []string{
	// Bars on both sides, or on one: <|im_start|>, <｜User｜>, <|turn>, <channel|>, [|user|]. ChatML, Llama 3 and 4, DeepSeek, Command R, Phi, Granite,
	// Qwen, GLM, Kimi, harmony of gpt-oss; Gemma 4; EXAONE.
	`[<\[][|｜][^|｜<>\[\]\n]{1,64}[|｜][>\]]`,
	`<[|｜]/?[\w:/-]{1,64}>`, `</?[\w:/-]{1,64}[|｜]>`,
	// The beginning and end of a turn, a picture or a call: <start_of_turn>, <end_function_call>. Gemma, FunctionGemma.
	`(?i)</?(?:start|end|begin)_\w{1,40}>`,
	// Sequences, padding and tokens by their numbers: <bos>, </s>, <eot>, <unused7>, <reserved_106>, <SPECIAL_12>, <extra_id_1>, <0x0A>, <fim_prefix>.
	`(?i)</?(?:s|bos|eos|eop|sop|eot|eom|eoh|eoa|pad|unk|cls|sep|mask|pad|escape|file_sep|repo_name|fim[_-]\w{1,20})>`,
	`(?i)<(?:unused|reserved|extra_id|special|control|image|img|audio|video|box|quad|ref|loc|seg)[_-]?(?:\w{1,20}_)?\d{1,6}>|<0x[0-9a-f]{2}>`,
	`(?i)</?(?:image|audio|video)_(?:\w{1,20}_)?token>`,
	// Reasoning, tools and their calls, also with a prefix or attributes: <think>, <seed:tool_call>, <invoke name="x">, <function=x>, <TOOLCALL>, <arg_key>.
	`(?i)</?(?:\w{1,16}[:_])?(?:think|thinking|thought|reasoning|scratch_?pad|tools?|available_tools|tool_?(?:calls?|responses?|results?|outputs?|code)|` +
		`function_(?:calls?|results?|responses?|output)|invoke|parameters?|arg_(?:key|value))(?:[\s=][^<>\n]{0,200})?>|<function=`,
	// Brackets in capitals: [INST], [/TOOL_CALLS], [MODEL_SETTINGS], [IMG_BREAK], [gMASK]. Mistral, Llama 2, GLM.
	`\[/?(?:[A-Z]+_)?(?:INST|TOOLS?|THINK|IMG|AUDIO|PROMPT|SETTINGS)(?:_[A-Z]+)?\]|\[/?(?i:think|inst|tool_calls|gmask|smask)\]`,
	`\[/?(?:ARGS|CALL_ID|PREFIX|SUFFIX|MIDDLE|TRANSCRIBE|BOS|EOS|EOT|PAD|UNK|CLS|SEP|MASK|control_\d{1,4})\]`,
	// <<SYS>> of Llama 2, and ]~b] and [e~[ of MiniMax.
	`(?i)<</?SYS>>|\]~!?b[\[\]]|\[e~\[`,
}

// sanitize returns at most the given number of bytes of s without control characters, invisible and reordering characters,
// text that looks like a fence, control tokens of models, and citation brackets.
func sanitize(s string, most int) string {
	s = citations.Replace(lang.Clean(lang.Truncate(s, most))) // before the control tokens, which a bracket may begin
	if strings.ContainsAny(s, "<＜﹤〈[]") {                     // first characters of both expressions
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
