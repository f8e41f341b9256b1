import assert from "node:assert/strict";
import { test } from "node:test";
import { type AskEvent, ConnectionError, type Filter, ProtocolError, SluiceError } from "@sluice-rag/client";
import { all, client, scripted, via } from "./support.js";

const direct = client({ baseUrl: scripted });

// steps are the events with what may differ left out: times, and which tokens share an event.
function steps(events: AskEvent[]): unknown[] {
  return events.filter((e) => e.type !== "token").map((e) => (e.type === "done" ? { ...e, total_time_ms: 0 } : e));
}

function told(events: AskEvent[]): string {
  return events.map((e) => (e.type === "token" ? e.content : "")).join("");
}

for (const query of ["short", "long", "cached", "failing", "nothing"]) {
  test(`ask: what ${query} adds up to is what the server keeps`, async () => {
    const stream = direct.ask({ query });
    assert.equal(stream.run, undefined);
    const events = await all(stream);
    const { answer, status } = await direct.runs.get(stream.run!);
    const s = stream.snapshot;
    assert.equal(s.text, answer.answer);
    assert.equal(told(events), answer.answer);
    assert.deepEqual(s.sources, answer.sources);
    assert.deepEqual(s.verification, answer.verification);
    assert.deepEqual(s.error, answer.error);
    assert.equal(s.cached, answer.cached);
    assert.equal(s.done?.total_time_ms, s.done && answer.total_time_ms);
    assert.equal(s.run, answer.run_id);
    assert.equal(status, s.error ? "failed" : "finished");
    assert.ok(stream.ended);
    if (s.error) await assert.rejects(stream.final(), { name: "RunError", code: s.error.code, message: s.error.message, run: s.run, state: s });
    else assert.deepEqual(await stream.final(), s);
    assert.deepEqual(await all(stream), [], "nothing follows the end");
  });
}

// Each way of breaking connections, and what is asked. The longest event of the long run has some 8 KB.
const spoilt = [
  "frames-1-reset-0 short", "frames-1-clean-0 short", "frames-2-reset-0 short", "frames-20-clean-0 long", "bytes-9000-reset-0 long",
  "bytes-9001-clean-0 long", "bytes-9777-reset-0 long", "packed-3000-reset-0 long", "packed-3001-clean-0 long", "hang-3-reset-2 short",
];
for (const [what, query] of spoilt.map((s) => s.split(" ") as [string, string])) {
  test(`ask: ${what} of a ${query} run loses nothing and gives nothing twice`, async () => {
    const want = await all(direct.ask({ query }));
    const { baseUrl, counts } = via(what);
    const stream = client({ baseUrl, idleTimeout: 1000, retries: 3 }).ask({ query });
    const got = await all(stream);
    assert.equal(told(got), told(want));
    assert.deepEqual(steps(got), steps(want));
    const n = await counts();
    assert.equal(n["POST /api/query/stream"], 1, "the question was asked once");
    assert.ok(n[`GET /runs/${stream.run}/stream`]! >= 1, "the connection was made anew");
  });
}

test("ask: cut once behind every event, it goes on with the next", async () => {
  const query = "short way";
  const want = await all(direct.ask({ query }));
  await Promise.all(want.map(async (_, i) => {
    const { baseUrl, counts } = via(`frames-${i + 1}-${i % 2 ? "reset" : "clean"}-1`);
    const stream = client({ baseUrl }).ask({ query });
    const got = await all(stream);
    assert.equal(told(got), told(want));
    assert.deepEqual(steps(got), steps(want));
    assert.equal((await counts())["POST /api/query/stream"], 1);
  }));
});

