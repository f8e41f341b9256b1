import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, ProtocolError, readEvents, type ServerSentEvent } from "@sluice-rag/client";
import { all, pieces, random } from "./support.js";

const bytes = (text: string) => new TextEncoder().encode(text);

function parse(text: string | Uint8Array, max?: number): ServerSentEvent[] {
  return new EventParser(max).push(typeof text === "string" ? bytes(text) : text);
}

// The examples of the HTML standard's section 9.2.6, and the cases that its rules of parsing name.
const cases: [name: string, stream: string, want: [id: string | undefined, event: string, data: string][]][] = [
  ["lines of data", "data: YHOO\ndata: +2\ndata: 10\n\n", [[undefined, "message", "YHOO\n+2\n10"]]],
  ["ids and comments", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
    [["1", "message", "first event"], ["", "message", "second event"], [undefined, "message", " third event"]]],
  ["empty data, and an end that cuts", "data\n\ndata\ndata\n\ndata:", [[undefined, "message", ""], [undefined, "message", "\n"]]],
  ["one space", "data:test\n\ndata: test\n\n", [[undefined, "message", "test"], [undefined, "message", "test"]]],
  ["line ends", "data: a\r\ndata: b\rdata: c\n\rdata: d\r\r\ndata: e\n\n", [[undefined, "message", "a\nb\nc"], [undefined, "message", "d"], [undefined, "message", "e"]]],
  ["names", "event: x\ndata: 1\n\ndata: 2\n\nevent: y\n\ndata: 3\n\n", [[undefined, "x", "1"], [undefined, "message", "2"], [undefined, "message", "3"]]],
  ["a BOM", "\ufeffdata: a\n\n\ufeffdata: b\n\ndata: \ufeffc\n\n", [[undefined, "message", "a"], [undefined, "message", "\ufeffc"]]],
  ["ids with NUL", "id: a\0b\ndata: 1\n\n", [[undefined, "message", "1"]]],
  ["unknown fields", "foo: 1\nDATA: 2\n data: 3\ndata : 4\n:data: 5\ndata: 6\n\n", [[undefined, "message", "6"]]],
  ["colons", "data: a: b\nevent: x: y\n\n", [[undefined, "x: y", "a: b"]]],
  ["separators of lines that are none", "data: a\u2028b\u2029c\u0085d\u000be\n\n", [[undefined, "message", "a\u2028b\u2029c\u0085d\u000be"]]],
  ["nothing", "", []],
  ["blank lines", "\n\r\n\r\n\n", []],
];

for (const [name, stream, want] of cases) {
  test(`parser: ${name}`, () => {
    assert.deepEqual(parse(stream).map((e) => [e.id, e.event, e.data]), want);
  });
}

test("parser: the last id stands, also of an event without data, and not of one that is cut off", () => {
  const p = new EventParser();
  p.push(bytes("id: 1\ndata: a\n\n"));
  assert.equal(p.lastEventId, "1");
  p.push(bytes("data: b\n\nid: 2\n"));
  assert.equal(p.lastEventId, "1");
  p.push(bytes("\n"));
  assert.equal(p.lastEventId, "2");
  p.push(bytes("retry: 120\nretry: 1x\nretry: -1\nretry:\n\n"));
  assert.equal(p.retry, 120);
});

test("parser: the result does not depend on chunk boundaries", () => {
  const next = random(7);
  const words = ["data: ", "data", "id: ", "event: ", ": ", "retry: 10", "\n", "\r", "\r\n", "\n\n", "é", "日本", "\u{1f600}", "\ufeff", "x", ":", " ", "\0", "12"];
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: next(60) }, () => words[next(words.length)]).join("");
    const raw = bytes(text);
    const whole = new EventParser();
    const want = whole.push(raw);
    const cut = new EventParser();
    const got: ServerSentEvent[] = [];
    for (let at = 0; at < raw.length; ) {
      const n = next(4) === 0 ? 0 : 1 + next(1 + next(6));
      got.push(...cut.push(raw.subarray(at, at + n)));
      at += n;
    }
    assert.deepEqual(got, want, JSON.stringify(text));
    assert.equal(cut.lastEventId, whole.lastEventId, JSON.stringify(text));
    assert.deepEqual(want.map(({ event, data }) => ({ event, data })), plain(text), JSON.stringify(text));
  }
});

// plain parses a whole text line by line, as the standard's prose does.
function plain(text: string): { event: string; data: string }[] {
  const out: { event: string; data: string }[] = [];
  let event = "", data: string[] = [];
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  lines.pop(); // what did not end
  for (const line of lines) {
    if (line === "") {
      if (data.length > 0) out.push({ event: event || "message", data: data.join("\n") });
      event = "", data = [];
      continue;
    }
    const [, field, value = ""] = /^([^:]*)(?::[ ]?([^]*))?$/.exec(line)!;
    if (field === "data") data.push(value);
    if (field === "event") event = value;
  }
  return out;
}

test("parser: bytes that are no UTF-8 are replaced", () => {
  assert.equal(parse(Uint8Array.from([...bytes("data: a"), 0xff, 0xc3, ...bytes("b\n\n")]))[0]!.data, "a\ufffd\ufffdb");
});

test("parser: an event is bounded, its lines together, and comments too", () => {
  assert.equal(parse("data: " + "x".repeat(90) + "\n\n", 100)[0]!.data.length, 90);
  for (const big of ["data: " + "x".repeat(100), "data: 1234567\n".repeat(8), ":".repeat(101), "data\n".repeat(21)]) {
    assert.throws(() => parse(big, 100), ProtocolError);
    const p = new EventParser(100);
    assert.throws(() => { for (const b of bytes(big)) p.push(Uint8Array.of(b)); }, ProtocolError);
  }
  assert.equal(parse("data: 1234567\n\n".repeat(100), 100).length, 100);
});

test("parser: a huge line in small pieces, and many lines in one, cost what they are long", () => {
  const p = new EventParser();
  const piece = bytes("x".repeat(64));
  const began = performance.now();
  p.push(bytes("data: "));
  for (let i = 0; i < 100_000; i++) p.push(piece);
  assert.equal(p.push(bytes("\n\n"))[0]!.data.length, 6_400_000);
  assert.equal(parse("data: x\n\n".repeat(200_000)).length, 200_000);
  assert.equal(parse("data: x\r\r".repeat(200_000)).length, 200_000);
  assert.ok(performance.now() - began < 8000, "quadratic time");
});

test("body: events come as they are whole, and leaving closes the connection", async () => {
  assert.deepEqual((await all(readEvents(pieces("data: 1\n", "\ndata", ": 2\n\ndata: 3\n\nda")))).map((e) => e.data), ["1", "2", "3"]);
  let closed = false;
  const endless = new ReadableStream<Uint8Array>({ pull: (c) => c.enqueue(bytes("data: x\n\n")), cancel: () => { closed = true; } });
  for await (const _ of readEvents(endless)) break;
  assert.ok(closed);
});

test("body: the idle timeout ends it, and comments reset the timeout", async () => {
  let beats = 0;
  let timer: NodeJS.Timeout;
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      timer = setInterval(() => {
        if (++beats <= 6) c.enqueue(bytes(": keep-alive\n\n"));
      }, 20);
    },
    cancel: () => clearInterval(timer),
  });
  await assert.rejects(all(readEvents(body, { idleTimeout: 60 })), /no data for 60 ms/);
  assert.ok(beats > 6, `given up after ${beats} signs of life`);
});
