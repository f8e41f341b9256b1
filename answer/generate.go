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
	"github.com/sluice-rag/sluice/answer/confidence"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// generate streams the answer. The first citation of a passage gives it the next number.
func (j *job) generate(ctx context.Context) error {
	if j.listing != nil {
		return j.generateList(ctx)
	}
	j.restoreQuotes()
	task := model.Task{Question: cmp.Or(j.focus, j.q.Query), Summary: j.summary, IDF: map[string]float64{}, Instructions: j.q.Instructions, Temperature: j.q.Temperature,
		MaxTokens: j.q.MaxTokens, Earlier: j.q.Summary}
	if j.standalone != "" && j.focus == "" {
		task.Asked = j.rec.State().Query
	}
	for _, t := range j.q.History {
		task.History = append(task.History, model.Message{Role: model.Role(t.Role), Text: t.Text})
	}
	if j.analysis.Several && !j.summary && j.focus == "" {
		task.SubQuestions = j.analysis.Parts
	}
	hits := make([]index.Hit, len(j.context))
	for i, c := range j.context {
		hits[i].Chunk = c.Chunk
	}
	files := j.filesOf(ctx, hits)
	for i, c := range j.context {
		chunk := c.Chunk
		if words := nameWords(files[chunk.Document].name, chunk.Title); words != "" {
			chunk.Title = strings.TrimSpace(chunk.Title + " (" + words + ")")
		}
		task.Passages = append(task.Passages, model.Passage{N: i + 1, Chunk: chunk, Score: c.grade, Cut: c.cut})
	}
	for word, df := range j.stats.DF {
		task.IDF[lang.Stem(word)] = lang.IDF(j.stats.Chunks, df)
	}
	tokens := 0
	if j.resumed.Generation != nil {
		task.Passages = j.resumedPassages(task.Passages)
	} else {
		task, tokens = j.Generator.Fit(ctx, task)
	}
	for _, p := range task.Passages {
		j.read = append(j.read, p.N-1)
	}
	j.setGenerationStart(ctx, event.GenerationStarted{Tokens: tokens, Model: j.Generator.Name()})
	shown := j.emittedDeltas()
	if model.SupportsParameters(j.Generator) {
		task.Prefix, shown = withMarkers(shown), nil
	}
	deltas := j.Generator.Generate(ctx, task)
	if task.Prefix == "" {
		deltas = j.orAbstain(ctx, deltas)
	}
	return j.stream(ctx, deltas, shown)
}

// setGenerationStart prepares the event that starts the generation.
func (j *job) setGenerationStart(ctx context.Context, start event.GenerationStarted) {
	chunks := make([]corpus.Chunk, len(j.read))
	for i, place := range j.read {
		chunks[i] = j.context[place].Chunk
		start.Passages = append(start.Passages, chunks[i].ID)
	}
	start.Chunks = len(chunks)
	for _, place := range j.read {
		for _, d := range j.context[place].also {
			chunks = append(chunks, corpus.Chunk{Document: d})
		}
	}
	j.describe(ctx, chunks)
	j.start = start
}

// emitGenerationStart emits that event once. It is called with the first output of a model, since another model may take over before that and the
// event names the model that writes.
func (j *job) emitGenerationStart(ctx context.Context) error {
	if j.started || j.resumed.Generation != nil {
		return nil
	}
	j.start.Model = cmp.Or(j.modelCalls.writer(), j.start.Model)
	err := j.rec.Emit(ctx, j.start)
	j.started = err == nil
	return err
}

