import { ConnectionError, ProtocolError, refusal, RunError, SluiceError } from "./errors.js";
import { type Call, type Http, passing } from "./http.js";
import { readEvents } from "./sse.js";

/** An undecoded event of the stream of a run. */
export interface Frame {
  run: string;
  /** The cursor of the event. A stream that is opened after it starts with the next event. */
  id: string;
  event: string;
  data: string;
}

/** Compares cursors: numbers, or two numbers with a dot. The last part of an event has no dot. */
export function compareCursors(a: string, b: string): number {
  const [seqA = "", partA] = a.split(".");
  const [seqB = "", partB] = b.split(".");
  return compareNumbers(seqA, seqB) || (partA === partB ? 0 : partA === undefined ? 1 : partB === undefined ? -1 : compareNumbers(partA, partB));
}

// Compared as text, because a cursor can exceed the exact range of a number.
function compareNumbers(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** Defines how a stream is started, resumed and ended. */
export interface Source {
  /** Request that starts the run; undefined if the run exists. */
  start?: Call | undefined;
  /** Returns the request that resumes the stream. */
  resume: (run: string) => Call;
  run?: string | undefined;
  after?: string | undefined;
  /** Reports whether an event is the last one; undefined if only the server knows. */
  last?: ((frame: Frame) => boolean) | undefined;
  signal?: AbortSignal | undefined;
}

/** Reads the stream of a run over several connections: each event once, in order. */
export class Reader {
  run: string | undefined;
  lastEventId: string;
  /** Whether the last event was read. */
  ended = false;
  #given = false; // an event was read
  #failed: unknown; // error of the question, which is not sent again

  constructor(
    readonly http: Http,
    readonly source: Source,
  ) {
    this.run = source.run;
    this.lastEventId = source.after ?? "";
  }

  /** Yields the events after the last one. The loop can be left, and another call yields the rest. */
  async *frames(): AsyncGenerator<Frame, void, undefined> {
    let failures = 0;
    while (!this.ended) {
      const before = this.lastEventId;
      let cause: unknown;
      try {
        yield* this.#read(await this.#open());
        if (this.ended) return;
      } catch (err) {
        this.source.signal?.throwIfAborted();
        if (this.run === undefined || err instanceof ProtocolError || (err instanceof SluiceError && !passing(this.http, err))) throw err;
        cause = err;
      }
      if (this.run === undefined) throw new ConnectionError("the stream was interrupted before the server sent the id of the run", undefined, undefined, { cause });
      if (this.lastEventId !== before) failures = 0;
      if (failures++ >= this.http.retries) {
        throw new ConnectionError(`run ${this.run}: connection lost after event ${this.lastEventId || 0}`, this.run, this.lastEventId, { cause });
      }
      const wait = cause instanceof SluiceError ? (cause.retryAfter ?? 0) : 0;
      await this.http.pause(failures - 1, wait, this.source.signal);
    }
  }

  async #open(): Promise<Response> {
    const { start, resume, signal } = this.source;
    if (this.run === undefined) {
      if (this.#failed !== undefined) throw this.#failed;
      try {
        const res = await this.http.send({ ...start!, signal, stream: true, headers: { Accept: "text/event-stream", ...start!.headers } });
        if (res.status === 204) throw new ProtocolError("the reply is not a stream of events");
        this.run = res.headers.get("sluice-run-id") ?? undefined;
        return res;
      } catch (err) {
        this.#failed = err;
        throw err;
      }
    }
    const call = resume(this.run);
    const headers: Record<string, string> = { Accept: "text/event-stream", ...call.headers };
    if (this.lastEventId) headers["Last-Event-ID"] = this.lastEventId;
    const res = await this.http.once({ ...call, signal, stream: true, headers });
    if (res.status >= 300) throw await refusal(res);
    const run = res.headers.get("sluice-run-id");
    if (run === null || run === this.run) return res;
    res.body?.cancel().catch(() => {});
    throw new ProtocolError(`run ${this.run}: the reply is for another run, ${run.slice(0, 60)}`);
  }

  // read yields the events of one connection.
  async *#read(res: Response): AsyncGenerator<Frame, void, undefined> {
    if (res.status === 204) {
      if (this.#given && this.source.last) throw new ProtocolError(`run ${this.run}: it ended without its last event`);
      this.ended = true; // no events after the cursor
      return;
    }
    if (!res.headers.get("content-type")?.startsWith("text/event-stream")) {
      res.body?.cancel().catch(() => {});
      throw new ProtocolError("the reply is not a stream of events");
    }
    if (!res.body) throw new ProtocolError("the reply has no body");
    for await (const ev of readEvents(res.body, { idleTimeout: this.http.idleTimeout })) {
      if (ev.id !== undefined && ev.id !== "") {
        if (this.lastEventId && compareCursors(ev.id, this.lastEventId) <= 0) continue; // a duplicate
        this.lastEventId = ev.id;
      }
      const frame = { run: this.run ?? "", id: this.lastEventId, event: ev.event, data: ev.data };
      this.#given = true;
      this.ended = this.source.last?.(frame) ?? false;
      yield frame;
      if (this.ended) return;
    }
  }
}

/**
 * The stream of a run. Iterating reads it. Several loops, and `final`, can run concurrently; each gets all events since its
 * start. After a loop was left or has failed, another loop continues with the next event. Leaving a loop does not stop the run:
 * `cancel` does, and the server does if the run has no readers for its grace period.
 */
export abstract class RunStream<E, S> implements AsyncIterable<E> {
  readonly #reader: Reader;
  #source: AsyncGenerator<Frame, void, undefined> | undefined;
  #pending: Promise<void> | undefined;
  readonly #queues = new Set<E[]>();
  #broken: ProtocolError | undefined; // later events would be inconsistent
  #cancelled = false;

  /** @internal */
  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The id of the run, when the server has sent it. */
  get run(): string | undefined {
    return this.#reader.run;
  }

  /** The cursor of the newest event. */
  get lastEventId(): string {
    return this.#reader.lastEventId;
  }

  /** Whether the last event was read. */
  get ended(): boolean {
    return this.#reader.ended;
  }

  /** The current state, from all events so far. */
  abstract get snapshot(): S;

  /** Processes a frame and returns its event, if it has one. */
  protected abstract take(frame: Frame): E | undefined;

  /** Sets the id of the run if the response headers did not contain it. */
  protected named(run: string): void {
    this.#reader.run ??= run;
  }

  /** Returns the final state. */
  protected abstract whole(): NonNullable<S> | Promise<NonNullable<S>>;

  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    const queue: E[] = [];
    this.#queues.add(queue);
    try {
      for (;;) {
        for (let e = queue.shift(); e !== undefined; e = queue.shift()) yield e;
        if (this.ended) return;
        await this.#advance();
      }
    } finally {
      this.#queues.delete(queue);
      if (this.#queues.size === 0 && !this.#pending) await this.#close();
    }
  }

  /** Reads to the end and returns the final state. Throws a RunError if the run failed. */
  async final(): Promise<NonNullable<S>> {
    for await (const _ of this);
    const state = await this.whole();
    const failure = this.failure(state);
    if (failure) throw new RunError(failure.message, failure.code, this.run, state);
    return state;
  }

  /** The reason why the run failed, if it did. */
  protected failure(_state: NonNullable<S>): { code: string; message: string } | undefined {
    return undefined;
  }

  /** Cancels the run. Its stream ends soon after. */
  async cancel(o: { signal?: AbortSignal } = {}): Promise<void> {
    const run = this.run;
    if (run === undefined) throw new SluiceError("the run has not started", 0, "NOT_STARTED");
    if (this.#cancelled) return; // a second request would cancel another question of this client
    this.#cancelled = true;
    try {
      await this.#reader.http.json({ method: "POST", path: `/runs/${encodeURIComponent(run)}/cancel`, signal: o.signal });
    } catch (err) {
      this.#cancelled = false;
      throw err;
    }
  }

  // advance reads one event for all loops.
  #advance(): Promise<void> {
    return (this.#pending ??= (async () => {
      try {
        if (this.#broken) throw this.#broken;
        this.#source ??= this.#reader.frames();
        const next = await this.#source.next();
        if (next.done) return;
        const e = this.take(next.value);
        if (e !== undefined) for (const queue of this.#queues) queue.push(e);
        if (this.ended || this.#queues.size === 0) await this.#close();
      } catch (err) {
        if (err instanceof ProtocolError) this.#broken = err;
        await this.#close();
        throw err;
      } finally {
        this.#pending = undefined;
      }
    })());
  }

  async #close(): Promise<void> {
    const source = this.#source;
    this.#source = undefined;
    await source?.return();
  }
}

/** The undecoded events of a run, for protocols without types in this client. */
export class FrameStream extends RunStream<Frame, undefined> {
  override get snapshot(): undefined {
    return undefined;
  }

  protected override take(frame: Frame): Frame {
    return frame;
  }

  protected override whole(): never {
    return undefined as never;
  }
}

/** Decodes the data of an event, which is an object. */
export function decode<T extends object>(frame: Frame): T {
  let cause: unknown;
  try {
    const data: unknown = JSON.parse(frame.data);
    if (typeof data === "object" && data !== null) return data as T;
  } catch (err) {
    cause = err;
  }
  throw new ProtocolError(`event ${frame.id} of run ${frame.run} is not a JSON object`, { cause });
}
