import type { Bodies, Claim, Found, Grade, RunEvent, Source } from "./event.js";

/** What a step of a run has to show, by its kind. */
export type Detail =
  | { kind: "summary"; turns: number; text: string; by: string }
  | { kind: "analysis"; analysis: Bodies["query_analyzed"] }
  | { kind: "cache"; cache: Bodies["cache_checked"] }
  | { kind: "search"; tool: string; query: string; reason?: string | undefined; iteration: number; found?: Found[]; error?: string | undefined }
  | { kind: "tool"; tool: string; input: Record<string, unknown>; reason?: string | undefined; iteration: number; result?: Record<string, unknown> }
  | { kind: "grading"; correct: number; ambiguous: number; incorrect: number; expanded: number; action: string; grades: Grade[]; by: string }
  | { kind: "rerank"; method: string; input: number; outputs: Found[] }
  | { kind: "writing"; model: string; passages: number; tokens: number; firstToken?: number }
  | { kind: "check"; claims: Claim[]; confidence: number; by: string; flagged: boolean }
  | { kind: "warning"; message: string; code: string; step: string };

/** A step of a run. Times are milliseconds since the start of the run. */
export interface Step {
  id: number; // the number of its first event
  start: number;
  end?: number; // undefined while it goes on
  failed: boolean;
  detail: Detail;
}

/** A part of the answer: text, or the citation of a source. */
export type Piece = { text: string } | { cite: number };

export type Status = "running" | "finished" | "failed" | "cancelled";

/** What the page shows of a run. It is a fold of the events of the run. */
export interface RunState {
  id: string;
  status: Status;
  started: number; // milliseconds of the clock of the server
  last: number; // time of the last event since the start
  now: number; // the same, or later while the run goes on
  seq: number;
  question?: Bodies["run_started"];
  steps: Step[];
  pieces: Piece[];
  sources: Source[];
  reasoning: string;
  cached: boolean;
  confidence?: number;
  flagged: boolean;
  first?: number; // time of the first token
  tokens: number; // pieces of text of the writer
  usage: { calls: number; input: number; output: number };
  settled?: Bodies["settled"];
  failure?: Bodies["run_failed"];
  stop?: string;
}

/** Returns the state before the first event. */
export function empty(id = ""): RunState {
  return {
    id, status: "running", started: 0, last: 0, now: 0, seq: 0, steps: [], pieces: [], sources: [], reasoning: "", cached: false, flagged: false, tokens: 0,
    usage: { calls: 0, input: 0, output: 0 },
  };
}

/** Reports whether a complete answer says that the documents hold none. */
export const abstained = (s: RunState): boolean => s.status === "finished" && !s.cached && !s.sources.some((x) => x.cited);

/** Returns the answer as text, without marks of citations. */
export const textOf = (s: RunState): string => s.pieces.map((p) => ("text" in p ? p.text : "")).join("");

/** Applies the next event to the state. It changes the state; an event that was applied before is ignored. */
export function apply(s: RunState, e: RunEvent): void {
  if (e.seq <= s.seq) return;
  s.seq = e.seq;
  if (e.kind === "run_started") s.started = Date.parse(e.at);
  s.last = s.now = Math.max(s.last, Date.parse(e.at) - s.started);
  handlers[e.kind]?.(s, e as never);
}

type Handler = { [K in RunEvent["kind"]]?: (s: RunState, e: Extract<RunEvent, { kind: K }>) => void };

