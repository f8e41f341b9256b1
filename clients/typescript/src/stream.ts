import { ConnectionError, ProtocolError, refusal, RunError, SluiceError } from "./errors.js";
import type { Call, Http } from "./http.js";
import { readEvents } from "./sse.js";

/** An event of a run's stream as it came over the wire. */
export interface Frame {
  run: string;
  /** The cursor behind the event: a stream that is opened there goes on with the next one. */
  id: string;
  event: string;
  data: string;
}

/** Orders cursors, which are numbers, or two numbers with a dot: the last part of an event has no dot. */
export function compareCursors(a: string, b: string): number {
  const [seqA = "", partA] = a.split(".");
  const [seqB = "", partB] = b.split(".");
  return compareNumbers(seqA, seqB) || (partA === partB ? 0 : partA === undefined ? 1 : partB === undefined ? -1 : compareNumbers(partA, partB));
}

// As text: a cursor may be beyond what a number holds exactly.
function compareNumbers(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** How a stream is begun, gone on with, and ended. */
export interface Source {
  /** Asks the question; undefined where the run is known already. */
  start?: Call | undefined;
  /** Where the run is read from behind the last event. */
  resume: (run: string) => Call;
  run?: string | undefined;
  after?: string | undefined;
  /** Whether no event follows this one; undefined where only the server can tell. */
  last?: ((frame: Frame) => boolean) | undefined;
  signal?: AbortSignal | undefined;
}

/** Reads one run, over as many connections as that takes: each event once, in order. */
export class Reader {
  run: string | undefined;
  lastEventId: string;
  /** Whether the last event was given. */
  ended = false;
  #given = false; // an event was
  #failed: unknown; // the question could not be asked, and is not asked again

  constructor(
    readonly http: Http,
    readonly source: Source,
  ) {
    this.run = source.run;
    this.lastEventId = source.after ?? "";
  }

  /** Gives the events behind the last one that was given. It may be left, and called again for the rest. */
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
        if (this.run === undefined || err instanceof ProtocolError || (err instanceof SluiceError && !this.#passing(err))) throw err;
        cause = err;
      }
      if (this.run === undefined) throw new ConnectionError("the stream broke off, and the server had not named its run", undefined, undefined, { cause });
      if (this.lastEventId !== before) failures = 0;
      if (failures++ >= this.http.retries) {
        throw new ConnectionError(`run ${this.run}: connection lost behind event ${this.lastEventId || 0}`, this.run, this.lastEventId, { cause });
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
        if (res.status === 204) throw new ProtocolError("the server did not answer with a stream of events");
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
    throw new ProtocolError(`run ${this.run}: the server answered with another, ${run.slice(0, 60)}`);
  }

  // passing tells whether a server that refuses now may not refuse soon.
  #passing(err: SluiceError): boolean {
    return (err.status === 429 || err.status >= 500) && (err.retryAfter ?? 0) <= this.http.maxRetryAfter;
  }

  // read gives one connection's events.
  async *#read(res: Response): AsyncGenerator<Frame, void, undefined> {
    if (res.status === 204) {
      if (this.#given && this.source.last) throw new ProtocolError(`run ${this.run}: the server says that it has ended, and not how`);
      this.ended = true; // the run has ended, and nothing is behind the cursor
      return;
    }
    if (!res.headers.get("content-type")?.startsWith("text/event-stream")) {
      res.body?.cancel().catch(() => {});
      throw new ProtocolError("the server did not answer with a stream of events");
    }
    if (!res.body) throw new ProtocolError("the server answered with no body");
    for await (const ev of readEvents(res.body, { silence: this.http.silence })) {
      if (ev.id !== undefined && ev.id !== "") {
        if (this.lastEventId && compareCursors(ev.id, this.lastEventId) <= 0) continue; // given before
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
 * A run being read. It is read as it is iterated over; several loops, and `final`, may do so at once, and each gets all events
 * from when it began. A loop that is left, or ended by a lost connection, can be followed by another, which goes on with the
 * next event. Leaving does not stop the run: `cancel` does, or the server when nobody reads it for its grace period.
 */
export abstract class RunStream<E, S> implements AsyncIterable<E> {
  readonly #reader: Reader;
  #source: AsyncGenerator<Frame, void, undefined> | undefined;
  #pending: Promise<void> | undefined;
  readonly #queues = new Set<E[]>();
  #broken: ProtocolError | undefined; // what follows it would be told wrongly
  #cancelled = false;

  /** @internal */
  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The run's id, once the server has named it. */
  get run(): string | undefined {
    return this.#reader.run;
  }

  /** The cursor behind the newest event. */
  get lastEventId(): string {
    return this.#reader.lastEventId;
  }

  /** Whether the last event has come. */
  get ended(): boolean {
    return this.#reader.ended;
  }

  /** What the events add up to so far. */
  abstract get snapshot(): S;

  /** Takes an event in; undefined: there is nothing to tell of it. */
  protected abstract take(frame: Frame): E | undefined;

  /** Takes up what an event says the run is, where the connection did not tell. */
  protected named(run: string): void {
    this.#reader.run ??= run;
  }

  /** The whole, once it is there. */
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

  /** Tells the server to stop the run. Its stream then soon ends. */
  async cancel(o: { signal?: AbortSignal } = {}): Promise<void> {
    const run = this.run;
    if (run === undefined) throw new SluiceError("the run has not begun", 0, "NOT_STARTED");
    if (this.#cancelled) return; // a second cancel would take back another question of this client
    this.#cancelled = true;
    try {
      await this.#reader.http.json({ method: "POST", path: `/runs/${encodeURIComponent(run)}/cancel`, signal: o.signal });
    } catch (err) {
      this.#cancelled = false;
      throw err;
    }
  }

  // advance reads one event for all who wait.
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

/** A run's events as the protocol sends them, undecoded: for protocols that this client has no types of. */
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

/** Reads an event's data, which is an object. */
export function decode<T extends object>(frame: Frame): T {
  let cause: unknown;
  try {
    const data: unknown = JSON.parse(frame.data);
    if (typeof data === "object" && data !== null) return data as T;
  } catch (err) {
    cause = err;
  }
  throw new ProtocolError(`event ${frame.id} of run ${frame.run} is no object of JSON`, { cause });
}
