// Events of made-up runs.

/** Makes the events of a run with a number of steps and tokens. Strings of documents and tools come from `text`. */
export function events(run, { steps = 8, tokens = [], text = (name) => name, sources = 2, reasoning = "" } = {}) {
  const out = [];
  const began = Date.parse("2026-01-02T03:04:05Z");
  const add = (kind, body) => out.push({ seq: out.length + 1, at: new Date(began + 10 * out.length).toISOString(), kind, body });
  const found = (n) => Array.from({ length: n }, (_, i) => ({ chunk_id: `c_${i}`, level: 1 + (i % 3), score: 0.9 - i / 20, document_id: `doc_${i}`, name: text(`file-${i}.md`) }));
  const source = (n) => ({
    n, chunk_id: `c_${n}`, document_id: `doc_${n}`, title: text(`Title ${n}`), name: text(`file-${n}.md`), heading: text("Heading"), level: 2, file: text("a/b.md"), pages: [1, 2],
    text: text(`Passage ${n} of the document.`), quote: 2, quote_end: 9, score: 0.9, weight: 1 / sources, cited: true, path: [text("Entity"), text("Document"), text("Other")],
    uri: text(`https://example.org/${n}`), contributor: text("somebody"),
    meta: Object.fromEntries(["title", "creator", "subject", "description", "publisher", "date", "language", "rights", "source", "identifier"].map((k) => [k, text(k)])),
  });
  add("run_started", { run, protocol: "forge", query: text("A made-up question?"), mode: "agentic", collection: "default", top_k: 5 });
  add("history_summarized", { turns: 2, summary: text("summary"), tokens: 20, by: "rules" });
  add("query_analyzed", { complexity: "complex", decomposed: true, mode: "agentic", by: text("rules"), standalone: text("Standalone"), parts: [text("Part 1"), text("Part 2")] });
  add("cache_checked", { hit: false });
  const rounds = Math.max(1, Math.floor((steps - 7) / 3));
  for (let i = 1; i <= rounds; i++) {
    add("retrieval_started", { call: 2 * i, tool: "hybrid_search", query: text(`search ${i}`), iteration: i, reason: text("reason") });
    add("retrieval_finished", { call: 2 * i, tool: "hybrid_search", found: found(8), duration_ms: 3 });
    add("tool_called", { call: 2 * i + 1, tool: i % 2 ? "page_reader" : text("tool"), input: { [text("key")]: text("value") }, iteration: i, reason: text("reason") });
    add("tool_returned", { call: 2 * i + 1, tool: "page_reader", result: { text: text("result") }, duration_ms: 4 });
    add("graded", { iteration: i, correct: 4, ambiguous: 2, incorrect: 2, expanded: 1, action: i < rounds ? "re-retrieve" : "proceed", by: "coverage",
      details: found(8).map((f, j) => ({ chunk_id: f.chunk_id, score: f.score, classification: ["CORRECT", "AMBIGUOUS", "INCORRECT"][j % 3], expanded: j === 1 })) });
  }
  add("reranked", { method: text("colbert"), input_count: 8, outputs: found(5), top_score: 0.9, duration_ms: 5 });
  add("generation_started", { context_chunks: 5, context_tokens: 900, model: text("model") });
  if (reasoning) add("reasoned", { text: reasoning });
  tokens.forEach((t, i) => {
    add("token", { text: t });
    if (tokens.length > 20 && i % 40 === 39) add("cited", { n: 1 + (Math.floor(i / 40) % sources), chunk_id: "c_1", source: source(1 + (Math.floor(i / 40) % sources)) });
  });
  add("generation_finished", { reason: "stop" });
  add("verified", { claims: [{ claim: text("A claim"), verdict: "SUPPORTED" }, { claim: text("Another"), verdict: "UNSUPPORTED" }], confidence: 0.5, by: "overlap" });
  add("attributed", { sources: Array.from({ length: sources }, (_, i) => source(i + 1)), by: "rules" });
  add("settled", { transaction: "x", type: "query_usage", fee: 1200, distributed: 900, before: 5000, after: 3800, duration_ms: 3,
    shares: [{ document_id: "doc_1", contributor: "somebody", name: text("Somebody"), portion: 1_000_000, earned: 900, chunks: 1 }] });
  add("warned", { code: "LLM_ERROR", message: text("warning"), step: text("grade") });
  add("run_finished", {});
  return out;
}