const handlers: Handler = {
  run_started(s, { body }) {
    s.id = body.run;
    s.question = body;
  },
  history_summarized: (s, { seq, body }) => add(s, seq, { kind: "summary", turns: body.turns, text: body.summary, by: body.by }),
  query_analyzed: (s, { seq, body }) => add(s, seq, { kind: "analysis", analysis: body }),
  cache_checked(s, { seq, body }) {
    s.cached = body.hit;
    add(s, seq, { kind: "cache", cache: body });
  },
  retrieval_started: (s, { seq, body }) =>
    begin(s, seq, { kind: "search", tool: body.tool, query: body.query, reason: body.reason, iteration: body.iteration }, body.call),
  retrieval_finished(s, { body }) {
    const step = end(s, body.call);
    if (step?.detail.kind !== "search") return;
    step.detail.found = body.found ?? [];
    step.detail.error = body.error;
    step.failed = body.error !== undefined && body.error !== "";
  },
  tool_called: (s, { seq, body }) =>
    begin(s, seq, { kind: "tool", tool: body.tool, input: body.input, reason: body.reason, iteration: body.iteration }, body.call),
  tool_returned(s, { body }) {
    const step = end(s, body.call);
    if (step?.detail.kind !== "tool") return;
    step.detail.result = body.result;
    step.failed = "error" in body.result;
  },
  graded: (s, { seq, body }) => add(s, seq, { kind: "grading", ...body, grades: body.details ?? [] }),
  reranked: (s, { seq, body }) => add(s, seq, { kind: "rerank", method: body.method, input: body.input_count, outputs: body.outputs ?? [] }, body.duration_ms),
  generation_started: (s, { seq, body }) => begin(s, seq, { kind: "writing", model: body.model, passages: body.context_chunks, tokens: 0 }, writing),
  reasoned(s, { body }) {
    s.reasoning += body.text;
  },
  token(s, { body }) {
    s.first ??= s.now;
    s.tokens++;
    const last = s.pieces.at(-1);
    if (last && "text" in last) last.text += body.text;
    else s.pieces.push({ text: body.text });
    const step = calls.get(s)?.get(writing);
    if (step?.detail.kind === "writing") {
      step.detail.tokens++;
      step.detail.firstToken ??= s.now;
    }
  },
  cited(s, { body }) {
    s.pieces.push({ cite: body.n });
    if (body.source && !s.sources.some((x) => x.n === body.n)) s.sources.push(body.source);
  },
  generation_finished(s, { body }) {
    s.stop = body.reason;
    end(s, writing);
  },
  verified(s, { seq, body }) {
    s.confidence = 0; // that of an abstention; the event attributed has that of an answer
    s.flagged = body.flagged ?? false;
    add(s, seq, { kind: "check", claims: body.claims ?? [], confidence: body.confidence, by: body.by, flagged: s.flagged });
  },
  attributed(s, { body }) {
    s.sources = body.sources ?? [];
    s.confidence = body.confidence ?? s.confidence;
  },
  settled(s, { body }) {
    s.settled = body;
  },
  model_used(s, { body }) {
    s.usage.calls += body.calls;
    s.usage.input += body.input_tokens;
    s.usage.output += body.output_tokens;
  },
  warned(s, { seq, body }) {
    add(s, seq, { kind: "warning", ...body });
    s.steps.at(-1)!.failed = true;
  },
  run_finished(s) {
    s.status = "finished";
    stop(s);
  },
  run_failed(s, { body }) {
    s.status = body.code === "CANCELLED" ? "cancelled" : "failed";
    s.failure = body;
    stop(s);
  },
};

// The running steps of a state by the number of their call; the writing of the answer has none.
const calls = new WeakMap<RunState, Map<number, Step>>();
const writing = -1;

function begin(s: RunState, id: number, detail: Detail, call: number): void {
  s.steps.push({ id, start: s.now, failed: false, detail });
  const running = calls.get(s) ?? new Map<number, Step>();
  calls.set(s, running.set(call, s.steps.at(-1)!)); // read from the array: it may be a proxy that notices changes
}

function end(s: RunState, call: number): Step | undefined {
  const step = calls.get(s)?.get(call);
  calls.get(s)?.delete(call);
  if (step) step.end = s.now;
  return step;
}

// add appends a step that is known only when it is done. It began when the step before it ended, unless its duration is known.
function add(s: RunState, id: number, detail: Detail, duration?: number): void {
  const before = s.steps.reduce((t, x) => Math.max(t, x.end ?? x.start), 0);
  s.steps.push({ id, start: duration === undefined ? Math.min(before, s.now) : Math.max(0, s.now - duration), end: s.now, failed: false, detail });
}

function stop(s: RunState): void {
  for (const step of s.steps) step.end ??= s.now;
  calls.delete(s);
}
