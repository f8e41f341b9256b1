// Holds that the types tell what is right from what is wrong. The compiler is the test: it refuses an expected error that is none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Annotation, type AskEvent, citations, type OutputItem, type Response, Sluice } from "@sluice-rag/client";

const sluice = new Sluice({ fetch: async () => globalThis.Response.json({}) });

// kinds is compiled only if the switch is exhaustive, and each case knows its fields.
function kinds(e: AskEvent): string | number | boolean {
  switch (e.type) {
    case "query_analysis": return e.complexity;
    case "cache_hit": return e.similarity;
    case "cache_miss": return e.type;
    case "retrieval_start": return e.iteration;
    case "retrieval_result": return e.chunks[0]?.chunk_id ?? e.levels["L1"] ?? 0;
    case "tool_call": return typeof e.input;
    case "tool_result": return e.duration_ms;
    case "crag_evaluation": return e.action === "re-retrieve";
    case "rerank_result": return e.top_score;
    case "generation_start": return e.model;
    case "token": return e.content;
    case "verification": return e.details[0]?.verdict === "SUPPORTED";
    case "sources": return e.sources[0]?.page_numbers[0] ?? 0;
    case "done": return e.usage?.models[0] ?? e.confidence;
    case "error": return e.recoverable;
  }
}

function items(r: Response): (string | Annotation)[] {
  return r.output.flatMap((item: OutputItem): (string | Annotation)[] => {
    switch (item.type) {
      case "message": return item.content.flatMap((part) => part.annotations);
      case "reasoning": return item.summary.map((part) => part.text);
      case "page_reader_call": return [item.document_id];
      case "file_search_call":
      case "web_search_call":
      case "list_documents_call": return item.queries;
    }
  });
}

function wrong(item: OutputItem): unknown[] {
  return [
    // @ts-expect-error no such mode
    sluice.ask({ query: "q", mode: "fast" }),
    // @ts-expect-error a question is needed
    sluice.ask({ mode: "direct" }),
    // @ts-expect-error no such effort
    sluice.respond({ input: "q", effort: "huge" }),
    // @ts-expect-error the client sees to it
    sluice.respond({ input: "q", stream: false }),
    // @ts-expect-error not every item has content
    item.content,
    // @ts-expect-error the protocol of the frames is needed
    () => sluice.runs.frames("r"),
  ];
}

test("types: events and items are told apart by their types", () => {
  assert.equal(kinds({ type: "token", content: "x" }), "x");
  const message: OutputItem = { type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "x", annotations: [] }] };
  const r = { output: [message] } as unknown as Response;
  assert.deepEqual([items(r), citations(r), wrong(message).length], [[], [], 6]);
});
