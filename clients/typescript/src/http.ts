import { ConnectionError, refusal, retryAfter, SluiceError } from "./errors.js";

/** What makes headers, by the platform's own names: types of Node have none for it. */
export type HeadersOf = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** A request's body. */
export type BodyOf = NonNullable<RequestInit["body"]>;

/** Settings of a client. */
export interface Options {
  /**
   * Where the server is, such as http://127.0.0.1:8000, with a path where it stands behind a prefix; default: where the page
   * comes from. A user and password in it are sent as Basic authorization.
   */
  baseUrl?: string | URL | undefined;
  /**
   * Sent with each request; a function is asked before each, so that a token can be renewed. Where the server redirects to another
   * host, the platform's fetch leaves out Authorization and nothing else.
   */
  headers?: HeadersOf | (() => HeadersOf | Promise<HeadersOf>) | undefined;
  /** Used in place of the platform's own. */
  fetch?: ((input: string, init?: RequestInit) => Promise<Response>) | undefined;
  /** Attempts in a row without anything new before a request or stream gives up; default 5. */
  retries?: number | undefined;
  /** Milliseconds before the first of them, doubled each time up to 10 s, with jitter; default 200. */
  backoff?: number | undefined;
  /** Milliseconds that a Retry-After may ask for; a longer one is an error for the caller to see. Default 60,000. */
  maxRetryAfter?: number | undefined;
  /** Milliseconds of silence after which a stream's connection is made anew; 0: never. Default 45,000, three heartbeats. */
  silence?: number | undefined;
}

/** What goes with a single request. */
export interface CallOptions {
  /** Ends the request, and a stream with it; a run goes on at the server for its grace period. */
  signal?: AbortSignal | undefined;
}

/** One request. */
export interface Call extends CallOptions {
  method?: "GET" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string | number | boolean | undefined> | undefined;
  headers?: Record<string, string> | undefined;
  json?: unknown;
  /** A body that is not JSON. A function makes it anew for each attempt. */
  body?: (() => BodyOf) | undefined;
  /**
   * Whether it may be sent again after a connection was lost: reading may. What changes something is sent again only where the
   * server said that it did not take it (429, or 503 with Retry-After).
   */
  repeatable?: boolean;
  /** Whether it can not be sent again at all, since its body is gone. */
  once?: boolean;
  /** In place of the client's own. */
  fetch?: (input: string, init?: RequestInit) => Promise<Response>;
  /** Statuses of 300 and over that are answers. */
  accept?: number[];
  /** Whether the answer is a stream: one that does not begin within `silence` is given up. */
  stream?: boolean;
}

/** Sends requests: base address, headers, errors, waits and further attempts. */
export class Http {
  readonly retries: number;
  readonly backoff: number;
  readonly silence: number;
  readonly maxRetryAfter: number;
  readonly #base: string;
  readonly #authorization: string | undefined;
  readonly #o: Options;
  /** By which the server knows whose questions a cancel takes back. */
  readonly #name = Array.from(globalThis.crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

