import { ConnectionError, refusal, SluiceError } from "../../../clients/typescript/src/errors.js";
import { Http, sleep } from "../../../clients/typescript/src/http.js";
import { streamOf } from "../../../clients/typescript/src/runs.js";
import { Reader } from "../../../clients/typescript/src/stream.js";
import { isLast, type RunEvent } from "../run/event.js";
import { apply, empty, type RunState } from "../run/state.js";

/** Where and how a chat asks. */
export interface Settings {
  server: string;
  key: string;
  collection: string;
  mode: string;
}

/** Why a question has no answer. */
export type Problem = "refused" | "busy" | "offline" | "failed";

/** A question with its answer. */
export interface Turn {
  question: string;
  run?: string | undefined;
  state?: RunState | undefined;
  problem?: Problem | undefined;
}

/** A conversation with a server. It is kept for the tab of the browser, so that it goes on when the next page of the site is opened. */
export class Talk {
  turns: Turn[] = [];
  #session: string;
  #stop: AbortController | undefined;
  readonly #http: Http;
  readonly #stored: string;

  /** Calls changed with a turn after each change of it. */
  constructor(readonly settings: Settings, readonly changed: (turn: Turn) => void) {
    this.#http = new Http({ baseUrl: settings.server, ...(settings.key && { apiKey: settings.key }), retries: 3 });
    this.#stored = `sluice-chat ${settings.server} ${settings.collection}`;
    const kept = read(this.#stored);
    this.#session = kept?.session ?? newID();
    this.turns = kept?.turns ?? [];
  }

  get busy(): boolean {
    return this.#stop !== undefined;
  }

  /** Reads the answers of the turns that were kept. */
  async restore(): Promise<void> {
    for (const turn of [...this.turns]) if (turn.run && this.turns.includes(turn)) await this.#during(turn, (signal) => this.#read(turn, signal));
  }

  /** Asks a question. It does not throw. */
  async ask(question: string): Promise<void> {
    const turn: Turn = { question };
    this.turns.push(turn);
    await this.again(turn);
  }

  /** Asks the question of a turn, or reads on if it was asked and has not failed. */
  async again(turn: Turn): Promise<void> {
    turn.problem = undefined;
    if (turn.state?.status === "failed") turn.run = turn.state = undefined;
    this.changed(turn);
    await this.#during(turn, async (signal) => {
      turn.run ??= await this.#start(turn.question, signal);
      this.#keep();
      await this.#read(turn, signal);
    });
  }

  /** Cancels the answer that is being written. */
  async cancel(): Promise<void> {
    const run = this.turns.at(-1)?.run;
    if (run) await this.#http.send({ method: "POST", path: `/runs/${encodeURIComponent(run)}/cancel` }).catch(() => this.#stop?.abort());
    else this.#stop?.abort();
  }

  /** Begins another conversation. */
  clear(): void {
    this.close();
    this.turns = [];
    this.#session = newID();
    this.#keep();
  }

  /** Stops reading. */
  close(): void {
    this.#stop?.abort();
    this.#stop = undefined;
  }

  async #during(turn: Turn, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const stop = (this.#stop = new AbortController());
    try {
      await work(stop.signal);
    } catch (err) {
      if (!stop.signal.aborted) {
        turn.problem = problemOf(err);
        if (err instanceof SluiceError && err.status === 404) turn.run = turn.state = undefined; // it was deleted
        console.warn("sluice-chat:", err instanceof Error ? err.message : err); // for the owner of the site
      }
    } finally {
      if (this.#stop === stop) this.#stop = undefined;
      this.changed(turn);
    }
  }

  // start asks, and returns the id of the run. The stream of the reply is not read, because the run is read in another protocol.
  async #start(query: string, signal: AbortSignal): Promise<string> {
    const { collection, mode } = this.settings;
    const reply = new AbortController();
    signal.addEventListener("abort", () => reply.abort(), { once: true });
    const json = { query, session_id: this.#session, ...(collection && { collection }), ...(mode && { mode }) };
    const res = await this.#http.once({ method: "POST", path: "/api/query/stream", json, signal: reply.signal, stream: true, headers: { Accept: "text/event-stream" } });
    if (!res.ok) throw await refusal(res);
    const run = res.headers.get("Sluice-Run-Id");
    reply.abort();
    if (!run) throw new SluiceError("the reply has no id of a run", res.status, "UNKNOWN");
    return run;
  }

  // read reads a run to its end. A lost connection is resumed.
  async #read(turn: Turn, signal: AbortSignal): Promise<void> {
    const state = (turn.state = empty(turn.run));
    let after: string | undefined;
    for (let failures = 0; ; failures++) {
      try {
        const reader = new Reader(this.#http, { run: turn.run, after, signal, resume: streamOf("events") });
        for await (const frame of reader.frames()) {
          const e = JSON.parse(frame.data) as RunEvent;
          apply(state, e);
          after = frame.id;
          failures = 0;
          this.changed(turn);
          if (isLast(e)) return;
        }
        return;
      } catch (err) {
        if (signal.aborted || !(err instanceof ConnectionError) || failures > 5) throw err;
        await sleep(1000 * failures, signal);
      }
    }
  }

  #keep(): void {
    const turns = this.turns.filter((t) => t.run).map(({ question, run }) => ({ question, run })).slice(-20);
    try {
      sessionStorage.setItem(this.#stored, JSON.stringify({ session: this.#session, turns }));
    } catch {
      // the conversation ends with the page
    }
  }
}

function read(name: string): { session: string; turns: Turn[] } | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name) ?? "null") as { session: string; turns: Turn[] } | null;
    return kept && typeof kept.session === "string" && Array.isArray(kept.turns) ? kept : undefined;
  } catch {
    return undefined;
  }
}

// newID returns an id that cannot be guessed, because everyone who knows it can continue the conversation. randomUUID needs a page with TLS.
const newID = () => "chat-" + Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

function problemOf(err: unknown): Problem {
  if (!(err instanceof SluiceError)) return "offline"; // browsers hide why: an origin that is not permitted looks the same
  if (err.status === 401 || err.status === 403) return "refused";
  return err.status === 429 || err.status === 503 ? "busy" : "failed";
}
