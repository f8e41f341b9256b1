package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// path returns a path of the run.
func path(pattern, run string) string {
	return strings.ReplaceAll(pattern, "{run}", url.PathEscape(run))
}

// ask asks a question and returns the stream and, if the header has it, the run. The caller closes the body.
func (t *tester) ask(ctx context.Context, question string) (body io.ReadCloser, run string, err error) {
	at, err := t.place(ctx)
	if err != nil {
		return nil, "", err
	}
	data, err := t.question(question)
	if err != nil {
		return nil, "", err
	}
	t.asked = cmp.Or(t.asked, at)
	res, err := t.open(ctx, http.MethodPost, at, data, "")
	if err != nil {
		return nil, "", err
	}
	run = res.Header.Get("Sluice-Run-Id")
	if !t.ReadOnly {
		return res.Body, run, nil
	}
	defer func() { _ = res.Body.Close() }()
	if run == "" {
		return nil, "", errSkip("the run has no id by which it could be read in this protocol")
	}
	again, err := t.open(ctx, http.MethodGet, path(t.Read, run), nil, "") //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, "", err
	}
	return again.Body, run, nil
}

// question returns the body of a question.
func (t *tester) question(question string) ([]byte, error) {
	if t.MCP {
		return t.mcp.question(t.o, question, true), nil
	}
	return json.Marshal(t.Body(question))
}

// runOf returns the id of the run with a first frame.
func (t *tester) runOf(header string, frames []Frame) string {
	if t.MCP {
		return t.mcp.stream(frames)
	}
	if header == "" && t.Run != nil && len(frames) > 0 {
		return t.Run(frames[0])
	}
	return header
}

