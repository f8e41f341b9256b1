package eventlogtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// RandomLog returns the complete log of an ended run, which [event.CheckLog] accepts. The run is answered with about n token events,
// from the cache or by searches, or it failed or was cancelled at any point. Its id is random, too. A few dozen logs contain every
// kind of event. Events equal what a decoder of [event.AppendJSON] returns: valid UTF-8, times in UTC with microseconds, compact raw
// JSON and no empty slices.
func RandomLog(rng *rand.Rand, n int) []event.Event {
	g := &generator{rng: rng, at: time.UnixMicro(1_700_000_000_000_000 + rng.Int64N(1e15)).UTC()}
	g.start()
	if g.oneIn(5) {
		g.add(event.HistorySummarized{Turns: 2 + 2*g.rng.IntN(20), Summary: g.text(20), Tokens: g.rng.IntN(2000), By: pick(g, "rules", "qwen3:8b")})
	}
	g.analyze()
	if g.oneIn(5) {
		g.cacheHit(n)
	} else {
		g.add(event.CacheChecked{})
		g.retrieve()
		g.answer(n)
	}
	g.add(event.RunFinished{})
	if g.oneIn(3) {
		g.fail()
	}
	return g.es
}

// ID returns the id of the run of a log.
func ID(es []event.Event) event.RunID { return es[0].Body.(event.RunStarted).Run }

type generator struct {
	rng       *rand.Rand
	es        []event.Event
	at        time.Time
	mode      event.Mode
	calls     event.CallID
	iteration int
	chunks    []event.Found // found so far
	cited     []corpus.ChunkID
	retrieved int // retrievals that are not graded
	reasons   bool
}

func (g *generator) oneIn(n int) bool { return g.rng.IntN(n) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.rng.IntN(len(of))] }

// score returns a number from 0 to 1, inclusive, with at most three decimals.
func (g *generator) score() float64 { return float64(g.rng.IntN(1001)) / 1000 }

func (g *generator) add(b event.Body) {
	if !g.oneIn(4) { // events may share a time
		g.at = g.at.Add(time.Duration(g.rng.IntN(40_000)) * time.Microsecond)
	}
	g.es = append(g.es, event.Event{Seq: event.Seq(len(g.es) + 1), At: g.at, Body: b})
}

// maybeWarn sometimes adds a warning and the usage of a model.
func (g *generator) maybeWarn(step string) {
	if g.oneIn(6) {
		g.add(event.ModelUsed{Step: step, Model: "qwen3:8b", Calls: 1 + g.rng.IntN(4), Input: g.rng.IntN(9000), Output: g.rng.IntN(900),
			Reasoning: g.rng.IntN(100), Cached: g.rng.IntN(100), Estimated: g.oneIn(4)})
	}
	if g.oneIn(8) {
		g.add(event.Warned{Code: pick(g, fault.Codes()...), Message: "recovered: " + g.text(4), Step: step})
	}
}

func (g *generator) start() {
	g.mode = pick(g, event.Agentic, event.Direct)
	b := event.RunStarted{
		Run:      event.RunID(fmt.Sprintf("run-%012x-%016x", g.at.UnixMicro(), g.rng.Uint64())),
		Protocol: pick(g, "forge", "knowledge", "ragevents", "turns"),
		Question: event.Question{Query: g.text(1 + g.rng.IntN(12)),
			Mode:       g.mode,
			Collection: pick(g, corpus.DefaultCollection, "handbooks", "größe"),
			TopK:       1 + g.rng.IntN(20)},
	}
	if g.oneIn(2) {
		b.Session = fmt.Sprintf("session-%d", g.rng.IntN(100))
	}
	g.add(b)
}

func (g *generator) analyze() {
	g.add(event.QueryAnalyzed{
		Complexity: pick(g, event.Simple, event.Moderate, event.Complex),
		Decomposed: g.oneIn(3), Mode: g.mode, By: pick(g, "rules", "qwen3:8b"),
	})
	g.maybeWarn("cache")
}

