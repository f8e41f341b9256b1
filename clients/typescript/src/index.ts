import { Files } from "./files.js";
import { AskStream, lastOfForge } from "./forge.js";
import { type CallOptions, Http, type Options } from "./http.js";
import { Responses, type ResponseStream } from "./responses.js";
import { Runs, streamOf } from "./runs.js";
import { Sessions } from "./sessions.js";
import { VectorStores } from "./stores.js";
import { Reader } from "./stream.js";
import { Tasks } from "./tasks.js";
import type { AskRequest, Health, ResponseRequest, ModelList, ServerStatus } from "./types.js";

/**
 * A client of a server. It holds no connections. All methods can be called concurrently.
 *
 *     const sluice = new Sluice({ baseUrl: "http://127.0.0.1:8000" });
 *     for await (const event of sluice.ask({ query: "What happens to a slow reader?" })) {
 *       if (event.type === "token") process.stdout.write(event.content);
 *     }
 */
export class Sluice {
  /** Runs of questions. */
  readonly runs: Runs;
  readonly responses: Responses;
  /** Conversations. */
  readonly sessions: Sessions;
  readonly files: Files;
  readonly vectorStores: VectorStores;
  readonly tasks: Tasks;
  readonly #http: Http;

  constructor(o: Options = {}) {
    this.#http = new Http(o);
    this.runs = new Runs(this.#http);
    this.responses = new Responses(this.#http);
    this.sessions = new Sessions(this.#http);
    this.files = new Files(this.#http);
    this.vectorStores = new VectorStores(this.#http);
    this.tasks = new Tasks(this.#http);
  }

  /**
   * Asks a question; each step of the answer is an event. The question is sent when the stream is first read. After a lost
   * connection, the stream resumes with the next event. A question that may have arrived is not sent again.
   */
  ask(request: AskRequest, o: CallOptions = {}): AskStream {
    return new AskStream(new Reader(this.#http, {
      start: { method: "POST", path: "/api/query/stream", json: request },
      resume: streamOf("forge"),
      last: lastOfForge,
      signal: o.signal,
    }));
  }

  /**
   * Asks a question about files and vector stores; each event contains the whole response so far. The question is sent when the
   * stream is first read, and the stream resumes like that of `ask`.
   *
   *     const stream = sluice.respond({ input: "What happens to a slow reader?", tools: [{ type: "file_search", vector_store_ids: [store.id] }] });
   *     for await (const { response } of stream) show(outputText(response));
   */
  respond(request: ResponseRequest, o: CallOptions = {}): ResponseStream {
    return this.responses.respond(request, o);
  }

  /** Returns the status of the server and its parts. */
  status(o: CallOptions = {}): Promise<ServerStatus> {
    return this.#http.json({ path: "/v1/serverstatus", repeatable: true, signal: o.signal });
  }

  /** Returns the names of the models of the server in order of use. */
  async models(o: CallOptions = {}): Promise<string[]> {
    const list: ModelList = await this.#http.json({ path: "/v1/models", repeatable: true, signal: o.signal });
    return list.data.map((m) => m.id);
  }

  /** Returns the liveness of the server. */
  health(o: CallOptions = {}): Promise<Health> {
    return this.#http.json({ path: "/healthz", repeatable: true, signal: o.signal });
  }

  /** Returns the readiness of the server: `status` is "ok", or "draining" while it stops. */
  ready(o: CallOptions = {}): Promise<Health> {
    return this.#http.json({ path: "/readyz", accept: [503], repeatable: true, signal: o.signal });
  }
}

export { ConnectionError, ProtocolError, RunError, SluiceError } from "./errors.js";
export { type AskState, AskStream } from "./forge.js";
export { type FileFields, Files, type Uploadable, type UploadOptions } from "./files.js";
export type { CallOptions, Options } from "./http.js";
export { citations, outputText, type ResponseEvent, Responses, ResponseStream, type ResponseStreamOptions } from "./responses.js";
export { Runs, type RunStreamOptions } from "./runs.js";
export { Sessions } from "./sessions.js";
export { EventParser, readEvents, type ReadOptions, type ServerSentEvent } from "./sse.js";
export { type Frame, FrameStream, RunStream } from "./stream.js";
export { VectorStores } from "./stores.js";
export { type TurnPart, TurnStream } from "./turn.js";
export { Tasks, type WaitOptions } from "./tasks.js";
export type * from "./types.js";
export type { UploadProgress } from "./upload.js";