// stream emits the output of a generator. Text that was emitted before a restart is not emitted again: a generator that starts over
// repeats it. If its output differs, the answer ends at that point.
func (j *job) stream(ctx context.Context, deltas iter.Seq2[model.Delta, error], shown []model.Delta) error {
	text := j.emittedText()
	j.claims = text.claims()
	switch g := j.resumed.Generation; {
	case j.resumed.Stop != "":
		j.setClaims(text, j.resumed.Stop)
		return nil
	case g == nil || len(j.read) == g.Chunks:
	case len(j.resumed.Text) == 0:
		return errChanged
	default: // some of the passages no longer exist
		return j.rec.Emit(ctx, event.GenerationFinished{Reason: string(model.StopIncomplete)})
	}
	stop, answerability := model.StopEnd, 0.0
	for d, err := range deltas {
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return modelFault(err)
		}
		if ctx.Err() != nil {
			return ctx.Err() // even if the model has more output ready
		}
		if err := j.emitGenerationStart(ctx); err != nil {
			return err
		}
		var b event.Body
		switch {
		case d.Stop != "":
			stop = d.Stop
			continue
		case d.Answerability > 0:
			answerability = d.Answerability
			continue
		case d.Reasoning != "":
			if err := j.rec.Emit(ctx, event.Reasoned{Text: printable(d.Reasoning)}); err != nil {
				return err
			}
			continue
		case d.Cite != 0 && !slices.Contains(j.read, d.Cite-1):
			continue // no passage has this number
		}
		d.Text = printable(d.Text)
		var ok bool
		if shown, d, ok = skipEmitted(shown, d); !ok {
			stop = model.StopIncomplete
			break
		}
		switch {
		case d.Cite != 0:
			chunk := j.context[d.Cite-1].Chunk
			text.cite(chunk)
			supported := text.supported()
			if j.listing != nil {
				supported = j.listing.request.About
			}
			b = j.citePassage(d.Cite-1, supported)
		case d.Text != "":
			text.text.WriteString(d.Text)
			b = event.Token{Text: d.Text}
		default:
			continue
		}
		if err := j.rec.Emit(ctx, b); err != nil {
			return err
		}
	}
	if len(shown) > 0 {
		stop = model.StopIncomplete // the new output is shorter than the emitted text
	}
	j.setClaims(text, string(stop))
	if err := j.emitGenerationStart(ctx); err != nil {
		return err
	}
	return j.rec.Emit(ctx, event.GenerationFinished{Reason: string(stop), Answerability: answerability})
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

// sourceNumber returns the number of the source at an index of the context.
func (j *job) sourceNumber(place int) int {
	if i := slices.Index(j.order, place); i >= 0 {
		return i + 1
	}
	j.order = append(j.order, place)
	return len(j.order)
}

// verify checks each claim against the passages that it cites.
func (j *job) verify(ctx context.Context) error {
	if j.resumed.Check != nil {
		return nil
	}
	if j.listing != nil {
		return j.verifyList(ctx)
	}
	check, err := j.Verifier.Verify(ctx, j.q.Query, j.claims)
	if err != nil {
		return err
	}
	v := event.Verified{Claims: []event.Claim{}, Confidence: verify.ClaimSupport(check.Verdicts), By: check.By,
		Flagged: verify.Flagged(check.Verdicts)}
	for _, d := range check.Verdicts {
		v.Claims = append(v.Claims, event.Claim{Text: d.Claim, Verdict: d.Verdict, Chunks: d.Chunks})
	}
	if j.MinConfidence > 0 {
		state := j.rec.State()
		state.Check, state.Sources = &v, j.sourcesRead(j.order)
		j.confidence = confidence.Estimate(&state)
		v.Flagged = v.Flagged || j.confidence > 0 && j.confidence < j.MinConfidence
	}
	return j.rec.Emit(ctx, v)
}

// attribute lists the passages that the generator read, or those that an abstention names, with the share of the answer that each of them supports.
func (j *job) attribute(ctx context.Context) error {
	cited := len(j.order)
	j.order = j.sourcePlaces(j.order)
	chunks := make([]corpus.Chunk, len(j.order))
	for i, place := range j.order {
		chunks[i] = j.context[place].Chunk
	}
	weights := j.sourceWeights(chunks)
	a := event.Attributed{Sources: []event.Source{}, By: rules}
	for i, place := range j.order {
		s := j.sourceOf(i+1, j.context[place])
		s.Weight, s.Cited = weights[i], i < cited
		a.Sources = append(a.Sources, s)
	}
	if a.Confidence = j.confidence; a.Confidence == 0 {
		state := j.rec.State()
		state.Sources = a.Sources
		a.Confidence = confidence.Estimate(&state)
	}
	if err := j.rec.Emit(ctx, a); err != nil {
		return err
	}
	j.finished = true
	return nil
}

// sourceWeights returns the share of each source: of the claims that it supports or, without a verification, of the text with citations.
func (j *job) sourceWeights(chunks []corpus.Chunk) []float64 {
	if check := j.rec.State().Check; check != nil {
		var claims []attribute.Claim
		for _, c := range check.Claims {
			claims = append(claims, attribute.Claim{Text: c.Text, Chunks: c.Chunks})
		}
		return attribute.Verified(claims, chunks, j.stats)
	}
	var answer strings.Builder
	for _, c := range j.claims {
		if c.Cited != nil { // a claim without a citation says that nothing was found
			answer.WriteString(c.Text + "\n")
		}
	}
	return attribute.Attribute(answer.String(), chunks, j.stats)
}

// listPartialSources lists the sources found so far, for a run whose deadline has passed.
func (j *job) listPartialSources(ctx context.Context) error {
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
	j.restoreQuotes()
	if j.read == nil {
		for i := range j.context {
			j.read = append(j.read, i)
		}
	}
	return j.attribute(ctx)
}
