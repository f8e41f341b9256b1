import { AskStream, lastOfForge } from "./forge.js";
import type { CallOptions, Http } from "./http.js";
import { type Frame, FrameStream, Reader } from "./stream.js";
import type { Cancelling, RunDetail, RunList, RunListQuery, RunSummary } from "./types.js";

/** Options of a stream. */
export interface RunStreamOptions extends CallOptions {
  /** Start after this event; default: at the first event. */
  after?: string | undefined;
}

/** Runs of questions in any protocol. */
export class Runs {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Returns a page of runs, newest first. */
  list(query: RunListQuery = {}, o: CallOptions = {}): Promise<RunList> {
    return this.#http.json({ path: "/api/runs", query, repeatable: true, signal: o.signal });
  }

  /** Yields all runs, page by page. */
  async *all(o: CallOptions & { pageSize?: number } = {}): AsyncGenerator<RunSummary, void, undefined> {
    let before: string | undefined;
    do {
      const page: RunList = await this.list({ ...(before && { before }), ...(o.pageSize && { limit: o.pageSize }) }, o);
      yield* page.runs;
      before = page.next;
    } while (before);
  }

  /** Returns a run with its answer so far. */
  get(run: string, o: CallOptions = {}): Promise<RunDetail> {
    return this.#http.json({ path: `/api/runs/${encodeURIComponent(run)}`, repeatable: true, signal: o.signal });
  }

  /** Cancels a run. It ends soon after. */
  cancel(run: string, o: CallOptions = {}): Promise<Cancelling> {
    return this.#http.json({ method: "POST", path: `/runs/${encodeURIComponent(run)}/cancel`, signal: o.signal });
  }

  /** Streams an active or finished run, which may have been started in another protocol. */
  stream(run: string, o: RunStreamOptions = {}): AskStream {
    return new AskStream(this.#reader(run, "forge", o, lastOfForge));
  }

  /** Streams the undecoded events of a run in a protocol of the server. */
  frames(run: string, o: RunStreamOptions & { protocol: string }): FrameStream {
    return new FrameStream(this.#reader(run, o.protocol, o));
  }

  #reader(run: string, protocol: string, o: RunStreamOptions, last?: (frame: Frame) => boolean): Reader {
    return new Reader(this.#http, { run, after: o.after, signal: o.signal, last, resume: streamOf(protocol) });
  }
}

/** Returns the request of a stream in a protocol. */
export function streamOf(protocol: string, more: Record<string, string | number | undefined> = {}) {
  return (run: string) => ({ path: `/runs/${encodeURIComponent(run)}/stream`, query: { protocol, ...more } });
}