func (g *generator) cacheHit(n int) {
	g.add(event.CacheChecked{
		Hit: true, Similarity: 0.9 + g.score()/10, Query: g.text(6),
		CachedAt: g.at.Add(-time.Duration(g.rng.IntN(1e9)) * time.Microsecond),
	})
	for range g.rng.IntN(5) {
		g.find()
	}
	g.tokens(n)
	g.sources()
}

// retrieve adds the events between the cache and the generation.
func (g *generator) retrieve() {
	iterations := 1
	if g.mode == event.Agentic {
		iterations += g.rng.IntN(4)
	}
	for i := range iterations {
		g.iteration = i + 1
		if g.mode == event.Direct {
			g.search(event.ToolHybridSearch)
		} else {
			g.parallel()
		}
		if g.retrieved > 0 {
			g.retrieved = 0
			g.grade(i == iterations-1)
		}
		g.maybeWarn("grade")
	}
	if !g.oneIn(6) {
		g.rerank()
	}
}

var searches = []string{
	event.ToolHybridSearch, event.ToolSemanticSearch, event.ToolPropositionSearch, event.ToolHydeSearch,
	event.ToolGraphTraverse,
}

func (g *generator) search(tool string) {
	g.calls++
	g.add(event.RetrievalStarted{Call: g.calls, Tool: tool, Query: g.text(5), Iteration: g.iteration})
	g.add(g.retrieval(g.calls, tool))
}

// parallel starts several calls, which end in random order.
func (g *generator) parallel() {
	type call struct {
		id   event.CallID
		tool string
	}
	var open []call
	for range 1 + g.rng.IntN(5) {
		g.calls++
		c := call{id: g.calls, tool: pick(g, searches...)}
		if g.oneIn(4) {
			c.tool = event.ToolDecomposeQuery
			g.add(event.ToolCalled{Call: c.id, Tool: c.tool, Input: g.object(), Iteration: g.iteration})
		} else {
			g.add(event.RetrievalStarted{Call: c.id, Tool: c.tool, Query: g.text(5), Iteration: g.iteration})
		}
		open = append(open, c)
		if g.oneIn(2) {
			g.maybeWarn(c.tool)
		}
	}
	g.rng.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	for _, c := range open {
		if c.tool == event.ToolDecomposeQuery {
			g.add(event.ToolReturned{Call: c.id, Tool: c.tool, Result: g.object(), Duration: g.millis()})
			continue
		}
		g.add(g.retrieval(c.id, c.tool))
	}
}

func (g *generator) millis() event.Millis { return event.Millis(g.rng.IntN(3000)) }

func (g *generator) object() []byte {
	raw := event.AppendString([]byte(`{"query":`), g.text(4))
	raw = fmt.Appendf(raw, `,"n":%d,"parts":["a<b&c",{"deep":[null,1e3]}]}`, g.rng.IntN(9))
	return raw
}

func (g *generator) find() event.Found {
	if len(g.chunks) > 0 && g.oneIn(4) {
		return g.chunks[g.rng.IntN(len(g.chunks))]
	}
	f := event.Found{
		Chunk: corpus.ChunkID(fmt.Sprintf("c%05d", g.rng.IntN(100_000))),
		Level: pick(g, corpus.Section, corpus.Passage, corpus.Sentence), Score: g.score(),
	}
	f.Document, f.Name = corpus.DocumentID("d"+f.Chunk[:3]), "notes \"of\" <"+string(f.Chunk[:2])+">.md"
	g.chunks = append(g.chunks, f)
	return f
}

func (g *generator) retrieval(id event.CallID, tool string) event.RetrievalFinished {
	g.retrieved++
	b := event.RetrievalFinished{Call: id, Tool: tool, Duration: g.millis()}
	if g.oneIn(6) {
		b.Error = "the index did not answer"
		return b
	}
	for range g.rng.IntN(8) {
		b.Found = append(b.Found, g.find())
	}
	return b
}

