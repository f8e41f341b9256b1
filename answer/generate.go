package answer

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/answer/attribute"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// generate streams the answer. The first citation of a passage gives it the next number.
func (j *job) generate(ctx context.Context) error {
	if j.listing != nil {
		return j.enumerate(ctx)
	}
	j.requote()
	task := model.Task{Question: cmp.Or(j.focus, j.q.Query), Summary: j.whole, IDF: map[string]float64{}, Instructions: j.q.Instructions, Temperature: j.q.Temperature,
		MaxTokens: j.q.MaxTokens}
	for _, t := range j.q.History {
		task.History = append(task.History, model.Message{Role: model.Role(t.Role), Text: t.Text})
	}
	if j.analysis.Several && !j.whole && j.focus == "" {
		task.SubQuestions = j.analysis.Parts
	}
	for i, c := range j.context {
		task.Passages = append(task.Passages, model.Passage{N: i + 1, Chunk: c.Chunk, Score: c.grade})
	}
	for word, df := range j.stats.DF {
		task.IDF[lang.Stem(word)] = lang.IDF(j.stats.Chunks, df)
	}
	tokens := 0
	if j.past.Generation != nil {
		task.Passages = j.reread(task.Passages)
	} else {
		task, tokens = j.Generator.Fit(ctx, task)
	}
	for _, p := range task.Passages {
		j.read = append(j.read, p.N-1)
	}
	j.ready(ctx, event.GenerationStarted{Tokens: tokens, Model: j.Generator.Name()})
	shown := j.shown()
	if model.SupportsParameters(j.Generator) {
		task.Prefix, shown = marked(shown), nil
	}
	return j.say(ctx, j.Generator.Generate(ctx, task), shown)
}

// ready prepares the event that starts the generation.
func (j *job) ready(ctx context.Context, start event.GenerationStarted) {
	chunks := make([]corpus.Chunk, len(j.read))
	for i, place := range j.read {
		chunks[i] = j.context[place].Chunk
		start.Passages = append(start.Passages, chunks[i].ID)
	}
	start.Chunks = len(chunks)
	j.describe(ctx, chunks)
	j.start = start
}

// begin emits that event once. It is called with the first output of a model, since another model may take over before that and the
// event names the model that writes.
func (j *job) begin(ctx context.Context) error {
	if j.past.Generation != nil || j.rec.State().Generation != nil {
		return nil
	}
	j.start.Model = cmp.Or(j.notes.writer(), j.start.Model)
	return j.rec.Emit(ctx, j.start)
}

// say streams the output of a generator. Text that was emitted before a restart is not emitted again: a generator that starts over
// repeats it. If its output differs, the answer ends at that point.
func (j *job) say(ctx context.Context, deltas iter.Seq2[model.Delta, error], shown []model.Delta) error {
	told := j.told()
	j.claims = told.claims()
	switch g := j.past.Generation; {
	case j.past.Stop != "":
		return nil
	case g == nil || len(j.read) == g.Chunks:
	case len(j.past.Text) == 0:
		return errChanged
	default: // what it was made from is gone in part
		return j.rec.Emit(ctx, event.GenerationFinished{Reason: string(model.StopIncomplete)})
	}
	stop := model.StopEnd
	for d, err := range deltas {
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return modelFault(err)
		}
		if ctx.Err() != nil {
			return ctx.Err() // whatever the model has ready
		}
		if err := j.begin(ctx); err != nil {
			return err
		}
		var b event.Body
		switch {
		case d.Stop != "":
			stop = d.Stop
			continue
		case d.Reasoning != "":
			if err := j.rec.Emit(ctx, event.Reasoned{Text: printable(d.Reasoning)}); err != nil {
				return err
			}
			continue
		case d.Cite != 0 && !slices.Contains(j.read, d.Cite-1):
			continue // a number that no passage has is never shown
		}
		d.Text = printable(d.Text)
		var ok bool
		if shown, d, ok = skip(shown, d); !ok {
			stop = model.StopIncomplete
			break
		}
		switch {
		case d.Cite != 0:
			chunk := j.context[d.Cite-1].Chunk
			told.cite(chunk)
			said := told.since()
			if j.listing != nil {
				said = j.listing.wish.About
			}
			b = j.citation(d.Cite-1, said)
		case d.Text != "":
			told.text.WriteString(d.Text)
			b = event.Token{Text: d.Text}
		default:
			continue
		}
		if err := j.rec.Emit(ctx, b); err != nil {
			return err
		}
	}
	if len(shown) > 0 {
		stop = model.StopIncomplete // it gives less than was shown
	}
	j.claims = told.claims()
	if err := j.begin(ctx); err != nil {
		return err
	}
	return j.rec.Emit(ctx, event.GenerationFinished{Reason: string(stop)})
}