test("ask: events that come again are given once", async () => {
  // Of a finished run they are the same each time, but where readers share what was made for those who read it live.
  const headers = { "accept-encoding": "identity" };
  const { run } = await direct.ask({ query: "long" }).final();
  const want = await all(client({ baseUrl: scripted, headers }).runs.stream(run!));
  const { baseUrl, counts } = via("again-9-reset-3");
  const got = await all(client({ baseUrl, headers, retries: 4 }).runs.stream(run!));
  assert.deepEqual(got, want);
  assert.equal((await counts())[`GET /runs/${run}/stream`], 4);
});

test("ask: a loop that is left can be followed by another, at every event", async () => {
  const { baseUrl } = via("plain");
  const stream = client({ baseUrl }).ask({ query: "short" });
  const got: AskEvent[] = [];
  for (let rounds = 0; !stream.ended; rounds++) {
    assert.ok(rounds < 100);
    for await (const e of stream) {
      got.push(e);
      break;
    }
  }
  const want = await all(direct.ask({ query: "short" }));
  assert.equal(told(got), told(want));
  assert.deepEqual(steps(got), steps(want));
  assert.equal((await stream.final()).text, told(want));
});

test("ask: several loops and final read one stream", async () => {
  const { baseUrl, counts } = via("plain");
  const stream = client({ baseUrl }).ask({ query: "long" });
  const [a, b, whole] = await Promise.all([all(stream), all(stream), stream.final()]);
  assert.deepEqual(a, b);
  assert.equal(told(a), whole.text);
  const n = await counts();
  delete n[""];
  assert.deepEqual(n, { "POST /api/query/stream": 1 });
});

test("ask: a question that may have arrived is not asked again", async () => {
  const { baseUrl, counts } = via("drop-0-reset-0");
  const stream = client({ baseUrl }).ask({ query: "short" });
  await assert.rejects(stream.final(), ConnectionError);
  await assert.rejects(all(stream), ConnectionError);
  assert.equal((await counts())["POST /api/query/stream"], 1);
});

test("ask: one that was refused for now is asked again, as late as the server wants", async () => {
  for (const [what, asked] of [["status-429-0-2", 3], ["status-503-0-2", 3], ["status-429-none-1", 2]] as const) {
    const { baseUrl, counts } = via(what);
    const stream = client({ baseUrl }).ask({ query: "short" });
    await stream.final();
    assert.equal((await counts())["POST /api/query/stream"], asked, what);
  }
  const began = performance.now();
  await client({ baseUrl: via("status-503-1-1").baseUrl }).ask({ query: "short" }).final();
  assert.ok(performance.now() - began >= 1000);
});

test("ask: what the server or a proxy refuses for good is an error at once", async () => {
  for (const [what, status, times] of [["status-503-none-0", 503, 1], ["status-502-0-0", 502, 1], ["status-429-3600-0", 429, 1], ["status-404-none-0", 404, 1], ["status-429-0-0", 429, 3]] as const) {
    const { baseUrl, counts } = via(what);
    await assert.rejects(client({ baseUrl, retries: 2 }).ask({ query: "short" }).final(), (err) => {
      assert.ok(err instanceof SluiceError);
      assert.deepEqual([err.status, err.code, err.message], [status, "OVERLOADED", `the proxy answers ${status}`]);
      return true;
    });
    assert.equal((await counts())["POST /api/query/stream"], times, what);
  }
  await assert.rejects(direct.ask({ query: "" }).final(), (err) => {
    assert.ok(err instanceof SluiceError);
    assert.deepEqual([err.status, err.code, err.field], [400, "INVALID_REQUEST", "query"]);
    return true;
  });
});

test("ask: a connection that stays lost is an error that tells where to go on", async () => {
  const { baseUrl } = via("hang-0-reset-0");
  const sluice = client({ baseUrl, idleTimeout: 30, retries: 2 });
  const stream = sluice.ask({ query: "short" });
  await assert.rejects(all(stream), (err) => {
    assert.ok(err instanceof ConnectionError);
    assert.equal(err.run, stream.run);
    assert.equal(err.lastEventId, "");
    return true;
  });
  const want = await all(direct.ask({ query: "short" }));
  const got = await all(direct.runs.stream(stream.run!));
  assert.equal(told(got), told(want));
});

