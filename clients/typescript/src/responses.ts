import { ProtocolError } from "./errors.js";
import type { CallOptions, Http } from "./http.js";
import { paged } from "./pages.js";
import { streamOf } from "./runs.js";
import { decode, type Frame, Reader, RunStream } from "./stream.js";
import type { Annotation, Deleted, ListQuery, OutputItem, Response, ResponseList, ResponseRequest, ResponseSummary } from "./types.js";

/** A change of a response. */
export interface ResponseEvent {
  /** The kind of change, such as response.output_text.delta, response.file_search_call.completed or response.completed. */
  event: string;
  /** The cursor of the event. */
  id: string;
  /** The response after the change. It is immutable; unchanged parts are shared between events. */
  response: Response;
  /** In delta mode, the added text of the answer or of the reasoning. */
  delta?: string;
}

/** Options of a stream. */
export interface ResponseStreamOptions extends CallOptions {
  /** "snapshot" (default): each event contains the whole response. "delta": the server sends changes, which the client applies. */
  mode?: "snapshot" | "delta";
  /** Maximum rate of snapshots that only add text; default 10. */
  snapshotsPerSecond?: number;
}

/** The stream of a run in the knowledge protocol. `final` returns the complete response. */
export class ResponseStream extends RunStream<ResponseEvent, Response | undefined> {
  readonly #http: Http;
  readonly #signal: AbortSignal | undefined;
  #response: Response | undefined;

  /** @internal */
  constructor(http: Http, reader: Reader, signal?: AbortSignal) {
    super(reader);
    this.#http = http;
    this.#signal = signal;
  }

  override get snapshot(): Response | undefined {
    return this.#response;
  }

  /** The text of the answer so far. */
  get text(): string {
    return this.#response ? outputText(this.#response) : "";
  }

