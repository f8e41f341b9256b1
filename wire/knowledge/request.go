package knowledge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of the fields of a request; of texts in bytes.
const (
	MaxTopK         = event.MaxTopK
	MaxNameLength   = 128 // of the model, the user and each id
	MaxStores       = 32  // vector stores and files together
	MaxTools        = 32
	MaxMetadata     = 16 // pairs; keys have up to 64 bytes and values up to 512
	MaxItems        = 10_000
	MaxParts        = 1000
	MaxInstructions = event.MaxInstructions
	maxEcho         = 16 << 10
	maxTokens       = 1_000_000
)

// Values of effort.
const (
	EffortLow    = "low"    // one search
	EffortMedium = "medium" // the model chooses tools, for at most two rounds
	EffortHigh   = "high"   // the model chooses tools until it has found enough
	EffortDev    = "dev"    // as low, without the cache and with execution traces
)

// mediumRounds is the maximum number of tool rounds at medium effort.
const mediumRounds = 2

// whatIsIt is the question if a file is sent without one.
const whatIsIt = "What is this document about?"

// Request is the body of a request for a response. A null field counts as left out.
type Request struct {
	Input              any               `json:"input,omitempty" description:"The question, or a list of messages; the last message with the role user is the question. The reply is a stream unless stream is false."`
	Messages           []Message         `json:"messages,omitempty" description:"Alias of input for a list. The reply is one JSON object unless stream is true."`
	Stream             *bool             `json:"stream,omitempty" description:"Whether the reply is a stream."`
	StreamOptions      *StreamOptions    `json:"stream_options,omitempty"`
	SnapshotsPerSecond float64           `json:"snapshots_per_second,omitempty" minimum:"0.1" maximum:"100" default:"10" description:"Maximum rate of snapshots that only add text."`
	Effort             string            `json:"effort,omitempty" enum:"low,medium,high,dev" default:"medium" description:"How much work is done to find an answer."`
	Model              string            `json:"model,omitempty" maxLength:"128" description:"The requested model. An unknown name selects the default model."`
	Instructions       string            `json:"instructions,omitempty" description:"Instructions to the model."`
	Tools              []Tool            `json:"tools,omitempty" description:"Tools, and the vector stores to search. Tools of other types are ignored."`
	ToolChoice         json.RawMessage   `json:"tool_choice,omitempty" description:"Repeated in the response. No effect."`
	Temperature        *float64          `json:"temperature,omitempty" minimum:"0" maximum:"2"`
	TopP               *float64          `json:"top_p,omitempty" minimum:"0" maximum:"1" description:"Repeated in the response. No effect."`
	MaxOutputTokens    int               `json:"max_output_tokens,omitempty" minimum:"1" description:"Limit of the answer. max_tokens is an alias."`
	MaxTokens          int               `json:"max_tokens,omitempty" minimum:"1"`
	PreviousResponseID string            `json:"previous_response_id,omitempty" description:"The previous response of the conversation. Its question and answer precede the input."`
	Conversation       any               `json:"conversation,omitempty" description:"Session of the question: its id, or an object with the id. It is created if it does not exist."`
	Store              *bool             `json:"store,omitempty" default:"true" description:"If false, the response is deleted after it was read."`
	NoCache            bool              `json:"no_cache,omitempty" description:"Do not use the cache."`
	Metadata           map[string]string `json:"metadata,omitempty" description:"At most 16 pairs. Repeated in the response."`
	User               string            `json:"user,omitempty" description:"Repeated in the response."`
	Reasoning          *Reasoning        `json:"reasoning,omitempty" description:"Its effort is used if there is no effort."`
	Text               *TextFormat       `json:"text,omitempty" description:"Repeated in the response. json_object and json_schema are treated as text."`
	Truncation         string            `json:"truncation,omitempty" enum:"auto,disabled" description:"Repeated in the response. No effect."`
	ServiceTier        string            `json:"service_tier,omitempty" enum:"auto,default,flex" description:"Repeated in the response. No effect."`
	ParallelToolCalls  *bool             `json:"parallel_tool_calls,omitempty" description:"Repeated in the response. No effect."`
}

// Message is a message of the conversation.
type Message struct {
	Role    string `json:"role" enum:"user,assistant,system,developer"`
	Content any    `json:"content" description:"Text, or a list of parts: input_text and output_text with text, input_file with file_id."`
}

// StreamOptions selects the form of a stream.
type StreamOptions struct {
	Mode               string  `json:"mode,omitempty" enum:"snapshot,delta" default:"snapshot" description:"In the mode delta, text is sent as deltas, and snapshots only when items begin and end."`
	SnapshotsPerSecond float64 `json:"snapshots_per_second,omitempty" minimum:"0.1" maximum:"100"`
}

