import { SluiceError } from "../../../clients/typescript/src/index.js";
import { refusal } from "../../../clients/typescript/src/errors.js";
import { TurnParser } from "../../../clients/typescript/src/turn.js";
import { messageOf, sluice, unreachable } from "../lib/api.js";
import { type Protocol, readRequest } from "./request.js";

/** A frame as the server sends it. */
export interface RawFrame {
  n: number; // from 1
  id: string; // in turns, the number of bytes up to its end
  event: string;
  data: string;
  size: number; // bytes of data
  /** Number of the event of the run that it shows; 0: not known. */
  seq: number;
  arrived: number; // milliseconds since the first frame arrived
}

const encoder = new TextEncoder();

/** The frames of a run in a protocol, read from its beginning, live or afterwards. */
export class FrameLog {
  /** Is replaced at most once in 100 ms. */
  frames = $state.raw<readonly RawFrame[]>([]);
  bytes = $state(0);
  ended = $state(false);
  error = $state<string>();
  readonly #all: RawFrame[] = [];
  readonly #stop = new AbortController();
  #began = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(run: string, protocol: Protocol) {
    void this.#read(run, protocol);
  }

  close(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  async #read(run: string, protocol: Protocol): Promise<void> {
    const { signal } = this.#stop;
    try {
      if (protocol === "turns") await this.#readTurns(readRequest(run, protocol).path, signal);
      else for await (const f of sluice.runs.frames(run, { protocol, signal })) this.#add(f.id, f.event, f.data, Number(f.id.split(".")[0]));
    } catch (err) {
      if (!signal.aborted) this.error = unreachable(err) || err instanceof SluiceError ? messageOf(err) : String(err);
    } finally {
      this.#show();
      this.ended = true;
    }
  }

  // readTurns reads the protocol that is text, not server-sent events. Its parts are shown as frames.
  async #readTurns(path: string, signal: AbortSignal): Promise<void> {
    const res = await fetch(path, { signal });
    if (!res.ok || !res.body) throw await refusal(res);
    const parser = new TurnParser();
    const reader = res.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const part of parser.push(value)) {
        const data = part.type === "text" ? part.text : JSON.stringify(part.type === "trailer" ? part.trailer : part);
        this.#add(String(parser.received), part.type, data, 0);
      }
    }
  }

  #add(id: string, event: string, data: string, seq: number): void {
    this.#began ||= performance.now();
    const size = encoder.encode(data).length;
    this.#all.push({ n: this.#all.length + 1, id, event, data, size, seq: seq || 0, arrived: performance.now() - this.#began });
    this.#timer ??= setTimeout(() => this.#show(), 100);
  }

  #show(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.bytes = this.#all.reduce((n, f) => n + f.size, 0);
    this.frames = this.#all.slice();
  }
}

/** Returns the data of a frame with line breaks and indents, if it is JSON. */
export function pretty(data: string): string {
  try {
    return JSON.stringify(JSON.parse(data), undefined, 2);
  } catch {
    return data;
  }
}
