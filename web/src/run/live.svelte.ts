import { SluiceError } from "../../../clients/typescript/src/index.js";
import { closeReply, messageOf, sluice, unreachable } from "../lib/api.js";
import { isLast, type RunEvent } from "./event.js";
import { apply, empty, type RunState } from "./state.js";

/** How a finished run is shown: how many times faster than it was made; 0 shows it at once. */
export type Speed = 0 | 1 | 4;

/**
 * A run that is read from the server, live or afterwards. The stream resumes after a lost connection. State changes at most once in 60 ms, so that a
 * fast model does not slow the page down.
 */
export class LiveRun {
  state = $state<RunState>(empty());
  /** The server cannot be reached; another attempt follows. */
  offline = $state(false);
  /** Why the run cannot be read. */
  error = $state<string>();
  /** There is no such run, or not any more. */
  missing = $state(false);
  readonly id: string;
  /** When each event happened, in milliseconds since the first one, by the number of the event. */
  readonly times: number[] = [];
  /** Is resolved when there is nothing more to read. */
  readonly ended: Promise<void>;
  readonly #stop = new AbortController();
  #arrived = 0; // when the last event was applied

  constructor(id: string, speed: Speed = 0) {
    this.id = id;
    this.state.id = id;
    this.ended = this.#read(speed).finally(() => {
      clearInterval(clock);
      closeReply(this.id);
    });
    const clock = setInterval(() => {
      if (this.state.status === "running" && this.state.seq > 0 && !this.offline && !this.error) this.state.now = this.state.last + (performance.now() - this.#arrived) * (speed || 1);
    }, 250);
  }

  /** Stops reading. The run goes on. */
  close(): void {
    this.#stop.abort();
  }

  /** Cancels the run. */
  async cancel(): Promise<void> {
    await sluice.runs.cancel(this.id);
  }

  async #read(speed: Speed): Promise<void> {
    const pending: RunEvent[] = [];
    let scheduled: ReturnType<typeof setTimeout> | undefined;
    let flushed = 0;
    const flush = () => {
      clearTimeout(scheduled);
      scheduled = undefined;
      flushed = this.#arrived = performance.now();
      for (const e of pending.splice(0)) apply(this.state, e);
    };
    const take = (e: RunEvent) => {
      pending.push(e);
      if (isLast(e) || document.hidden) return flush();
      scheduled ??= setTimeout(flush, flushed + 60 - performance.now());
    };
    const began = performance.now();
    let first = 0; // time of the first event
    let after: string | undefined;
    for (let failures = 0; !this.#stop.signal.aborted; ) {
      try {
        const stream = sluice.runs.frames(this.id, { protocol: "events", after, signal: this.#stop.signal });
        for await (const frame of stream) {
          closeReply(this.id);
          const e = JSON.parse(frame.data) as RunEvent;
          first ||= Date.parse(e.at);
          const at = (this.times[e.seq] = Date.parse(e.at) - first);
          if (speed) await wait(at / speed - (performance.now() - began));
          if (this.#stop.signal.aborted) return;
          if (isLast(e)) {
            flush();
            await wait(5); // what the page shows at the end is made in a task of its own
          }
          take(e);
          after = frame.id;
          failures = 0;
          this.offline = false;
          if (isLast(e)) return;
        }
        return flush(); // the log has no last event: the store refused it
      } catch (err) {
        flush();
        if (this.#stop.signal.aborted) return;
        if (!unreachable(err) && !(err instanceof SluiceError && err.status >= 500)) {
          this.missing = err instanceof SluiceError && err.status === 404;
          this.error = messageOf(err);
          return;
        }
        this.offline = true;
        await wait(Math.min(10_000, 500 * 2 ** failures++));
      }
    }
  }
}

// wait waits for some milliseconds, if they are noticeable.
async function wait(ms: number): Promise<void> {
  if (ms > 4) await new Promise((done) => setTimeout(done, ms));
}
