import { ConnectionError, ProtocolError } from "./errors.js";

/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  /** The id of this event; undefined if it has none, so that the last id stays valid. */
  id: string | undefined;
  /** The name of the event, by default "message". */
  event: string;
  data: string;
}

/** Default of the maximum length of the lines of an event, in UTF-16 units. */
export const maxEvent = 16 << 20;

/**
 * Parses server-sent events from chunks of bytes, as defined by the HTML standard
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream): lines end with CR, LF or CRLF,
 * and a BOM at the start is ignored. Chunks can end anywhere, also within a character. Each byte is scanned once. An incomplete
 * event at the end of the stream is ignored.
 */
export class EventParser {
  /** The id of the last complete event, with or without data; empty before the first. */
  lastEventId = "";
  /** Reconnection time in milliseconds, if the stream has set one. */
  retry: number | undefined;

  readonly #decoder = new TextDecoder();
  readonly #max: number;
  #line = ""; // incomplete line
  #size = 0; // size of the earlier lines of the event
  #skipLF = false; // the last line ended with CR: skip a following LF
  #id: string | undefined;
  #name = "";
  #data: string[] = [];

  constructor(max = maxEvent) {
    this.#max = max;
  }

  /** Parses the next chunk and returns the events that it completes. Throws a ProtocolError if an event is too long. */
  push(piece: Uint8Array): ServerSentEvent[] {
    const text = this.#decoder.decode(piece, { stream: true });
    const events: ServerSentEvent[] = [];
    let from = this.#skipLF && text[0] === "\n" ? 1 : 0;
    if (text !== "") this.#skipLF = false;
    let cr = text.indexOf("\r", from);
    let lf = text.indexOf("\n", from);
    while (cr >= 0 || lf >= 0) {
      const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
      this.#take(text.slice(from, end));
      this.#endLine(events);
      from = end + 1;
      if (end === cr) {
        if (from === text.length) this.#skipLF = true;
        else if (lf === from) from++;
      }
      if (cr >= 0 && cr < from) cr = text.indexOf("\r", from);
      if (lf >= 0 && lf < from) lf = text.indexOf("\n", from);
    }
    this.#take(text.slice(from));
    return events;
  }

  #take(text: string): void {
    if (this.#size + this.#line.length + text.length > this.#max) {
      throw new ProtocolError(`an event of the stream is longer than ${this.#max} characters`);
    }
    this.#line += text;
  }

  #endLine(events: ServerSentEvent[]): void {
    const line = this.#line;
    this.#line = "";
    this.#size += line.length + 1;
    if (line === "") {
      this.#dispatch(events);
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    switch (field) {
      case "data":
        this.#data.push(value);
        break;
      case "event":
        this.#name = value;
        break;
      case "id":
        if (!value.includes("\0")) this.#id = value;
        break;
      case "retry":
        if (/^[0-9]{1,9}$/.test(value)) this.retry = Number(value);
        break;
    }
  }

  #dispatch(events: ServerSentEvent[]): void {
    if (this.#id !== undefined) this.lastEventId = this.#id;
    if (this.#data.length > 0) events.push({ id: this.#id, event: this.#name || "message", data: this.#data.join("\n") });
    this.#id = undefined;
    this.#name = "";
    this.#data = [];
    this.#size = 0;
  }
}

/** Limits of reading. */
export interface ReadOptions {
  /** Maximum length of the lines of an event in characters; default 16 Mi. */
  maxEvent?: number | undefined;
  /** Milliseconds without data after which reading fails; default: no limit. */
  idleTimeout?: number | undefined;
}

/**
 * Yields the events of a response body until its end. Throws the error of an interrupted body, and a ConnectionError after
 * `idleTimeout` without data. Leaving the loop closes the connection.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>, o: ReadOptions = {}): AsyncGenerator<ServerSentEvent, void, undefined> {
  const parser = new EventParser(o.maxEvent);
  for await (const chunk of readChunks(body, o.idleTimeout)) yield* parser.push(chunk);
}

/** Yields the bytes of a response body, with the errors of `readEvents`. */
export async function* readChunks(body: ReadableStream<Uint8Array>, idleTimeout?: number): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  let heard = Date.now();
  let silent = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watch = (wait: number) => {
    timer = setTimeout(() => {
      const left = heard + idleTimeout! - Date.now();
      if (left > 0) return watch(left);
      silent = true;
      reader.cancel().catch(() => {}); // ends the pending read
    }, wait);
  };
  if (idleTimeout) watch(idleTimeout);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (silent) throw new ConnectionError(`no data for ${idleTimeout} ms`);
      if (done) return;
      yield value;
      heard = Date.now(); // exclude the time of the caller
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {}); // no effect if it has ended
  }
}