  protected override take(frame: Frame): ResponseEvent | undefined {
    if (frame.event === "done") return undefined;
    const data = decode<Response | Change>(frame);
    const e: ResponseEvent = { event: frame.event, id: frame.id, response: undefined as never };
    if (isResponse(data)) {
      e.response = data;
    } else {
      if (!this.#response) throw new ProtocolError(`event ${frame.id} of run ${frame.run} changes an unknown response`);
      e.response = changed(this.#response, frame.event, data);
      if (data.delta !== undefined) e.delta = data.delta;
    }
    this.#response = e.response;
    this.named(e.response.id);
    return e;
  }

  protected override failure(state: Response): { code: string; message: string } | undefined {
    return state.error && { code: state.error.reason, message: state.error.message };
  }

  protected override async whole(): Promise<Response> {
    const r = this.#response;
    if (!r) throw new ProtocolError(`run ${this.run} ended without a response`);
    // Snapshots have a maximum size. The full text of a truncated response must be fetched.
    const clipped = r.output.some((item) => item.type === "message" && item.content.some((part) => part.truncated));
    return clipped ? new Responses(this.#http).get(r.id, { signal: this.#signal }) : r;
  }
}

/** The fields of all events of delta mode. */
interface Change {
  item_id: string;
  output_index: number;
  content_index?: number;
  summary_index?: number;
  annotation_index?: number;
  annotation?: Annotation;
  delta?: string;
}

function isResponse(data: Response | Change): data is Response {
  return "object" in data && data.object === "response" && Array.isArray(data.output);
}

// changed returns a changed copy of a response.
function changed(r: Response, event: string, c: Change): Response {
  const item = r.output[c.output_index] ?? (c.output_index === r.output.length ? begun(event, c) : undefined);
  if (item?.id !== c.item_id) throw new ProtocolError(`response ${r.id}: a change of an unknown item`);
  return { ...r, output: replaced(r.output, c.output_index, changedItem(item, event, c)) };
}

// begun returns the item that a first text delta creates.
function begun(event: string, c: Change): OutputItem | undefined {
  const item = { id: c.item_id, status: "in_progress" as const };
  if (event.startsWith("response.output_text.")) return { ...item, type: "message", role: "assistant", content: [] };
  return event.startsWith("response.reasoning_summary_text.") ? { ...item, type: "reasoning", summary: [] } : undefined;
}

function changedItem(item: OutputItem, event: string, c: Change): OutputItem {
  const at = c.content_index ?? 0;
  if (item.type === "message") {
    const part = item.content[at] ?? { type: "output_text", annotations: [], text: "" };
    switch (event) {
      case "response.output_text.delta":
        return { ...item, content: replaced(item.content, at, { ...part, text: part.text + c.delta }) };
      case "response.output_text.annotation.added":
        return { ...item, content: replaced(item.content, at, { ...part, annotations: replaced(part.annotations, c.annotation_index, c.annotation!) }) };
    }
  } else if (item.type === "reasoning" && event === "response.reasoning_summary_text.delta") {
    const part = item.summary[c.summary_index ?? 0] ?? { type: "summary_text", text: "" };
    return { ...item, summary: replaced(item.summary, c.summary_index, { ...part, text: part.text + c.delta }) };
  }
  return item; // an event of a later version; the next snapshot contains the change
}

function replaced<T>(list: readonly T[], at = 0, v: T): T[] {
  const out = list.slice();
  if (at > out.length) throw new ProtocolError("a change refers to a missing part");
  out[at] = v;
  return out;
}

/** Returns the text of the messages of a response. ⟦⟦n⟧⟧ marks text that citation n supports. */
export function outputText(r: Response): string {
  return r.output.map((item) => (item.type === "message" ? item.content.map((part) => part.text).join("") : "")).join("");
}

/** Returns the citations of the messages of a response. The first is that of ⟦⟦1⟧⟧. */
export function citations(r: Response): Annotation[] {
  return r.output.flatMap((item) => (item.type === "message" ? item.content.flatMap((part) => part.annotations) : []));
}

/** Reports whether an event is the last one of the knowledge protocol. */
export function lastOfKnowledge(frame: Frame): boolean {
  return frame.event === "done";
}

/** Stored responses. */
export class Responses {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** @internal */
  respond(request: ResponseRequest, o: CallOptions): ResponseStream {
    const { mode, snapshots_per_second: options } = request.stream_options ?? {};
    const pace = options ?? request.snapshots_per_second;
    return new ResponseStream(this.#http, new Reader(this.#http, {
      start: { method: "POST", path: "/v1/responses", json: { ...request, stream: true } },
      resume: streamOf("knowledge", { mode, snapshots_per_second: pace }),
      last: lastOfKnowledge,
      signal: o.signal,
    }), o.signal);
  }

  /** Returns a complete response, or the current state of one in progress. */
  get(id: string, o: CallOptions = {}): Promise<Response> {
    return this.#http.json({ path: at(id), repeatable: true, signal: o.signal });
  }

  /** Streams a response from its start, in progress or complete. */
  stream(id: string, o: ResponseStreamOptions = {}): ResponseStream {
    return new ResponseStream(this.#http, new Reader(this.#http, {
      run: id,
      resume: streamOf("knowledge", { mode: o.mode, snapshots_per_second: o.snapshotsPerSecond }),
      last: lastOfKnowledge,
      signal: o.signal,
    }), o.signal);
  }

  /** Returns a page of responses, newest first. */
  list(query: ListQuery = {}, o: CallOptions = {}): Promise<ResponseList> {
    return this.#http.json({ path: "/v1/responses", query, repeatable: true, signal: o.signal });
  }

  /** Yields all responses, page by page. */
  all(o: CallOptions = {}): AsyncGenerator<ResponseSummary, void, undefined> {
    return paged((query) => this.list(query, o));
  }

  /** Cancels a response in progress and returns its state. */
  cancel(id: string, o: CallOptions = {}): Promise<Response> {
    return this.#http.json({ method: "POST", path: at(id) + "/cancel", signal: o.signal });
  }

  delete(id: string, o: CallOptions = {}): Promise<Deleted> {
    return this.#http.json({ method: "DELETE", path: at(id), repeatable: true, signal: o.signal });
  }
}

function at(id: string): string {
  return "/v1/responses/" + encodeURIComponent(id);
}