// accepted has all fields that a request may have: those of [Request], and those of the OpenAI Responses API that are
// ignored. The objects in messages and tools may have more fields, because clients send back objects of earlier responses.
type accepted struct {
	Request
	Messages any `json:"messages"`
	Tools    any `json:"tools"`
	Text     struct {
		Format    any `json:"format"`
		Verbosity any `json:"verbosity"`
	} `json:"text"`
	Reasoning struct {
		Reasoning
		GenerateSummary any `json:"generate_summary"`
	} `json:"reasoning"`
	StreamOptions struct {
		StreamOptions
		IncludeObfuscation any `json:"include_obfuscation"`
	} `json:"stream_options"`

	Background           any `json:"background"`
	ContextManagement    any `json:"context_management"`
	Include              any `json:"include"`
	MaxToolCalls         any `json:"max_tool_calls"`
	Prompt               any `json:"prompt"`
	PromptCacheKey       any `json:"prompt_cache_key"`
	PromptCacheRetention any `json:"prompt_cache_retention"`
	SafetyIdentifier     any `json:"safety_identifier"`
	TopLogprobs          any `json:"top_logprobs"`
}

// Decode decodes and validates the body of a request; see [Request]. Errors have the code [fault.InvalidRequest] and name
// the path of the field. If the history is too long, its oldest messages are dropped.
func Decode(body []byte, maxQuery int) (wire.Request, error) {
	root, err := parse(body)
	if err != nil {
		return wire.Request{}, err
	}
	if err := wire.CheckFields(body, accepted{}); err != nil {
		return wire.Request{}, err
	}
	d := decoder{q: wire.Request{}, echo: Echo{ParallelToolCalls: true, ToolChoice: json.RawMessage(`"auto"`), Tools: []Tool{}}}
	for _, step := range []func(value) error{d.input, d.streaming, d.tools, d.effort, d.model, d.storage, d.echoed} {
		if err := step(root); err != nil {
			return wire.Request{}, err
		}
	}
	if len(d.q.Query) > maxQuery {
		return wire.Request{}, fault.Invalid(d.asked, "%d bytes; the limit is %d", len(d.q.Query), maxQuery)
	}
	d.q.Collection = d.scope().String()
	if d.q.Request, err = json.Marshal(d.echo); err != nil || len(d.q.Request) > maxEcho {
		return wire.Request{}, fault.Invalid("body", "its fields besides the messages take over %d bytes", maxEcho)
	}
	return d.q, nil
}

type decoder struct {
	q      wire.Request
	echo   Echo
	asked  string // path of the question, for errors
	stores []string
	files  []corpus.DocumentID

	instructions []string
}

// scope returns what to search: the files of the message that holds the question, or else the vector stores.
func (d *decoder) scope() corpus.Scope {
	if len(d.files) > 0 {
		return corpus.Scope{Documents: d.files}
	}
	return corpus.Scope{Collections: d.stores}
}

// streaming reads whether the reply is a stream, and in which mode.
func (d *decoder) streaming(root value) error {
	stream, err := root.get("stream").boolean()
	if err != nil {
		return err
	}
	d.q.NoStream = root.get("input").none()
	if stream != nil {
		d.q.NoStream = !*stream
	}
	options := root.get("stream_options")
	if err := options.object(); err != nil {
		return err
	}
	mode, err := options.get("mode").one(ModeSnapshot, ModeDelta)
	if err != nil {
		return err
	}
	per := 0.0
	for _, v := range []value{root.get("snapshots_per_second"), options.get("snapshots_per_second")} {
		n, err := v.number(MinPerSecond, MaxPerSecond)
		if err != nil {
			return err
		}
		if n != nil {
			per = *n
		}
	}
	if p := variant(mode, per); p != (Protocol{}) {
		d.q.Variant = p
	}
	return nil
}

// effort reads the effort and derives the mode of the run from it.
func (d *decoder) effort(root value) error {
	effort, err := root.get("effort").one(EffortLow, EffortMedium, EffortHigh, EffortDev)
	if err != nil {
		return err
	}
	thinking := root.get("reasoning")
	if err := thinking.object(); err != nil {
		return err
	}
	if !thinking.none() {
		d.echo.Reasoning = new(Reasoning)
		if d.echo.Reasoning.Effort, err = thinking.get("effort").one(EffortLow, EffortMedium, EffortHigh); err != nil {
			return err
		}
		if d.echo.Reasoning.Summary, err = thinking.get("summary").one("auto", "concise", "detailed"); err != nil {
			return err
		}
		if effort == "" {
			effort = d.echo.Reasoning.Effort
		}
	}
	d.echo.Effort = effort
	switch effort {
	case EffortLow, EffortDev:
		d.q.Mode = event.Direct
	case EffortHigh:
		d.q.Mode = event.Agentic
	default:
		d.q.Mode, d.q.Iterations = event.Agentic, mediumRounds
	}
	return nil
}