// reopen opens a stream of a run after a position. The caller closes the body.
func (t *tester) reopen(ctx context.Context, run, after string) (io.ReadCloser, error) {
	if run == "" {
		return nil, errSkip("the stream has no id of its run")
	}
	method, at, body := http.MethodGet, path(t.Read, run), []byte(nil)
	if t.Calls != nil {
		method, at = http.MethodPost, t.Ask
		body, _ = json.Marshal(t.Calls.Read(run)) // strings
	}
	res, err := t.open(ctx, method, at, body, after)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// again reads a run after a position.
func (t *tester) again(ctx context.Context, run, after string) ([]Frame, error) {
	if t.MCP {
		return t.againMCP(ctx, run, after)
	}
	body, err := t.reopen(ctx, run, after)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return t.read(body, 0, 0)
}

// valid checks the grammar of a whole stream.
func (t *tester) valid(frames []Frame) error {
	g := t.Grammar()
	for _, f := range frames {
		if err := g.Next(f); err != nil {
			return err
		}
	}
	return g.End()
}

// stream asks the question and reads the stream.
func (t *tester) stream(ctx context.Context) error {
	body, run, err := t.ask(ctx, t.o.Question)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	t.live, err = t.read(body, 0, 0)
	t.run = t.runOf(run, t.live)
	if err == nil && len(t.live) == 0 {
		err = errors.New("want frames; got an empty stream")
	}
	return err
}

var errNoStream = errSkip("there is no stream")

// ids checks that each frame has an id of its own, by which it can be resumed.
func (t *tester) ids(context.Context) error {
	if len(t.live) == 0 {
		return errNoStream
	}
	if t.Bytes {
		return errSkip("a stream of bytes has no ids: it is resumed by the number of its bytes")
	}
	if t.FreeIDs && !slices.ContainsFunc(t.live, func(f Frame) bool { return f.ID != "" }) {
		return errSkip("frames have no ids, and the protocol does not ask for them")
	}
	seen := map[string]int{}
	for _, f := range t.lasting(t.live) {
		if f.ID == "" {
			return fmt.Errorf("want an id; got %s", f)
		}
		if t.mcp != nil && t.mcp.used[f.ID] {
			return fmt.Errorf("want an id that no other stream of the session has; got %s", f)
		}
		if n := seen[f.ID]; n > 0 {
			return fmt.Errorf("want an id other than that of frame %d; got %s", n, f)
		}
		seen[f.ID] = f.N
	}
	return nil
}

// grammar checks the order of the frames.
func (t *tester) grammar(context.Context) error {
	if len(t.live) == 0 {
		return errNoStream
	}
	return t.valid(t.live)
}

// schemas compares each frame with the schema.
func (t *tester) schemas(ctx context.Context) error {
	switch {
	case len(t.live) == 0:
		return errNoStream
	case t.frame == nil:
		return errSkip("there is no schema")
	}
	for _, f := range t.live {
		if f.JSON == nil || t.MCP && f.field("method") != "" && f.field("method") != mcpProgress { // servers may send other notifications
			continue
		}
		if err := t.frame.Validate(f.JSON); err != nil {
			return fmt.Errorf("%s: %.600s", f, err.Error())
		}
	}
	if t.MCP {
		return t.structured(ctx)
	}
	return nil
}

// keep reads the finished run, once.
func (t *tester) keep(ctx context.Context) (err error) {
	if len(t.live) == 0 {
		return errNoStream
	}
	if t.kept == nil {
		t.kept, err = t.again(ctx, t.run, "")
		t.kept = t.lasting(t.kept)
	}
	return err
}

// replay compares the finished run with its live stream.
func (t *tester) replay(ctx context.Context) error {
	if err := t.keep(ctx); err != nil {
		return err
	}
	return t.same(t.live, t.kept)
}

// resume reads the finished run after each of its frames.
func (t *tester) resume(ctx context.Context) error {
	if err := t.keep(ctx); err != nil {
		return err
	}
	if t.Bytes {
		return t.resumeBytes(ctx)
	}
	step := max(1, (len(t.kept)+t.o.Resumes-1)/t.o.Resumes)
	for i := 0; i < len(t.kept)-1; i += step {
		f := t.kept[i]
		if f.ID == "" {
			return errSkip("frames have no ids")
		}
		rest, err := t.again(ctx, t.run, f.ID)
		if err == nil {
			err = t.same(t.kept[i+1:], rest)
		}
		if err == nil && len(rest) > 0 && slices.ContainsFunc(t.kept[:i+1], func(g Frame) bool { return g.ID == rest[0].ID }) {
			err = fmt.Errorf("want a frame after it; got %s", rest[0])
		}
		if err != nil {
			return fmt.Errorf("resumed after frame %d (id %.40q): %w", f.N, f.ID, err)
		}
	}
	return nil
}

// cut breaks the connection of a live stream and goes on.
func (t *tester) cut(ctx context.Context) error {
	if len(t.live) < 3 {
		return errSkip("the stream is too short")
	}
	body, run, err := t.ask(ctx, t.o.Question)
	if err != nil {
		return err
	}
	head, err := t.read(body, min(len(t.live)/2, 12), 0)
	_ = body.Close()
	if err != nil {
		return err
	}
	run = t.runOf(run, head)
	if len(head) == 0 || head[len(head)-1].ID == "" {
		return errSkip("frames have no ids")
	}
	rest, err := t.again(ctx, run, head[len(head)-1].ID)
	if err != nil {
		return err
	}
	whole := slices.Concat(head, rest)
	for i := range whole {
		whole[i].N = i + 1
	}
	if err := t.valid(whole); err != nil {
		return fmt.Errorf("cut after frame %d: %w", len(head), err)
	}
	kept, err := t.again(ctx, run, "")
	if err != nil {
		return err
	}
	if err := t.same(kept, whole); err != nil {
		return fmt.Errorf("cut after frame %d: %w", len(head), err)
	}
	return nil
}

// slow reads a live stream in small pieces with pauses.
func (t *tester) slow(ctx context.Context) error {
	if len(t.live) == 0 {
		return errNoStream
	}
	body, run, err := t.ask(ctx, t.o.Question)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	got, err := t.read(body, 0, time.Millisecond)
	if err != nil {
		return err
	}
	if err := t.valid(got); err != nil {
		return err
	}
	kept, err := t.again(ctx, t.runOf(run, got), "")
	if err != nil {
		return err
	}
	return t.same(kept, got)
}

// cancel cancels a run after its first frame, while a second reader streams it. Both streams must then end, as the protocol says.
func (t *tester) cancel(ctx context.Context) error {
	if t.MCP {
		return t.cancelMCP(ctx)
	}
	body, run, err := t.ask(ctx, cmp.Or(t.o.CancelQuestion, t.o.Question))
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	b := &bounded{r: body}
	head, err := t.read(b, 1, 0)
	if err != nil {
		return err
	}
	if run = t.runOf(run, head); run == "" {
		return errSkip("the stream has no id of its run")
	}
	second, err := t.reopen(ctx, run, "")
	if err != nil {
		return err
	}
	defer func() { _ = second.Close() }()
	if err := t.stop(ctx, run); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, b); err != nil { // what the first reader has buffered is not needed
		return fmt.Errorf("after cancel: %w", err)
	}
	frames, err := t.read(second, 0, 0)
	if err != nil {
		return fmt.Errorf("after cancel: second reader: %w", err)
	}
	if err := t.valid(frames); err != nil {
		return err
	}
	kept, err := t.again(ctx, run, "")
	if err != nil {
		return err
	}
	return t.same(kept, frames)
}

