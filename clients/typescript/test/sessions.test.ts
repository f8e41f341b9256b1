// Sessions of a whole server, and turns over connections that break anywhere or lie.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, ProtocolError, RunError, SluiceError, type TurnPart } from "@sluice-rag/client";
import { all, client, pieces, random, whole } from "./support.js";

const sluice = client({ baseUrl: whole });
const question = "Who keeps the tower?";

// collection returns a vector store with a document.
async function collection(): Promise<string> {
  const file = await sluice.files.upload("The keeper of the tower is Márta Quill. She has kept the tower since 1987.\n", { filename: "tower.md" });
  await sluice.tasks.wait(file.task_id);
  return (await sluice.vectorStores.create({ name: "Towers", file_ids: [file.id] })).id;
}

test("sessions: what is created, asked, rated and exported is there until it is deleted", async () => {
  const store = await collection();
  const made = await sluice.sessions.create({ title: "Keepers" });
  const id = made.session_id;
  const { text, trailer } = await sluice.sessions.send(id, { content: question, collection: store }).final();
  assert.equal(trailer.session_id, id);
  await sluice.sessions.send(id, { content: "Since when?", collection: store }).final();
  const page = await sluice.sessions.messages(id, { limit: 3 });
  assert.deepEqual(page.messages.map((m) => m.role), ["assistant", "user", "assistant"]);
  assert.equal(page.messages[0]!.content, text);
  assert.deepEqual((await all(sluice.sessions.history(id, { limit: 3 }))).map((m) => m.role), ["assistant", "user", "assistant", "user"]);
  assert.equal((await sluice.sessions.rate(id, trailer.message_id, "bad", { reason: "no" })).rating, "bad");
  await sluice.sessions.unrate(id, trailer.message_id);
  assert.equal((await sluice.sessions.update(id, { title: "Lights", archived: true })).title, "Lights");
  assert.ok((await all(sluice.sessions.all({ archived: "true", limit: 1 }))).some((s) => s.session_id === id));
  assert.equal((await sluice.sessions.list({ q: "lights" })).sessions.length, 0);
  assert.match(await (await sluice.sessions.export(id)).text(), /^# Lights\n/);
  assert.equal(((await (await sluice.sessions.export(id, "json")).json()) as { messages: unknown[] }).messages.length, 4);
  await sluice.sessions.delete(id);
  await assert.rejects(sluice.sessions.get(id), (err) => err instanceof SluiceError && err.code === "NOT_FOUND");
  await assert.rejects(sluice.sessions.send(id, { content: question }).final(), SluiceError);
});

// shape joins pieces of text that follow each other.
function shape(parts: TurnPart[]): TurnPart[] {
  const out: TurnPart[] = [];
  for (const p of parts) {
    const last = out.at(-1);
    if (p.type === "text" && last?.type === "text") out[out.length - 1] = { type: "text", text: last.text + p.text };
    else out.push(p);
  }
  return out;
}

test("turns: connections that break at random bytes lose and repeat nothing", async () => {
  const store = await collection();
  const { session_id: id } = await sluice.sessions.create();
  for (const citations of ["trailer", "inline"] as const) {
    for (let seed = 0; seed < 10; seed++) {
      const below = random(seed);
      const asked: string[] = [];
      const fetch = async (url: string, init?: RequestInit) => {
        const res = await globalThis.fetch(url, init);
        if (!res.headers.get("content-type")?.startsWith("text/plain")) return res;
        asked.push(init?.method ?? "GET");
        let left = 1 + below(200);
        const cut = new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, c) {
            c.enqueue(chunk.slice(0, left));
            left -= Math.min(left, chunk.length);
            if (left === 0) {
              if (below(2)) c.terminate();
              else c.error(new Error("cut"));
            }
          },
        });
        return new Response(res.body!.pipeThrough(cut), res);
      };
      const stream = client({ baseUrl: whole, fetch }).sessions.send(id, { content: question, collection: store, citations });
      for await (const _ of stream) break; // the next loop continues
      await all(stream);
      const again = shape(await all(client({ baseUrl: whole }).sessions.stream(stream.run!)));
      const text = again.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("");
      assert.equal(stream.text.replace(/ \[\d+\]/g, citations === "inline" ? "" : "$&"), text);
      assert.equal(stream.trailer!.run_id, stream.run);
      assert.equal(asked.filter((m) => m === "POST").length, 1);
      assert.ok(asked.length > 3);
    }
  }
});

function turn(text: string | Uint8Array, run = "run_1"): Response {
  return new Response(pieces(text), { headers: { "content-type": "text/plain; charset=utf-8", ...(run && { "sluice-run-id": run }) } });
}

// from gives a client of a server that gives one answer after the other, and the last one again and again.
function from(answers: (() => Response)[]) {
  const urls: URL[] = [];
  const fetch = async (url: string) => {
    urls.push(new URL(url));
    return answers[Math.min(urls.length, answers.length) - 1]!();
  };
  return { urls, stream: client({ baseUrl: "http://x.test", fetch, retries: 2 }).sessions.send("a/b", { content: "why?" }) };
}

test("turns: what is no stream of the turn is an error at once", async () => {
  const begun = '{"type":"search","status":"started"}\n\x1dte';
  const big = (n: number) => new Uint8Array(n).fill(0x78);
  for (const [what, want, asked, ...answers] of [
    ["a page", ProtocolError, 1, () => new Response("<p>", { headers: { "content-type": "text/html", "sluice-run-id": "run_1" } })],
    ["nothing", ProtocolError, 1, () => new Response(null, { status: 204 })],
    ["no run", ProtocolError, 1, () => turn(begun, "")],
    ["an invalid run", ProtocolError, 1, () => turn(begun, "../x")],
    ["another run", ProtocolError, 2, () => turn(begun), () => turn("xt", "run_2")],
    ["an untold end", ProtocolError, 2, () => turn(begun), () => new Response(null, { status: 204 })],
    ["no JSON", ProtocolError, 1, () => turn("<p>\n")],
    ["a list", ProtocolError, 1, () => turn("[]\n")],
    ["a long line", ProtocolError, 1, () => turn(big(2 << 20))],
    ["the trailer of another run", ProtocolError, 1, () => turn('\x1d\x1e{"run_id":"run_2"}')],
    ["no end", ConnectionError, 3, () => turn(begun), () => turn("")],
    ["a deleted run", SluiceError, 2, () => turn(begun), () => globalThis.Response.json({ error: "not_found", message: "no such run" }, { status: 404 })],
    ["a failed run", RunError, 1, () => turn('\x1dno\x1e{"run_id":"run_1","error":{"code":"timeout","message":"too late"}}')],
  ] as const) {
    const { urls, stream } = from([...answers]);
    await assert.rejects(stream.final(), (err) => err instanceof want, what);
    assert.equal(urls.length, asked, what);
    if (asked > 1) assert.equal(urls[1]!.searchParams.get("offset"), String(begun.length), what);
    assert.equal(urls[0]!.pathname, "/v1/rag/sessions/a%2Fb/messages/stream");
  }
});

test("turns: characters that arrive in two connections are whole", async () => {
  const { stream } = from([() => turn(new Uint8Array([0x1d, 0x61, 0xe6, 0xbc])), () => turn(new Uint8Array([0xa2, 0x1e, 0x7b, ...new TextEncoder().encode('"run_id":"run_1"}')]))]);
  assert.equal((await stream.final()).text, "a漢");
});
