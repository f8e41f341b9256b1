import { AskStream, lastOfForge } from "./forge.js";
import type { CallOptions, Http } from "./http.js";
import { type Frame, FrameStream, Reader } from "./stream.js";
import type { Cancelling, RunDetail, RunList, RunListQuery, RunSummary } from "./types.js";

/** How a run is read. */
export interface RunStreamOptions extends CallOptions {
  /** Go on behind this event; default: from the start. */
  after?: string | undefined;
}

/** Runs: questions that were asked, in whatever protocol. */
export class Runs {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Gives a page of runs, the newest first. */
  list(query: RunListQuery = {}, o: CallOptions = {}): Promise<RunList> {
    return this.#http.json({ path: "/api/runs", query, repeatable: true, signal: o.signal });
  }

  /** Gives all runs, page by page. */
  async *all(o: CallOptions & { pageSize?: number } = {}): AsyncGenerator<RunSummary, void, undefined> {
    let before: string | undefined;
    do {
      const page: RunList = await this.list({ ...(before && { before }), ...(o.pageSize && { limit: o.pageSize }) }, o);
      yield* page.runs;
      before = page.next;
    } while (before);
  }

  /** Shows a run with its answer so far. */
  get(run: string, o: CallOptions = {}): Promise<RunDetail> {
    return this.#http.json({ path: `/api/runs/${encodeURIComponent(run)}`, repeatable: true, signal: o.signal });
  }

  /** Stops a run. It ends soon after. */
  cancel(run: string, o: CallOptions = {}): Promise<Cancelling> {
    return this.#http.json({ method: "POST", path: `/runs/${encodeURIComponent(run)}/cancel`, signal: o.signal });
  }

  /** Streams a run, live or finished, in whatever protocol it was started. */
  stream(run: string, o: RunStreamOptions = {}): AskStream {
    return new AskStream(this.#reader(run, "forge", o, lastOfForge));
  }

  /** Streams a run in any of the server's protocols that send events, as they come. */
  frames(run: string, o: RunStreamOptions & { protocol: string }): FrameStream {
    return new FrameStream(this.#reader(run, o.protocol, o));
  }

  #reader(run: string, protocol: string, o: RunStreamOptions, last?: (frame: Frame) => boolean): Reader {
    return new Reader(this.#http, { run, after: o.after, signal: o.signal, last, resume: streamOf(protocol) });
  }
}

/** Where a run is read in a protocol. */
export function streamOf(protocol: string, more: Record<string, string | number | undefined> = {}) {
  return (run: string) => ({ path: `/runs/${encodeURIComponent(run)}/stream`, query: { protocol, ...more } });
}