test("ask: a run's stream goes on behind any event, and a finished one has nothing behind its last", async () => {
  const events: [string, AskEvent][] = [];
  const stream = direct.ask({ query: "short" });
  for await (const e of stream) events.push([stream.lastEventId, e]);
  for (const [i, [after]] of events.entries()) {
    const got = await all(direct.runs.stream(stream.run!, { after }));
    assert.equal(told(got), told(events.slice(i + 1).map(([, e]) => e)));
    assert.deepEqual(steps(got), steps(events.slice(i + 1).map(([, e]) => e)));
  }
  await assert.rejects(direct.runs.stream(stream.run!, { after: "999" }).final(), SluiceError);
  await assert.rejects(direct.runs.stream("run_unknown").final(), (err) => err instanceof SluiceError && err.status === 404);
});

test("ask: any protocol can be read as frames", async () => {
  const stream = direct.ask({ query: "short" });
  await stream.final();
  const frames = await all(client({ baseUrl: via("frames-3-reset-0").baseUrl }).runs.frames(stream.run!, { protocol: "forge" }));
  assert.deepEqual([frames[0]?.event, frames.at(-1)?.event], ["query_analysis", "done"]);
  await assert.rejects(all(direct.runs.frames(stream.run!, { protocol: "gopher" })), (err) => err instanceof SluiceError && err.field === "protocol");
});

test("ask: a signal ends the stream with its reason, wherever it stands", async () => {
  const stream = direct.ask({ query: "waiting" }, { signal: AbortSignal.timeout(1) });
  await assert.rejects(stream.final(), { name: "TimeoutError" });
  const reason = new Error("enough");
  for (const stop of [0, 1, 4]) {
    const c = new AbortController();
    const s = direct.ask({ query: "waiting" }, { signal: c.signal });
    let n = 0;
    if (stop === 0) c.abort(reason);
    await assert.rejects(async () => {
      for await (const _ of s) if (++n === stop) c.abort(reason);
    }, reason);
    assert.equal(n, stop);
    if (s.run) await direct.runs.cancel(s.run);
  }
  const c = new AbortController();
  const waiting = client({ baseUrl: via("status-429-50-0").baseUrl }).ask({ query: "short" }, { signal: c.signal }).final();
  setTimeout(() => c.abort(reason), 20);
  await assert.rejects(waiting, reason);
});

test("ask: a run can be cancelled, and says so", async () => {
  const stream = direct.ask({ query: "waiting" });
  await assert.rejects(stream.cancel(), SluiceError);
  for await (const e of stream) if (e.type === "token") await stream.cancel();
  assert.equal(stream.snapshot.error?.code, "CANCELLED");
  assert.ok(stream.snapshot.text.length > 0);
});

test("ask: what is no stream of events is an error", async () => {
  for (const res of [
    () => new Response("<html>log in</html>", { headers: { "content-type": "text/html" } }),
    () => new Response("id: 1\ndata: {\n\n", { headers: { "content-type": "text/event-stream", "sluice-run-id": "r" } }),
    () => new Response(null, { headers: { "content-type": "text/event-stream", "sluice-run-id": "r" } }),
  ]) {
    let asked = 0;
    await assert.rejects(client({ baseUrl: "http://x.test", fetch: async () => (asked++, res()) }).ask({ query: "q" }).final(), ProtocolError);
    assert.equal(asked, 1);
  }
});

test("ask: a filter that is not valid is refused, and names the field", async () => {
  const filter: Filter = { type: "and", filters: [{ type: "eq", key: "type", value: "pdf" }, { type: "gte", key: "date", value: "soon" }] };
  await assert.rejects(all(direct.ask({ query: "short", filter })), (err) => err instanceof SluiceError && err.status === 400 && /filter\.filters\[1\]\.value/.test(err.message));
});