func (g *generator) grade(last bool) {
	b := event.Graded{Iteration: g.iteration, Action: event.ReRetrieve, By: pick(g, "rules", "qwen3:8b")}
	if last {
		b.Action = pick(g, event.Proceed, event.Expand)
	}
	for _, f := range g.chunks[:min(len(g.chunks), 12)] {
		gr := event.Grade{Chunk: f.Chunk, Score: g.score()}
		switch {
		case gr.Score >= 0.7:
			gr.Class = event.Correct
			b.Correct++
		case gr.Score >= 0.4:
			gr.Class = event.Ambiguous
			b.Ambiguous++
			if g.oneIn(2) {
				gr.Expanded, gr.NewScore, gr.Parent = true, gr.Score+0.1, "p"+f.Chunk
				b.Expanded++
			}
		default:
			gr.Class = event.Incorrect
			b.Incorrect++
		}
		b.Grades = append(b.Grades, gr)
	}
	g.add(b)
}

func (g *generator) rerank() {
	b := event.Reranked{Method: pick(g, "maxsim", "none"), Inputs: len(g.chunks), Duration: g.millis()}
	for i, f := range g.chunks[:min(len(g.chunks), 8)] {
		f.Score = float64(20-i) + g.score()
		b.Outputs = append(b.Outputs, f)
		b.TopScore = max(b.TopScore, f.Score)
	}
	g.add(b)
}

// answer adds the generation, sometimes with a second model after the first has failed, and the verification.
func (g *generator) answer(n int) {
	g.add(event.GenerationStarted{Chunks: len(g.chunks), Tokens: g.rng.IntN(8000), Model: pick(g, "extractive", "gpt-oss:20b")})
	g.reasons = g.oneIn(3)
	for range g.rng.IntN(4) {
		if g.reasons {
			g.add(event.Reasoned{Text: g.piece()})
		}
	}
	g.tokens(n)
	if g.oneIn(10) {
		g.add(event.Warned{Code: fault.Model, Message: "the connection to the model was lost", Step: "generate"})
		g.tokens(n / 2)
	}
	g.add(event.GenerationFinished{Reason: pick(g, "stop", "stop", "length", "incomplete", "timeout")})
	g.verify()
	g.maybeWarn("attribute")
	g.sources()
}

func (g *generator) tokens(n int) {
	if n > 0 {
		n = n/2 + g.rng.IntN(n/2+1)
	}
	for range n {
		if g.reasons && g.oneIn(5) {
			g.add(event.Reasoned{Text: g.piece()})
		}
		g.add(event.Token{Text: g.piece()})
		for len(g.chunks) > 0 && g.oneIn(12) {
			g.cite()
		}
	}
}

func (g *generator) cite() {
	chunk := g.chunks[g.rng.IntN(len(g.chunks))].Chunk
	n := slices.Index(g.cited, chunk) + 1
	if n == 0 {
		g.cited = append(g.cited, chunk)
		n = len(g.cited)
	}
	b := event.Cited{N: n, Chunk: chunk}
	if g.oneIn(2) {
		b.Source = new(g.source(n, chunk))
		b.Source.Cited = true
	}
	g.add(b)
}

func (g *generator) verify() {
	b := event.Verified{By: pick(g, "rules", "qwen3:8b")}
	for range g.rng.IntN(5) {
		c := event.Claim{Text: g.text(7), Verdict: pick(g, event.Supported, event.PartiallySupported, event.Unsupported)}
		for _, f := range g.chunks[:min(len(g.chunks), g.rng.IntN(3))] {
			c.Chunks = append(c.Chunks, f.Chunk)
		}
		b.Claims = append(b.Claims, c)
	}
	if n := len(b.Claims); n > 0 {
		b.Confidence = (float64(b.Count(event.Supported)) + float64(b.Count(event.PartiallySupported))/2) / float64(n)
	}
	g.add(b)
}

