import assert from "node:assert/strict";
import { test } from "node:test";
import { citations, outputText, ProtocolError, type Response, type ResponseEvent, type ResponseRequest } from "@sluice-rag/client";
import { all, client, random, scripted, via } from "./support.js";

const direct = client({ baseUrl: scripted });
const modes = ["snapshot", "delta"] as const;
type Mode = (typeof modes)[number];

function asked(input: string, mode: Mode): ResponseRequest {
  return { input, stream_options: { mode }, no_cache: true };
}

// same leaves out what two runs may differ in: ids and times.
function same(r: Response): unknown {
  assert.notEqual(r.status, "in_progress");
  const text = JSON.stringify(r, (key, value: unknown) => (key === "created_at" || key === "duration_ms" ? undefined : value)); // 0 ms are left out
  return JSON.parse(text.replaceAll(r.id.replace(/^run_/, ""), "ID"));
}

for (const mode of modes) {
  for (const query of ["short", "long", "cached", "failing", "nothing", "thinking"]) {
    test(`respond: what ${query} adds up to in ${mode}s is what the server keeps`, async () => {
      const stream = direct.respond(asked(query, mode));
      const events = await all(stream);
      const kept = await direct.responses.get(stream.run!);
      assert.deepEqual(stream.snapshot, kept);
      if (kept.error) await assert.rejects(stream.final(), { name: "RunError", code: kept.error.reason, message: kept.error.message, state: kept });
      else assert.deepEqual(await stream.final(), kept);
      assert.equal(stream.text, outputText(kept));
      assert.deepEqual(events.at(-1)?.response, kept);
      for (const e of events) {
        const marks = [...outputText(e.response).matchAll(/⟦⟦(\d+)⟧⟧/g)].map((m) => Number(m[1]));
        assert.ok(Math.max(0, ...marks) <= citations(e.response).length, `${e.event} marks what is not cited`);
      }
      if (mode === "delta" && query === "long") assert.ok(events.some((e) => e.delta), "no deltas");
      if (mode === "snapshot") assert.ok(events.every((e) => e.delta === undefined));
    });
  }
}

const spoilt = [
  "frames-1-reset-0 short", "frames-1-clean-0 short", "frames-3-reset-0 long", "frames-4-clean-0 long", "packed-4000-reset-0 long",
  "hang-3-reset-2 short", "frames-1-reset-0 thinking", "frames-2-reset-0 cached",
];
for (const mode of modes) {
  for (const [what, query] of spoilt.map((s) => s.split(" ") as [string, string])) {
    test(`respond: ${what} of a ${query} run in ${mode}s ends with the same response`, async () => {
      const { baseUrl, counts } = via(what);
      const stream = client({ baseUrl, idleTimeout: 1000, retries: 3 }).respond(asked(query, mode));
      const events = await all(stream);
      const kept = await direct.responses.get(stream.run!);
      assert.deepEqual(stream.snapshot, kept);
      assert.deepEqual(same(kept), same((await direct.respond(asked(query, mode)).final())));
      if (mode === "delta") assert.equal(inPieces(events), outputText(kept).length, "a piece is missing, or there twice");
      const n = await counts();
      assert.equal(n["POST /v1/responses"], 1);
      const small = mode === "snapshot" && what.startsWith("packed"); // few snapshots of a quick run may fit
      assert.ok(small || n[`GET /runs/${stream.run}/stream`]! >= 1, "the connection was made anew");
    });
  }
}

// inPieces follows the text's length over the events: it never falls.
function inPieces(events: ResponseEvent[]): number {
  let length = 0;
  for (const e of events) {
    const now = outputText(e.response).length;
    assert.ok(now >= length);
    length = now;
  }
  return length;
}

for (const mode of modes) {
  test(`respond: cut once behind every event of ${mode}s, it goes on with the next`, async () => {
    const plain = direct.respond(asked("short way", mode));
    const n = (await all(plain)).length;
    assert.ok(n >= 6, `only ${n} events`);
    await Promise.all(Array.from({ length: n + 1 }, async (_, i) => {
      const { baseUrl, counts } = via(`frames-${i + 1}-${i % 2 ? "reset" : "clean"}-1`);
      const stream = client({ baseUrl }).respond(asked("short way", mode));
      assert.deepEqual(same(await stream.final()), same(plain.snapshot!));
      assert.equal((await counts())["POST /v1/responses"], 1);
    }));
  });

  test(`respond: ${mode}s that come again are taken once`, async () => {
    const { id } = await direct.respond(asked("long", mode)).final(); // of a finished run they are the same each time
    const { baseUrl, counts } = via("again-1-clean-3");
    assert.deepEqual(await client({ baseUrl }).responses.stream(id, { mode }).final(), await direct.responses.get(id));
    const n = await counts();
    assert.ok(n[`GET /runs/${id}/stream`]! > 1, JSON.stringify([n, id]));
  });

  test(`respond: a loop over ${mode}s that is left at every event can be followed by another`, async () => {
    const stream = direct.respond(asked("short", mode));
    while (!stream.ended) for await (const _ of stream) break;
    assert.deepEqual(stream.snapshot, await direct.responses.get(stream.run!));
  });

  test(`respond: a finished response is told again in ${mode}s, whatever it was asked by`, async () => {
    const ask = direct.ask({ query: "short" });
    await ask.final();
    const stream = direct.responses.stream(ask.run!, { mode });
    assert.deepEqual(await stream.final(), await direct.responses.get(ask.run!));
  });
}

