import { ConnectionError, ProtocolError } from "./errors.js";

/** One event of a stream as it was read. */
export interface ServerSentEvent {
  /** The id that this event has set itself; undefined where it has none and the last one stands. */
  id: string | undefined;
  /** "message" where the stream gave no name. */
  event: string;
  data: string;
}

/** Characters (UTF-16 units) that one event's lines may have together, unless told otherwise. */
export const maxEvent = 16 << 20;

/**
 * Reads server-sent events from pieces of bytes, as the HTML standard defines them
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream): lines end with CR, LF or CRLF,
 * also where a piece ends between the two; a BOM at the start is no text; a piece may end within a character. Each byte is
 * looked at once, however the stream is cut. What the stream's end cuts off is not given.
 */
export class EventParser {
  /** The id of the last event that came whole, whether or not it had data; empty before the first. */
  lastEventId = "";
  /** Milliseconds that the stream asked to wait before a reconnection, once it has. */
  retry: number | undefined;

  readonly #decoder = new TextDecoder();
  readonly #max: number;
  #line = ""; // what has come of a line that has not ended
  #size = 0; // of the event's lines before it
  #skipLF = false; // the last line ended with CR, so an LF that follows belongs to it
  #id: string | undefined;
  #name = "";
  #data: string[] = [];

  constructor(max = maxEvent) {
    this.#max = max;
  }

  /** Takes the next piece and gives the events that it completes. An event over the limit is a ProtocolError. */
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
      throw new ProtocolError(`an event of the stream is over ${this.#max} characters`);
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

/** Bounds of reading. */
export interface ReadOptions {
  /** Characters that one event's lines may have together; default 16 Mi. */
  maxEvent?: number | undefined;
  /** Milliseconds of silence after which the connection is given up; default: none. */
  silence?: number | undefined;
}

/**
 * Gives the events of a response's body as they come, up to its end. A body that breaks off with an error throws it, and one
 * that is silent for too long a ConnectionError. Leaving the loop closes the connection.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>, o: ReadOptions = {}): AsyncGenerator<ServerSentEvent, void, undefined> {
  const parser = new EventParser(o.maxEvent);
  const reader = body.getReader();
  let heard = Date.now();
  let silent = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watch = (wait: number) => {
    timer = setTimeout(() => {
      const left = heard + o.silence! - Date.now();
      if (left > 0) return watch(left);
      silent = true;
      reader.cancel().catch(() => {}); // ends the read that waits
    }, wait);
  };
  if (o.silence) watch(o.silence);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (silent) throw new ConnectionError(`nothing came for ${o.silence} ms`);
      if (done) return;
      heard = Date.now();
      for (const ev of parser.push(value)) yield ev;
      heard = Date.now(); // the time that the caller took is not the stream's
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {}); // of one that has ended or failed: nothing
  }
}