// stop cancels a run.
func (t *tester) stop(ctx context.Context, run string) error {
	at, body := path(t.Cancel, run), []byte(nil)
	if t.Calls != nil {
		at = t.Ask
		body, _ = json.Marshal(t.Calls.Cancel(run)) // strings
	}
	res, err := t.send(ctx, http.MethodPost, at, body, "")
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusConflict:
		return errSkip("the run had ended before it was cancelled")
	case res.StatusCode/100 != 2:
		return fmt.Errorf("cancel: want status 2xx; got %d", res.StatusCode)
	case t.Calls == nil:
		return nil
	}
	reply, err := jsonschema.UnmarshalJSON(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return fmt.Errorf("cancel: want a JSON object: %w", err)
	}
	return t.Calls.Canceled(reply)
}

// errors sends requests that must be refused.
func (t *tester) errors(ctx context.Context) error {
	switch {
	case t.MCP:
		return t.refusalsMCP(ctx)
	case t.Calls != nil:
		return t.refusals(ctx)
	}
	ask, err := t.place(ctx)
	if err != nil {
		return err
	}
	refused := []refusedRequest{
		{"bad JSON", http.MethodPost, ask, `{"`, []int{http.StatusBadRequest}},
		{"missing fields", http.MethodPost, ask, `{}`, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}},
		{"wrong method", http.MethodPut, ask, `{}`, []int{http.StatusMethodNotAllowed, http.StatusNotFound}},
		{"unknown run", http.MethodGet, path(t.Read, "run_unknown"), "", []int{http.StatusNotFound}},
		{"cancel of an unknown run", http.MethodPost, path(t.Cancel, "run_unknown"), "", []int{http.StatusNotFound}},
	}
	if t.Session != nil {
		body, _ := json.Marshal(t.Body(t.o.Question)) // it could be encoded before
		refused = append(refused, refusedRequest{"unknown session", http.MethodPost, t.at("unknown"), string(body), []int{http.StatusNotFound}})
	}
	for _, c := range refused {
		if err := t.refused(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// refusedRequest is a request that must be refused.
type refusedRequest struct {
	name, method, path, body string
	want                     []int // statuses
}

// refused sends a request that must be refused.
func (t *tester) refused(ctx context.Context, c refusedRequest) error {
	var sent []byte
	if c.body != "" {
		sent = []byte(c.body)
	}
	res, err := t.send(ctx, c.method, c.path, sent, "")
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	_ = res.Body.Close()
	if err != nil {
		return err
	}
	excerpt := fmt.Sprintf("%s: %s %s", c.name, c.method, c.path)
	if !slices.Contains(c.want, res.StatusCode) {
		return fmt.Errorf("%s: want a status of %v; got %d: %.200s", excerpt, c.want, res.StatusCode, text)
	}
	if kind := res.Header.Get("Content-Type"); t.TextErrors && strings.HasPrefix(kind, "text/plain") && len(text) > 0 {
		return nil
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("%s: want an error as a JSON object; got %.200q", excerpt, text)
	}
	if t.refuse == nil || t.ReadOnly || c.method != http.MethodPost || c.path == path(t.Cancel, "run_unknown") {
		return nil
	}
	if err := t.refuse.Validate(v); err != nil {
		return fmt.Errorf("%s: %.200s: %.400s", excerpt, text, err.Error())
	}
	return nil
}

// same compares two streams, or ends of them: byte by byte, and if they differ, with the texts joined that may be cut into frames otherwise. Of snapshots, the
// last ones are compared.
func (t *tester) same(want, got []Frame) error {
	want, got = t.lasting(want), t.lasting(got)
	equal := slices.EqualFunc(want, got, func(a, b Frame) bool { return a.ID == b.ID && a.Name == b.Name && a.Data == b.Data })
	if equal {
		return nil
	}
	if t.Bytes {
		return sameBytes(bytesOf(want), bytesOf(got))
	}
	if len(want) == 0 || len(got) == 0 {
		return fmt.Errorf("want %d frames; got %d", len(want), len(got))
	}
	if t.Snapshots > 0 {
		for i := 1; i <= min(t.Snapshots, len(want)); i++ {
			if i > len(got) {
				return fmt.Errorf("want at least %d frames; got %d", i, len(got))
			}
			if w, g := want[len(want)-i], got[len(got)-i]; w.Data != g.Data {
				return fmt.Errorf("want as the last but %d %s; got %s", i-1, w, g)
			}
		}
		return nil
	}
	w, g := t.joined(want), t.joined(got)
	for i := range max(len(w), len(g)) {
		switch {
		case i >= len(g):
			return fmt.Errorf("want %.300s; got the end of the stream", w[i])
		case i >= len(w):
			return fmt.Errorf("want the end of the stream; got %.300s", g[i])
		case w[i] != g[i]:
			at := 0
			for at < min(len(w[i]), len(g[i])) && w[i][at] == g[i][at] {
				at++
			}
			at = max(0, at-60)
			return fmt.Errorf("part %d from byte %d: want …%.200s; got …%.200s", i+1, at, w[i][at:], g[i][at:])
		}
	}
	return nil
}

// lasting returns the frames that are part of the run.
func (t *tester) lasting(frames []Frame) []Frame {
	if t.Heartbeat == "" {
		return frames
	}
	return slices.DeleteFunc(slices.Clone(frames), func(f Frame) bool { return f.field("type") == t.Heartbeat })
}

// joined returns the frames without volatile members; the texts of a block of texts are joined by what surrounds them.
func (t *tester) joined(frames []Frame) (out []string) {
	texts := map[string]*strings.Builder{}
	var block []string
	flush := func() {
		for _, key := range block {
			out = append(out, key+" "+texts[key].String())
		}
		clear(texts)
		block = nil
	}
	for _, f := range frames {
		text := ""
		if f.JSON == nil {
			flush()
			out = append(out, f.Data)
			continue
		}
		var v any
		_ = json.Unmarshal([]byte(f.Data), &v) // it was valid; a copy, because members are removed
		if object, ok := v.(map[string]any); ok {
			for _, name := range t.Volatile {
				delete(object, name)
			}
		}
		at := t.Text(f)
		if at != "" {
			text = take(v, strings.Split(at, "."))
		}
		data, _ := json.Marshal(v) // it was decoded
		key := f.Name + " " + string(data)
		if at == "" {
			flush()
			out = append(out, key)
			continue
		}
		if texts[key] == nil {
			texts[key] = new(strings.Builder)
			block = append(block, key)
		}
		texts[key].WriteString(text)
	}
	flush()
	return out
}

// take removes the string at a path and returns it.
func take(v any, path []string) string {
	var next any
	switch at := v.(type) {
	case map[string]any:
		next = at[path[0]]
		if len(path) == 1 {
			delete(at, path[0])
		}
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(at) {
			next = at[i]
		}
	}
	if len(path) == 1 {
		text, _ := next.(string)
		return text
	}
	return take(next, path[1:])
}