test("respond: a client that misses any set of snapshots ends in the same state", async () => {
  const next = random(11);
  const whole = direct.respond(asked("long", "snapshot"));
  const want = await whole.final();
  for (let round = 0; round < 10; round++) {
    const dropping = async (url: string, init?: RequestInit) => {
      const res = await fetch(url, init);
      const frames = (await res.text()).split(/(?<=\n\n)/);
      const kept = frames.filter((_, i) => i >= frames.length - 2 || next(3) === 0);
      return new globalThis.Response(kept.join(""), res);
    };
    assert.deepEqual(await client({ baseUrl: scripted, fetch: dropping }).responses.stream(whole.run!).final(), want);
  }
});

test("respond: snapshots are not changed by what follows them, and share what is the same", async () => {
  const seen: [Response, string][] = [];
  for await (const e of direct.respond(asked("long", "delta"))) seen.push([e.response, JSON.stringify(e.response)]);
  for (const [response, text] of seen) assert.equal(JSON.stringify(response), text);
  const shared = seen.filter(([r], i) => i > 0 && r.output[0] !== undefined && r.output[0] === seen[i - 1]![0].output[0]);
  assert.ok(shared.length > 10, "nothing is shared");
});

test("respond: a change of what was never told is an error", async () => {
  for (const frames of [
    ["response.output_text.delta", '{"item_id":"m","output_index":0,"content_index":0,"delta":"x"}'],
    ["response.created", '{"object":"response","id":"r","output":[]}', "response.output_text.delta", '{"item_id":"m","output_index":1,"content_index":0,"delta":"x"}'],
    ["response.created", '{"object":"response","id":"r","output":[]}', "response.refusal.delta", '{"item_id":"m","output_index":0,"content_index":0,"delta":"x"}'],
    ["response.created", '{"object":"response","id":"r","output":[{"id":"o","type":"message","content":[]}]}', "response.output_text.delta",
      '{"item_id":"m","output_index":0,"content_index":0,"delta":"x"}'],
    ["response.created", '{"object":"response","id":"r","output":[{"id":"m","type":"message","content":[]}]}', "response.output_text.delta",
      '{"item_id":"m","output_index":0,"content_index":1,"delta":"x"}'],
    ["done", "{}"],
  ]) {
    let body = "";
    for (let i = 0; i < frames.length; i += 2) body += `id: ${i + 1}\nevent: ${frames[i]}\ndata: ${frames[i + 1]}\n\n`;
    const fetch = async () => new globalThis.Response(body, { headers: { "content-type": "text/event-stream", "sluice-run-id": "r" } });
    const stream = client({ baseUrl: "http://x.test", fetch }).respond(asked("q", "delta"));
    await assert.rejects(stream.final(), ProtocolError);
    await assert.rejects(stream.final(), ProtocolError, "a broken stream does not continue");
  }
});

test("respond: a response can be stopped while it is made", async () => {
  const stream = direct.respond(asked("waiting", "snapshot"));
  for await (const e of stream) {
    if (outputText(e.response) === "" || e.response.status !== "in_progress") continue;
    const stopped = await direct.responses.cancel(stream.run!);
    assert.notEqual(stopped.status, "in_progress");
  }
  assert.ok(stream.snapshot!.status !== "in_progress" && stream.text.length > 0);
});

test("respond: stored responses are listed, continued and deleted", async () => {
  const first = await direct.respond(asked("short", "snapshot")).final();
  const second = await direct.respond({ ...asked("short", "snapshot"), previous_response_id: first.id }).final();
  assert.equal(second.previous_response_id, first.id);
  const page = await direct.responses.list({ limit: 1 });
  assert.equal(page.data.length, 1);
  const ids: string[] = [];
  for await (const r of direct.responses.all()) ids.push(r.id);
  assert.ok(ids.includes(first.id) && ids.indexOf(second.id) < ids.indexOf(first.id));
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(await direct.responses.delete(first.id), { id: first.id, object: "response.deleted", deleted: true });
  await assert.rejects(direct.responses.get(first.id), { name: "SluiceError", status: 404, code: "NOT_FOUND" });
});

test("respond: a wrong field is named", async () => {
  await assert.rejects(direct.respond({ input: "q", temperature: 9 }).final(), { name: "SluiceError", status: 400, code: "INVALID_REQUEST", field: "temperature" });
  await assert.rejects(direct.respond({ input: [] }).final(), { name: "SluiceError", status: 400 });
});
