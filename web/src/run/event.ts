import type { Filter } from "../../../clients/typescript/src/index.js";

/** The events of a run, in the events protocol: `GET /runs/{id}/stream?protocol=events`. */

export interface Found {
  chunk_id: string;
  level: number; // 1 sections, 2 passages, 3 sentences
  score: number;
  document_id?: string;
  name?: string;
}

export interface Grade {
  chunk_id: string;
  score: number;
  classification: "CORRECT" | "AMBIGUOUS" | "INCORRECT";
  expanded?: boolean;
  new_score?: number;
}

export type Verdict = "SUPPORTED" | "PARTIALLY_SUPPORTED" | "UNSUPPORTED";

export interface Claim {
  claim: string;
  verdict: Verdict;
  chunks?: string[];
}

export interface DublinCore {
  title?: string;
  creator?: string;
  subject?: string;
  description?: string;
  publisher?: string;
  date?: string;
  language?: string;
  rights?: string;
  source?: string;
  identifier?: string;
}

export interface Source {
  n: number;
  chunk_id: string;
  document_id: string;
  title: string;
  name?: string;
  heading: string;
  level: number;
  file?: string;
  pages?: number[];
  text: string;
  quote?: number; // bytes of text: the cited sentence
  quote_end?: number;
  score: number;
  weight: number;
  cited: boolean;
  path?: string[]; // entities and titles alternate
  uri?: string;
  meta?: DublinCore;
  contributor?: string;
}

export interface Share {
  document_id: string;
  contributor: string;
  name?: string;
  portion: number; // of a million
  earned?: number; // micro-credits
  chunks: number;
}

export interface Bodies {
  run_started: {
    run: string;
    protocol: string;
    account?: string;
    writer?: { provider: string; model: string };
    waited_ms?: number;
    query: string;
    mode: "agentic" | "direct";
    collection: string;
    top_k: number;
    filter?: Filter;
    session?: string;
    model?: string;
    no_cache?: boolean;
  };
  history_summarized: { turns: number; summary: string; tokens: number; by: string };
  query_analyzed: {
    complexity: "simple" | "moderate" | "complex";
    decomposed: boolean;
    mode: "agentic" | "direct";
    by: string;
    standalone?: string;
    parts?: string[];
  };
  cache_checked: { hit: boolean; similarity?: number; original_query?: string; cached_at?: string; confidence?: number };
  retrieval_started: { call: number; tool: string; query: string; iteration: number; reason?: string };
  retrieval_finished: { call: number; tool: string; found: Found[] | null; duration_ms: number; error?: string };
  tool_called: { call: number; tool: string; input: Record<string, unknown>; iteration: number; reason?: string };
  tool_returned: { call: number; tool: string; result: Record<string, unknown>; duration_ms: number };
  graded: {
    iteration: number;
    correct: number;
    ambiguous: number;
    incorrect: number;
    expanded: number;
    action: "proceed" | "expand" | "re-retrieve";
    details: Grade[] | null;
    by: string;
  };
  reranked: { method: string; input_count: number; outputs: Found[] | null; top_score: number; duration_ms: number };
  generation_started: { context_chunks: number; context_tokens: number; model: string };
  reasoned: { text: string };
  token: { text: string };
  cited: { n: number; chunk_id: string; source?: Source; quote?: number; quote_end?: number };
  generation_finished: { reason: string; answerability?: number };
  verified: { claims: Claim[] | null; confidence: number; by: string; flagged?: boolean };
  attributed: { sources: Source[] | null; by: string; confidence?: number };
  settled: {
    transaction: string;
    type: string;
    fee: number;
    distributed: number;
    before: number;
    after: number;
    duration_ms: number;
    shares: Share[] | null;
  };
  model_used: {
    step: string;
    model: string;
    calls: number;
    input_tokens: number;
    output_tokens: number;
    estimated?: boolean;
  };
  warned: { code: string; message: string; step: string };
  run_finished: Record<string, never>;
  run_failed: { code: string; message: string };
}

export type Kind = keyof Bodies;

/** An event, discriminated by `kind`. */
export type RunEvent = { [K in Kind]: { seq: number; at: string; kind: K; body: Bodies[K] } }[Kind];

/** Whether the event is the last one of its run. */
export const isLast = (e: RunEvent): boolean => e.kind === "run_finished" || e.kind === "run_failed";
