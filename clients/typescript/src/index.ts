import { AskStream, lastOfForge } from "./forge.js";
import { type CallOptions, Http, type Options } from "./http.js";
import { Runs, streamOf } from "./runs.js";
import { Reader } from "./stream.js";
import type { AskRequest, Health } from "./types.js";

/**
 * A client of one server. It holds no connection, and everything of it may be used at once.
 *
 *     const sluice = new Sluice({ baseUrl: "http://127.0.0.1:8000" });
 *     for await (const event of sluice.ask({ query: "What happens to a slow reader?" })) {
 *       if (event.type === "token") process.stdout.write(event.content);
 *     }
 */
export class Sluice {
  /** Questions that were asked. */
  readonly runs: Runs;
  readonly #http: Http;

  constructor(o: Options = {}) {
    this.#http = new Http(o);
    this.runs = new Runs(this.#http);
  }

  /**
   * Asks a question; each step of the answer is an event. The question is sent when the stream is first read. A connection that
   * breaks is made anew and goes on with the next event of the same run; a question that may have arrived is not sent again.
   */
  ask(request: AskRequest, o: CallOptions = {}): AskStream {
    return new AskStream(new Reader(this.#http, {
      start: { method: "POST", path: "/api/query/stream", json: request },
      resume: streamOf("forge"),
      last: lastOfForge,
      signal: o.signal,
    }));
  }

  /** Tells whether the server lives. */
  health(o: CallOptions = {}): Promise<Health> {
    return this.#http.json({ path: "/healthz", repeatable: true, signal: o.signal });
  }

  /** Tells whether the server takes questions: `status` is "ok", or "draining" of one that stops. */
  ready(o: CallOptions = {}): Promise<Health> {
    return this.#http.json({ path: "/readyz", accept: [503], repeatable: true, signal: o.signal });
  }
}

export { ConnectionError, ProtocolError, SluiceError } from "./errors.js";
export { type AskState, AskStream } from "./forge.js";
export type { CallOptions, Options } from "./http.js";
export { Runs, type RunStreamOptions } from "./runs.js";
export { EventParser, readEvents, type ReadOptions, type ServerSentEvent } from "./sse.js";
export { type Frame, FrameStream, RunStream } from "./stream.js";
export type * from "./types.js";