  constructor(o: Options) {
    this.#o = o;
    [this.#base, this.#authorization] = parseBase(o.baseUrl ?? "");
    this.retries = o.retries ?? 5;
    this.backoff = o.backoff ?? 200;
    this.silence = o.silence ?? 45_000;
    this.maxRetryAfter = o.maxRetryAfter ?? 60_000;
  }

  /** The address of a path. */
  url(path: string, query: Call["query"] = {}): string {
    const parameters = new URLSearchParams();
    for (const [k, v] of Object.entries(query)) {
      if (v !== undefined) parameters.set(k, String(v));
    }
    const tail = parameters.toString();
    return this.#base + path + (tail && "?" + tail);
  }

  /** The headers of every request, joined by those given. */
  async headers(more: Record<string, string> = {}): Promise<Headers> {
    const given = this.#o.headers;
    const headers = new Headers(typeof given === "function" ? await given() : given);
    if (this.#authorization && !headers.has("authorization")) headers.set("Authorization", this.#authorization);
    for (const [k, v] of Object.entries(more)) headers.set(k, v);
    return headers;
  }

  /** Whether requests go through the platform's own fetch. */
  get native(): boolean {
    return this.#o.fetch === undefined;
  }

  /** Sends one request and gives its response, of whatever status. */
  async once(call: Call): Promise<Response> {
    const init: RequestInit & { duplex?: "half" } = { method: call.method ?? "GET", headers: await this.headers(call.headers) };
    if (init.method === "POST") (init.headers as Headers).set("Sluice-Client", this.#name);
    if (call.signal) init.signal = call.signal;
    if (call.json !== undefined) {
      init.body = JSON.stringify(call.json);
      (init.headers as Headers).set("Content-Type", "application/json");
    } else if (call.body) {
      init.body = call.body();
      if (init.body instanceof ReadableStream) init.duplex = "half"; // which the platforms that can do it ask for
    }
    call.signal?.throwIfAborted();
    const send = call.fetch ?? this.#o.fetch ?? ((input: string, init?: RequestInit) => globalThis.fetch(input, init));
    const answer = send(this.url(call.path, call.query), init);
    return call.stream && this.silence ? begun(answer, this.silence) : answer;
  }

  /** Sends a request, again where that is right. A status of 300 and over, which is no redirect that was followed, is a SluiceError. */
  async send(call: Call): Promise<Response> {
    for (let failures = 0; ; failures++) {
      let wait = 0;
      try {
        const res = await this.once(call);
        if (res.status < 300 || call.accept?.includes(res.status)) return res;
        const asked = retryAfter(res);
        const again = res.status === 429 || (res.status === 503 && (call.repeatable || asked !== undefined)) ||
          (call.repeatable && (res.status === 502 || res.status === 504));
        if (!again || call.once || failures >= this.retries || (asked ?? 0) > this.maxRetryAfter) throw await refusal(res);
        res.body?.cancel().catch(() => {});
        wait = asked ?? 0;
      } catch (err) {
        call.signal?.throwIfAborted();
        if (err instanceof SluiceError) throw err;
        if (!call.repeatable || failures >= this.retries) throw lost(call, err);
      }
      await this.pause(failures, wait, call.signal);
    }
  }

  /** Sends a request and gives the JSON of its response. */
  async json<T>(call: Call): Promise<T> {
    for (let failures = 0; ; failures++) {
      const res = await this.send(call);
      try {
        return (await res.json()) as T;
      } catch (err) {
        call.signal?.throwIfAborted();
        if (!call.repeatable || failures >= this.retries) throw lost(call, err);
      }
      await this.pause(failures, 0, call.signal);
    }
  }

  /** Waits before attempt n+1: at least `least`, and between half of the backoff and all of it. */
  async pause(n: number, least: number, signal: AbortSignal | undefined): Promise<void> {
    const longest = Math.min(this.backoff * 2 ** n, 10_000);
    await sleep(Math.max(least, 0) + longest * (least > 0 ? Math.random() / 2 : (1 + Math.random()) / 2), signal);
  }
}

/** Waits, or throws the signal's reason once that is set. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}

// begun gives up an answer that does not begin. One that comes late all the same is closed.
async function begun(answer: Promise<Response>, silence: number): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), silence);
  });
  const res = await Promise.race([answer, silent]).finally(() => clearTimeout(timer));
  if (res) return res;
  answer.then((late) => late.body?.cancel()).catch(() => {});
  throw new ConnectionError(`nothing came for ${silence} ms`);
}

function lost(call: Call, cause: unknown): ConnectionError {
  return new ConnectionError(`${call.method ?? "GET"} ${call.path}: the connection failed`, undefined, undefined, { cause });
}

function parseBase(base: string | URL): [base: string, authorization: string | undefined] {
  const text = String(base);
  if (text === "" || text.startsWith("/")) return [text.replace(/\/+$/, ""), undefined];
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new TypeError("baseUrl: not a URL");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError("baseUrl: want http or https");
  let authorization: string | undefined;
  if (url.username || url.password) {
    const secret = new TextEncoder().encode(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`);
    authorization = "Basic " + btoa(String.fromCharCode(...secret));
  }
  return [url.origin + url.pathname.replace(/\/+$/, ""), authorization];
}
