import type { CallOptions, Http } from "./http.js";
import { TurnStream } from "./turn.js";
import type {
  Feedback, MessageList, MessageListQuery, Session, SessionList, SessionListQuery, SessionMessage, SessionRequest, SessionUpdate, TurnRequest,
} from "./types.js";

const base = "/v1/rag/sessions";

/** Conversations. */
export class Sessions {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a session. Without `session_id`, the server makes an id. */
  create(request: SessionRequest = {}, o: CallOptions = {}): Promise<Session> {
    return this.#http.json({ method: "POST", path: base, json: request, signal: o.signal });
  }

  get(id: string, o: CallOptions = {}): Promise<Session> {
    return this.#http.json({ path: at(id), repeatable: true, signal: o.signal });
  }

  /** Returns a page of sessions, the last used one first. */
  list(query: SessionListQuery = {}, o: CallOptions = {}): Promise<SessionList> {
    return this.#http.json({ path: base, query, repeatable: true, signal: o.signal });
  }

  /** Yields all sessions that the query selects, page by page. */
  async *all(query: Omit<SessionListQuery, "after"> = {}, o: CallOptions = {}): AsyncGenerator<Session, void, undefined> {
    let after: string | undefined;
    do {
      const page: SessionList = await this.list({ ...query, ...(after && { after }) }, o);
      yield* page.sessions;
      after = page.next === after ? undefined : page.next;
    } while (after);
  }

  /** Changes the given fields. */
  update(id: string, update: SessionUpdate, o: CallOptions = {}): Promise<Session> {
    return this.#http.json({ method: "PATCH", path: at(id), json: update, signal: o.signal });
  }

  /** Deletes a session, and its runs unless `keepRuns` is set. */
  delete(id: string, o: CallOptions & { keepRuns?: boolean } = {}): Promise<void> {
    return this.#http.done({ method: "DELETE", path: at(id), query: { runs: o.keepRuns ? "keep" : undefined }, repeatable: true, signal: o.signal });
  }

  /** Returns the newest messages of a branch in the order of the conversation; `before` continues with older ones. */
  messages(id: string, query: MessageListQuery = {}, o: CallOptions = {}): Promise<MessageList> {
    return this.#http.json({ path: at(id) + "/messages", query, repeatable: true, signal: o.signal });
  }

  /** Yields all messages of a branch, the last one first. */
  async *history(id: string, query: Omit<MessageListQuery, "before"> = {}, o: CallOptions = {}): AsyncGenerator<SessionMessage, void, undefined> {
    let page = await this.messages(id, query, o);
    for (;;) {
      yield* page.messages.reverse();
      if (!page.next) return;
      page = await this.messages(id, { ...(query.limit && { limit: query.limit }), before: page.next }, o);
    }
  }

  /**
   * Asks a question in a session; each step of the answer is a part. The question is sent when the stream is first read. After a lost
   * connection, the stream resumes with the next byte. A question that may have arrived is not sent again.
   */
  send(id: string, request: TurnRequest, o: CallOptions = {}): TurnStream {
    return new TurnStream(this.#http, {
      start: { method: "POST", path: at(id) + "/messages/stream", json: request },
      citations: request.citations,
      signal: o.signal,
    });
  }

  /** Streams the run of an answer from its start, whether it is active or finished. */
  stream(run: string, o: CallOptions = {}): TurnStream {
    return new TurnStream(this.#http, { run, signal: o.signal });
  }

  /** Rates an answer. */
  rate(id: string, message: string, rating: "good" | "bad", o: CallOptions & { reason?: string } = {}): Promise<Feedback> {
    const json = { rating, ...(o.reason && { reason: o.reason }) };
    return this.#http.json({ method: "PUT", path: feedback(id, message), json, repeatable: true, signal: o.signal });
  }

  /** Removes the rating of an answer. */
  unrate(id: string, message: string, o: CallOptions = {}): Promise<void> {
    return this.#http.done({ method: "DELETE", path: feedback(id, message), repeatable: true, signal: o.signal });
  }

  /** Returns the response with an export: the active branch as Markdown, or all branches as JSON. */
  export(id: string, format: "markdown" | "json" = "markdown", o: CallOptions = {}): Promise<globalThis.Response> {
    return this.#http.send({ path: at(id) + "/export", query: { format }, repeatable: true, signal: o.signal });
  }
}

function at(id: string): string {
  return `${base}/${encodeURIComponent(id)}`;
}

function feedback(id: string, message: string): string {
  return `${at(id)}/messages/${encodeURIComponent(message)}/feedback`;
}