func (g *generator) sources() {
	b := event.Attributed{By: pick(g, "terms", "claims"), Confidence: float64(g.rng.IntN(101)) / 100}
	ids := append([]corpus.ChunkID{}, g.cited...)
	seen := map[corpus.ChunkID]bool{}
	for _, c := range ids {
		seen[c] = true
	}
	for _, f := range g.chunks {
		if len(ids) < 10 && !seen[f.Chunk] {
			seen[f.Chunk] = true
			ids = append(ids, f.Chunk)
		}
	}
	for i, id := range ids {
		s := g.source(i+1, id)
		s.Weight, s.Cited = 1/float64(len(ids)), i < len(g.cited)
		b.Sources = append(b.Sources, s)
	}
	g.add(b)
}

func (g *generator) source(n int, id corpus.ChunkID) event.Source {
	s := event.Source{
		N: n, Chunk: id, Document: corpus.DocumentID(fmt.Sprintf("d%d", g.rng.IntN(50))), Title: g.text(3),
		Heading: g.text(2), Level: corpus.Passage, Start: g.rng.IntN(9000), Text: g.text(10), Score: g.score(),
	}
	s.End = s.Start + len(s.Text)
	if n := len(s.Text); n > 1 && g.oneIn(2) {
		s.Quote = g.rng.IntN(n - 1)
		s.QuoteEnd = s.Quote + 1 + g.rng.IntN(n-s.Quote-1)
		s.File = g.text(1) + "/" + g.text(1)
	}
	for p := range g.rng.IntN(3) {
		s.Pages = append(s.Pages, p+1)
	}
	return s
}

// fail cuts the log after a random event and ends the run there. An open generation may be finished first.
func (g *generator) fail() {
	at := g.rng.IntN(len(g.es) - 1)
	if g.oneIn(2) { // most events are tokens, so cut after the first event of a random kind
		kinds := map[event.Kind]bool{}
		var firsts []int
		for i, e := range g.es[:len(g.es)-1] {
			if k := e.Body.Kind(); !kinds[k] {
				kinds[k] = true
				firsts = append(firsts, i)
			}
		}
		at = pick(g, firsts...)
	}
	g.es = g.es[:at+1]
	last := g.es[len(g.es)-1]
	g.at = last.At
	code := pick(g, append(fault.Codes(), fault.Cancelled, fault.Cancelled, fault.Cancelled)...)
	_, token := last.Body.(event.Token)
	_, cited := last.Body.(event.Cited)
	if (token || cited) && g.generating() && g.oneIn(2) {
		g.add(event.GenerationFinished{Reason: pick(g, "cancelled", "error", "timeout")})
	}
	if n := len(g.es); g.oneIn(3) { // the sources so far, if they are valid here
		g.sources()
		if event.CheckLog(g.es, false) != nil {
			g.es, g.at = g.es[:n], g.es[n-1].At
		}
	}
	g.add(event.RunFailed{Code: code, Message: "stopped: " + g.text(3)})
}

func (g *generator) generating() bool {
	open := false
	for _, e := range g.es {
		switch e.Body.(type) {
		case event.GenerationStarted:
			open = true
		case event.GenerationFinished:
			open = false
		}
	}
	return open
}

// pieces are the parts of tokens and texts: words, and strings that may break protocols.
var pieces = []string{
	" the", " wing", " flow", "The", " at", " Mach", " 0.83", ",", ".", " and", " boundary", " layer", "ing", "ed", " of", " a",
	"\n", "\n\n", "\t", "  ", "\n- ", "\n\n## ", "```go\n", "\"", "\\", "\\n", "'", "</script>", "<b>", "&amp;", "data: x", "\n\nevent: done\n",
	"id: 7\n", ": ping", "[1]", "⟦2⟧", "{\"a\":1}", "null", "ü", "ß", "é", "e\u0301", "日本", "語", "한국어", "שלום", "مرحبا", "\u202e",
	"👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "\u200d", "\u0301", "\ufeff", "\ufffd", "\u2028", "\u2029", "\u00a0", "𝒳", "\U0010ffff", "\ue000",
}

func (g *generator) piece() string {
	if g.oneIn(3) {
		return pieces[g.rng.IntN(len(pieces))]
	}
	return pieces[g.rng.IntN(16)]
}

func (g *generator) text(n int) string {
	var s []byte
	for range n {
		s = append(s, g.piece()...)
	}
	return string(s)
}
