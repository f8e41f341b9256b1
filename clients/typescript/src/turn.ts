import { ConnectionError, ProtocolError, refusal, RunError, SluiceError } from "./errors.js";
import { type Call, type Http, passing } from "./http.js";
import { readChunks } from "./sse.js";
import type { TurnReview, TurnSearch, TurnTrailer } from "./types.js";

/** A part of the stream of a turn, discriminated by `type`. The trailer is the last one. */
export type TurnPart = TurnSearch | TurnReview | { type: "text"; text: string } | { type: "trailer"; trailer: TurnTrailer };

/** Defines how a stream is started and resumed. */
export interface TurnSource {
  /** Request that asks the question; undefined if the run exists. */
  start?: Call | undefined;
  run?: string | undefined;
  /** The field of the question, on which the bytes of the stream depend. */
  citations?: string | undefined;
  signal?: AbortSignal | undefined;
}

// Limits of what a stream holds, in bytes; of the text, in UTF-16 units.
const maxLine = 1 << 20;
const maxTrailer = 8 << 20;
const maxText = 16 << 20;

// The bytes between the phases of a stream.
const answerMark = 0x1d;
const trailerMark = 0x1e;

/**
 * The stream of a turn of a session, in the turns protocol. Iterating reads it; one loop can read it at a time. After a loop was left or
 * has failed, another loop continues with the next part. Leaving a loop does not stop the run: `cancel` does, and the server does if the run
 * has no readers for its grace period.
 */
export class TurnStream implements AsyncIterable<TurnPart> {
  /** The id of the run; undefined until the server has sent it. */
  run: string | undefined;
  /** The text of the answer so far. */
  text = "";
  /** Set at the end. */
  trailer: TurnTrailer | undefined;
  readonly #http: Http;
  readonly #source: TurnSource;
  readonly #parser = new TurnParser();
  readonly #parts: TurnPart[] = []; // that were read and not yielded
  #reading = false;
  #failed: unknown; // error of the question, which is not sent again

  /** @internal */
  constructor(http: Http, source: TurnSource) {
    this.#http = http;
    this.#source = source;
    this.run = source.run;
  }

  /** Reads to the end and returns the text and the trailer. Throws a RunError if the run failed or was cancelled. */
  async final(): Promise<{ run: string; text: string; trailer: TurnTrailer }> {
    for await (const _ of this);
    const state = { run: this.run!, text: this.text, trailer: this.trailer! };
    const failure = state.trailer.error;
    if (failure) throw new RunError(failure.message, failure.code.toUpperCase(), this.run, state);
    return state;
  }

