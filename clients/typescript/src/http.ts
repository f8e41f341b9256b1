import { ConnectionError, refusal, retryAfter, SluiceError } from "./errors.js";

/** The argument of the Headers constructor, for which the types of Node have no name. */
export type HeadersOf = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** A request's body. */
export type BodyOf = NonNullable<RequestInit["body"]>;

/** Settings of a client. */
export interface Options {
  /**
   * The address of the server, such as http://127.0.0.1:8000, with a path if the server has a prefix. The default is the origin
   * of the page. A user name and password in it are sent as Basic authorization.
   */
  baseUrl?: string | URL | undefined;
  /** An API key, sent as `Authorization: Bearer` unless `headers` has that field. */
  apiKey?: string | undefined;
  /**
   * Headers of each request. A function is called before each request, so that it can renew a token. If the server redirects to
   * another host, fetch removes only the Authorization header.
   */
  headers?: HeadersOf | (() => HeadersOf | Promise<HeadersOf>) | undefined;
  /** Replaces the fetch of the platform. */
  fetch?: ((input: string, init?: RequestInit) => Promise<Response>) | undefined;
  /** Maximum number of consecutive failed attempts of a request or stream; default 5. */
  retries?: number | undefined;
  /** Milliseconds before the first retry, doubled each time up to 10 s, with jitter; default 200. */
  backoff?: number | undefined;
  /** Maximum Retry-After in milliseconds; a longer one is an error. Default 60,000. */
  maxRetryAfter?: number | undefined;
  /** Milliseconds without data after which a stream reconnects; 0 disables it. Default 45,000, three heartbeats. */
  idleTimeout?: number | undefined;
}

/** Options of a single request. */
export interface CallOptions {
  /** Aborts the request or stream. The run continues on the server for its grace period. */
  signal?: AbortSignal | undefined;
}

/** One request. */
export interface Call extends CallOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | boolean | undefined> | undefined;
  headers?: Record<string, string> | undefined;
  json?: unknown;
  /** Returns a body that is not JSON, for each attempt. */
  body?: (() => BodyOf) | undefined;
  /**
   * Whether the request can be repeated after a lost connection, as requests that only read can. Others are only repeated if the
   * server has rejected them (429, or 503 with Retry-After).
   */
  repeatable?: boolean;
  /** Whether the request can not be repeated, because its body is consumed. */
  once?: boolean;
  /** Replaces the fetch of the client. */
  fetch?: (input: string, init?: RequestInit) => Promise<Response>;
  /** Statuses of 300 or higher that are not errors. */
  accept?: number[];
  /** Whether the response is a stream, which must start within `idleTimeout`. */
  stream?: boolean;
}

/** Sends requests, with base URL, headers, errors and retries. */
export class Http {
  readonly retries: number;
  readonly backoff: number;
  readonly idleTimeout: number;
  readonly maxRetryAfter: number;
  readonly #base: string;
  readonly #authorization: string | undefined;
  readonly #o: Options;
  /** Identifies this client to the server, for cancellation. */
  readonly #name = Array.from(globalThis.crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

  constructor(o: Options) {
    this.#o = o;
    [this.#base, this.#authorization] = parseBase(o.baseUrl ?? "");
    this.retries = o.retries ?? 5;
    this.backoff = o.backoff ?? 200;
    this.idleTimeout = o.idleTimeout ?? 45_000;
    this.maxRetryAfter = o.maxRetryAfter ?? 60_000;
  }

  /** Returns the URL of a path. */
  url(path: string, query: Call["query"] = {}): string {
    const parameters = new URLSearchParams();
    for (const [k, v] of Object.entries(query)) {
      if (v !== undefined) parameters.set(k, String(v));
    }
    const tail = parameters.toString();
    return this.#base + path + (tail && "?" + tail);
  }

  /** Returns the headers of a request. */
  async headers(more: Record<string, string> = {}): Promise<Headers> {
    const given = this.#o.headers;
    const headers = new Headers(typeof given === "function" ? await given() : given);
    if (this.#o.apiKey && !headers.has("authorization")) headers.set("Authorization", `Bearer ${this.#o.apiKey}`);
    if (this.#authorization && !headers.has("authorization")) headers.set("Authorization", this.#authorization);
    for (const [k, v] of Object.entries(more)) headers.set(k, v);
    return headers;
  }

  /** Whether requests use the fetch of the platform. */
  get native(): boolean {
    return this.#o.fetch === undefined;
  }

  /** Sends one request and returns its response with any status. */
  async once(call: Call): Promise<Response> {
    const init: RequestInit & { duplex?: "half" } = { method: call.method ?? "GET", headers: await this.headers(call.headers) };
    if (init.method === "POST") (init.headers as Headers).set("Sluice-Client", this.#name);
    if (call.signal) init.signal = call.signal;
    if (call.json !== undefined) {
      init.body = JSON.stringify(call.json);
      (init.headers as Headers).set("Content-Type", "application/json");
    } else if (call.body) {
      init.body = call.body();
      if (init.body instanceof ReadableStream) init.duplex = "half"; // required for streams
    }
    call.signal?.throwIfAborted();
    const send = call.fetch ?? this.#o.fetch ?? ((input: string, init?: RequestInit) => globalThis.fetch(input, init));
    const answer = send(this.url(call.path, call.query), init);
    return call.stream && this.idleTimeout ? begun(answer, this.idleTimeout) : answer;
  }

  /** Sends a request and repeats it if possible. Throws a SluiceError for a status of 300 or higher that is not a followed redirect. */
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

  /** Sends a request whose response has no content. */
  async done(call: Call): Promise<void> {
    const res = await this.send(call);
    res.body?.cancel().catch(() => {});
  }

  /** Sends a request and returns the JSON of its response. */
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

  /** Waits before attempt n+1: between half of the backoff and all of it, and at least `least`. */
  async pause(n: number, least: number, signal: AbortSignal | undefined): Promise<void> {
    const longest = Math.min(this.backoff * 2 ** n, 10_000);
    await sleep(Math.max(least, 0) + longest * (least > 0 ? Math.random() / 2 : (1 + Math.random()) / 2), signal);
  }
}

/** Reports whether an error of a stream is temporary. */
export function passing(http: Http, err: SluiceError): boolean {
  return (err.status === 429 || err.status >= 500) && (err.retryAfter ?? 0) <= http.maxRetryAfter;
}

/** Waits, and throws the reason of the signal if it is aborted. */
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

// begun throws if the response does not start in time, and closes a late response.
async function begun(answer: Promise<Response>, idleTimeout: number): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), idleTimeout);
  });
  const res = await Promise.race([answer, silent]).finally(() => clearTimeout(timer));
  if (res) return res;
  answer.then((late) => late.body?.cancel()).catch(() => {});
  throw new ConnectionError(`no data for ${idleTimeout} ms`);
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
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError("baseUrl: must be http or https");
  let authorization: string | undefined;
  if (url.username || url.password) {
    const secret = new TextEncoder().encode(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`);
    authorization = "Basic " + btoa(String.fromCharCode(...secret));
  }
  return [url.origin + url.pathname.replace(/\/+$/, ""), authorization];
}