// model reads the settings of the model and the instructions.
func (d *decoder) model(root value) (err error) {
	if d.q.Model, err = root.get("model").name(MaxNameLength); err != nil {
		return err
	}
	if d.q.Temperature, err = root.get("temperature").number(0, 2); err != nil {
		return err
	}
	d.echo.Temperature = d.q.Temperature
	if d.echo.TopP, err = root.get("top_p").number(0, 1); err != nil {
		return err
	}
	for _, name := range []string{"max_tokens", "max_output_tokens"} {
		n, err := root.get(name).integer(1, maxTokens)
		if err != nil {
			return err
		}
		if n > 0 {
			d.q.MaxTokens, d.echo.MaxOutputTokens = n, n
		}
	}
	said, err := root.get("instructions").text()
	if err != nil {
		return err
	}
	d.instructions = slices.Insert(d.instructions, 0, said)
	d.instructions = slices.DeleteFunc(d.instructions, func(s string) bool { return strings.TrimSpace(s) == "" })
	d.q.Instructions = strings.Join(d.instructions, "\n\n")
	if len(d.q.Instructions) > MaxInstructions {
		return fault.Invalid("instructions", "%d bytes with the messages of the roles system and developer; the limit is %d",
			len(d.q.Instructions), MaxInstructions)
	}
	return nil
}

// storage reads the previous response, and whether to store the response and use the cache.
func (d *decoder) storage(root value) error {
	previous, err := root.get("previous_response_id").name(MaxNameLength)
	if err != nil {
		return err
	}
	if d.q.Previous = event.RunID(previous); previous != "" && !d.q.Previous.Valid() {
		return fault.Invalid("previous_response_id", "not the id of a response")
	}
	d.echo.PreviousResponseID = previous
	if err := d.conversation(root.get("conversation")); err != nil {
		return err
	}
	if d.echo.Store, err = root.get("store").boolean(); err != nil {
		return err
	}
	d.q.Ephemeral = d.echo.Store != nil && !*d.echo.Store
	switch {
	case d.q.Session != "" && d.q.Previous != "":
		return fault.Invalid("conversation", "not with previous_response_id")
	case d.q.Session != "" && d.q.Ephemeral:
		return fault.Invalid("store", "must not be false with conversation")
	}
	fresh, err := root.get("no_cache").boolean()
	d.q.NoCache = fresh != nil && *fresh || d.echo.Effort == EffortDev // cached answers have no execution trace
	return err
}

// conversation reads the session: its id, or an object with the id.
func (d *decoder) conversation(v value) (err error) {
	if _, plain := v.v.(string); !plain {
		if err := v.object(); err != nil || v.none() {
			return err
		}
		if err := v.only("id"); err != nil {
			return err
		}
		v = v.get("id")
	}
	if d.q.Session, err = v.name(event.MaxSession); err == nil && strings.TrimSpace(d.q.Session) == "" {
		err = v.invalid("want the id of a session")
	}
	return err
}

// echoed reads the fields that have no effect other than being repeated in the response.
func (d *decoder) echoed(root value) (err error) {
	if d.echo.User, err = root.get("user").name(MaxNameLength); err != nil {
		return err
	}
	if d.echo.Truncation, err = root.get("truncation").one("auto", "disabled"); err != nil {
		return err
	}
	if d.echo.ServiceTier, err = root.get("service_tier").one("auto", "default", "flex"); err != nil {
		return err
	}
	parallel, err := root.get("parallel_tool_calls").boolean()
	if err != nil {
		return err
	}
	d.echo.ParallelToolCalls = parallel == nil || *parallel
	if err := d.format(root.get("text")); err != nil {
		return err
	}
	return d.metadata(root.get("metadata"))
}

func (d *decoder) format(text value) error {
	if err := text.object(); err != nil || text.none() {
		return err
	}
	format := text.get("format")
	if err := format.object(); err != nil || format.none() {
		return err
	}
	if _, err := format.get("type").one("text", "json_object", "json_schema"); err != nil {
		return err
	}
	d.echo.Text = new(TextFormat)
	d.echo.Text.Format.Type = "text"
	return nil
}

func (d *decoder) metadata(v value) error {
	if err := v.object(); err != nil || v.none() {
		return err
	}
	pairs := v.v.(map[string]any)
	if len(pairs) > MaxMetadata {
		return v.invalid("%d pairs; the limit is %d", len(pairs), MaxMetadata)
	}
	d.echo.Metadata = map[string]string{}
	for key := range pairs {
		if _, err := (value{v.path, key}).name(64); err != nil {
			return v.invalid("a key of over 64 bytes, or with a control character")
		}
		s, err := v.get(key).name(512)
		if err != nil {
			return err
		}
		d.echo.Metadata[key] = s
	}
	return nil
}