  /** Cancels the run. Its stream ends soon after. */
  async cancel(o: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.run === undefined) throw new SluiceError("the run has not started", 0, "NOT_STARTED");
    await this.#http.json({ method: "POST", path: `/runs/${encodeURIComponent(this.run)}/cancel`, signal: o.signal });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnPart, void, undefined> {
    if (this.#reading) throw new TypeError("the stream is being read already");
    this.#reading = true;
    try {
      for (let failures = 0; ; ) {
        for (let part = this.#parts.shift(); part !== undefined; part = this.#parts.shift()) yield part;
        if (this.trailer) return;
        const before = this.#parser.received;
        let cause: unknown;
        try {
          const res = await this.#open();
          for await (const chunk of readChunks(res.body!, this.#http.idleTimeout)) {
            this.#take(this.#parser.push(chunk));
            for (let part = this.#parts.shift(); part !== undefined; part = this.#parts.shift()) yield part;
            if (this.trailer) return;
          }
        } catch (err) {
          this.#source.signal?.throwIfAborted();
          if (this.run === undefined || err instanceof ProtocolError || (err instanceof SluiceError && !passing(this.#http, err))) throw err;
          cause = err;
        }
        if (this.#parser.received !== before) failures = 0;
        if (failures++ >= this.#http.retries) {
          throw new ConnectionError(`run ${this.run}: connection lost after byte ${this.#parser.received}`, this.run, undefined, { cause });
        }
        await this.#http.pause(failures - 1, cause instanceof SluiceError ? (cause.retryAfter ?? 0) : 0, this.#source.signal);
      }
    } finally {
      this.#reading = false;
    }
  }

  // take adds parts to the state.
  #take(parts: TurnPart[]): void {
    for (const part of parts) {
      if (part.type === "text") {
        if (this.text.length + part.text.length > maxText) throw new ProtocolError(`run ${this.run}: an answer of over ${maxText} characters`);
        this.text += part.text;
      } else if (part.type === "trailer") {
        if (part.trailer.run_id !== this.run) throw new ProtocolError(`run ${this.run}: the trailer is that of another run`);
        this.trailer = part.trailer;
      }
      this.#parts.push(part);
    }
  }

  async #open(): Promise<Response> {
    const { start, citations, signal } = this.#source;
    const headers = { Accept: "text/plain" };
    let res: Response;
    if (this.run === undefined) {
      if (this.#failed !== undefined) throw this.#failed;
      try {
        res = await this.#http.send({ ...start!, signal, stream: true, headers });
        this.run = checked(res, undefined);
      } catch (err) {
        this.#failed = err;
        throw err;
      }
    } else {
      const path = `/runs/${encodeURIComponent(this.run)}/stream`;
      res = await this.#http.once({ path, query: { protocol: "turns", offset: this.#parser.received, citations }, signal, stream: true, headers });
      if (res.status >= 300) throw await refusal(res);
      checked(res, this.run);
    }
    return res;
  }
}

// checked returns the id of the run of a reply, which is a stream of that run.
function checked(res: Response, run: string | undefined): string {
  const id = res.headers.get("sluice-run-id") ?? "";
  let wrong: string | undefined;
  if (res.status !== 200 || !res.headers.get("content-type")?.startsWith("text/plain") || !res.body) wrong = "the reply is not the stream of a turn";
  else if (!/^[\w-]{1,64}$/.test(id)) wrong = "the reply has no valid id of a run";
  else if (run !== undefined && id !== run) wrong = `run ${run}: the reply is for another run, ${id}`;
  if (wrong === undefined) return id;
  res.body?.cancel().catch(() => {});
  throw new ProtocolError(wrong);
}

/** Splits the bytes of a stream into parts. */
export class TurnParser {
  /** Number of bytes so far. A stream can be resumed there. */
  received = 0;
  #phase: "lines" | "text" | "trailer" | "end" = "lines";
  #held = new Uint8Array(0); // the last bytes, which belong to no part yet
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  /** Returns the parts that the next bytes complete. Throws a ProtocolError if the bytes are not those of the protocol. */
  push(chunk: Uint8Array): TurnPart[] {
    const held = new Uint8Array(this.#held.length + chunk.length);
    held.set(this.#held);
    held.set(chunk, this.#held.length);
    this.#held = held;
    this.received += chunk.length;
    const parts: TurnPart[] = [];
    while (this.#held.length > 0 && this.#next(parts));
    return parts;
  }

  // next takes a part or a mark. It returns false if more bytes are needed.
  #next(parts: TurnPart[]): boolean {
    const b = this.#held;
    switch (this.#phase) {
      case "lines": {
        if (b[0] === answerMark) {
          this.#phase = "text";
          return this.#take(1) !== undefined;
        }
        const end = b.indexOf(0x0a) + 1;
        if (end === 0) {
          if (b.length > maxLine) throw new ProtocolError(`a line of over ${maxLine} bytes`);
          return false;
        }
        const line = this.#take(end);
        if (line.trim() !== "") {
          const step = objectOf<TurnSearch | TurnReview>(line, "a line");
          if (step.type === "search" || step.type === "review") parts.push(step); // other types are of a later version
        }
        return true;
      }
      case "text": {
        const end = b.indexOf(trailerMark);
        if (end === 0) {
          this.#phase = "trailer";
          return this.#take(1) !== undefined;
        }
        const text = this.#take(end > 0 ? end : whole(b));
        if (text !== "") parts.push({ type: "text", text });
        return text !== "";
      }
      case "trailer": {
        if (b.length > maxTrailer) throw new ProtocolError(`a trailer of over ${maxTrailer} bytes`);
        if (b[b.length - 1] !== 0x7d) return false; // only the last byte of the object can complete it
        const text = this.#decoder.decode(b);
        try {
          JSON.parse(text);
        } catch {
          return false;
        }
        const trailer = objectOf<TurnTrailer>(text, "the trailer");
        this.#take(b.length);
        this.#phase = "end";
        parts.push({ type: "trailer", trailer });
        return false;
      }
      case "end":
        return false;
    }
  }

  #take(n: number): string {
    const text = this.#decoder.decode(this.#held.subarray(0, n));
    this.#held = this.#held.subarray(n);
    return text;
  }
}

// whole returns the length of the bytes without an incomplete character at their end.
function whole(b: Uint8Array): number {
  for (let n = b.length - 1; n >= 0 && n >= b.length - 4; n--) {
    const c = b[n]!;
    if ((c & 0xc0) === 0x80) continue;
    const size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return n + size > b.length ? n : b.length;
  }
  return b.length;
}

function objectOf<T extends object>(text: string, what: string): T {
  let v: unknown;
  try {
    v = JSON.parse(text);
  } catch {
    v = undefined;
  }
  if (typeof v !== "object" || v === null || Array.isArray(v)) throw new ProtocolError(`${what} of the stream is not a JSON object`);
  return v as T;
}