// modelFault returns the error of a model after which no other continued, with the text that may leave the process:
// [model.Error.Public].
func modelFault(err error) error {
	reason := "the model failed"
	if e, ok := errors.AsType[*model.Error](err); ok {
		reason = e.Public()
	}
	return fault.Wrap(fault.Model, err, "%s", reason)
}

// printable removes control characters other than tab and newline, and invalid UTF-8.
func printable(s string) string {
	clean := func(r rune) bool { return r == '\n' || r == '\t' || !unicode.IsControl(r) }
	if strings.ToValidUTF8(s, "") == s && strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if clean(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// number returns the number of the source at an index of the context.
func (j *job) number(place int) int {
	if i := slices.Index(j.order, place); i >= 0 {
		return i + 1
	}
	j.order = append(j.order, place)
	return len(j.order)
}

// verify checks each claim against the passages that it cites.
func (j *job) verify(ctx context.Context) error {
	if j.past.Check != nil {
		return nil
	}
	if j.listing != nil {
		return j.attest(ctx)
	}
	check, err := j.Verifier.Verify(ctx, j.q.Query, j.claims)
	if err != nil {
		return err
	}
	v := event.Verified{Claims: []event.Claim{}, Confidence: verify.Confidence(check.Verdicts), By: check.By,
		Flagged: verify.Flagged(check.Verdicts)}
	for _, d := range check.Verdicts {
		v.Claims = append(v.Claims, event.Claim{Text: d.Claim, Verdict: d.Verdict, Chunks: d.Chunks})
	}
	return j.rec.Emit(ctx, v)
}

// attribute lists the passages that the generator read, with the share of the answer that each of them supports.
func (j *job) attribute(ctx context.Context) error {
	cited := len(j.order)
	for _, place := range j.read {
		j.number(place)
	}
	chunks := make([]corpus.Chunk, len(j.order))
	for i, place := range j.order {
		chunks[i] = j.context[place].Chunk
	}
	weights := j.carried(chunks)
	a := event.Attributed{Sources: []event.Source{}, By: rules}
	for i, place := range j.order {
		s := j.sourceOf(i+1, j.context[place])
		s.Weight, s.Cited = weights[i], i < cited
		a.Sources = append(a.Sources, s)
	}
	if err := j.rec.Emit(ctx, a); err != nil {
		return err
	}
	j.finished = true
	return nil
}

// carried returns the share of each source: of the claims that it supports or, without a verification, of the text with citations.
func (j *job) carried(chunks []corpus.Chunk) []float64 {
	if check := j.rec.State().Check; check != nil {
		var claims []attribute.Claim
		for _, c := range check.Claims {
			claims = append(claims, attribute.Claim{Text: c.Text, Chunks: c.Chunks})
		}
		return attribute.Verified(claims, chunks, j.stats)
	}
	var answer strings.Builder
	for _, c := range j.claims {
		if c.Cited != nil { // what cites nothing says that nothing was found
			answer.WriteString(c.Text + "\n")
		}
	}
	return attribute.Attribute(answer.String(), chunks, j.stats)
}

// keep lists the sources found so far, for a run whose deadline has passed.
func (j *job) keep(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	s := j.rec.State()
	if j.finished || s.Cache == nil {
		return nil
	}
	if s.Generation != nil && s.Stop == "" {
		if err := j.rec.Emit(ctx, event.GenerationFinished{Reason: "timeout"}); err != nil {
			return err
		}
	}
	if len(j.context) == 0 {
		slices.SortStableFunc(j.pool, func(a, b candidate) int { return cmp.Compare(b.grade, a.grade) })
		j.context = j.pool[:min(j.q.TopK, len(j.pool))]
	}
	j.requote()
	if j.read == nil { // nothing was read yet
		for i := range j.context {
			j.read = append(j.read, i)
		}
	}
	return j.attribute(ctx)
}
