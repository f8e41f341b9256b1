import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { ConnectionError, Sluice, SluiceError } from "@sluice-rag/client";
import { all, client, scripted } from "./support.js";

const direct = client({ baseUrl: scripted });

// recorder keeps what was asked of fetch.
function recorder(answer: (n: number) => Response | Error) {
  const asked: { url: string; method: string | undefined; headers: Headers; body: BodyInit | null | undefined }[] = [];
  const fetch = async (url: string, init?: RequestInit) => {
    asked.push({ url, method: init?.method, headers: new Headers(init?.headers), body: init?.body });
    const res = answer(asked.length);
    if (res instanceof Error) throw res;
    return res;
  };
  return { asked, fetch };
}

const ok = () => Response.json({ status: "ok" });

test("client: addresses with prefixes, slashes, and of the page's own origin", async () => {
  for (const [baseUrl, want] of [
    ["http://x.test", "http://x.test/healthz"], ["http://x.test/", "http://x.test/healthz"], ["https://x.test:1/a/b//", "https://x.test:1/a/b/healthz"],
    [new URL("http://x.test/a"), "http://x.test/a/healthz"], [undefined, "/healthz"], ["", "/healthz"], ["/a/", "/a/healthz"],
  ] as const) {
    const { asked, fetch } = recorder(ok);
    await new Sluice({ baseUrl, fetch }).health();
    assert.equal(asked[0]!.url, want);
  }
  for (const baseUrl of ["x.test", "ftp://x.test", "http://"]) assert.throws(() => new Sluice({ baseUrl }), TypeError);
});

test("client: headers, also of a function, and credentials of the address, which are in no error", async () => {
  const { asked, fetch } = recorder((n) => (n < 4 ? ok() : new TypeError("fetch failed")));
  let n = 0;
  await new Sluice({ baseUrl: "http://x.test", headers: { "X-A": "1" }, fetch }).health();
  await new Sluice({ baseUrl: "http://x.test", headers: async () => ({ Authorization: `Bearer ${++n}` }), fetch }).health();
  const secret = new Sluice({ baseUrl: "http://us%20er:p%C3%A4ss@x.test", fetch, retries: 0 });
  await secret.health();
  assert.equal(asked[0]!.headers.get("x-a"), "1");
  const keyed = recorder(ok);
  await new Sluice({ baseUrl: "http://x.test", apiKey: "k", fetch: keyed.fetch }).health();
  await new Sluice({ baseUrl: "http://us:er@x.test", apiKey: "k", headers: { Authorization: "Other" }, fetch: keyed.fetch }).health();
  assert.deepEqual(keyed.asked.map((a) => a.headers.get("authorization")), ["Bearer k", "Other"]);
  assert.equal(asked[1]!.headers.get("authorization"), "Bearer 1");
  assert.equal(asked[2]!.headers.get("authorization"), "Basic " + Buffer.from("us er:päss").toString("base64"));
  assert.equal(asked[2]!.url, "http://x.test/healthz");
  await assert.rejects(secret.health(), (err) => err instanceof ConnectionError && !/p%C3|päss/.test(String(err.stack) + String(err.cause)));
});

test("client: reading is tried again, changing only where the server did not take it", async () => {
  const read = recorder((n) => [new TypeError("fetch failed"), new Response(null, { status: 502 }), new Response("{", { status: 200 }), ok()][n - 1]!);
  await client({ baseUrl: "http://x.test", fetch: read.fetch }).health();
  assert.equal(read.asked.length, 4);
  const lost = recorder(() => new TypeError("fetch failed"));
  await assert.rejects(client({ baseUrl: "http://x.test", fetch: lost.fetch, retries: 3 }).health(), ConnectionError);
  assert.equal(lost.asked.length, 4);
  const write = recorder(() => new TypeError("fetch failed"));
  await assert.rejects(client({ baseUrl: "http://x.test", fetch: write.fetch }).runs.cancel("r"), ConnectionError);
  assert.equal(write.asked.length, 1);
  const refused = recorder((n) => (n === 1 ? new Response(null, { status: 429 }) : Response.json({ run_id: "r", status: "running" })));
  await client({ baseUrl: "http://x.test", fetch: refused.fetch }).runs.cancel("r");
  assert.equal(refused.asked.length, 2);
});

test("client: waits grow, are not all the same, and end with the signal", async () => {
  const times: number[] = [];
  const fetch = async () => {
    times.push(performance.now());
    throw new TypeError("fetch failed");
  };
  await assert.rejects(new Sluice({ baseUrl: "http://x.test", fetch, backoff: 20, retries: 4 }).health());
  const waits = times.slice(1).map((t, i) => t - times[i]!);
  for (const [i, wait] of waits.entries()) assert.ok(wait >= 10 * 2 ** i - 1, `wait ${i} of ${wait} ms`);
  const signal = AbortSignal.timeout(20);
  await assert.rejects(new Sluice({ baseUrl: "http://x.test", fetch, backoff: 5000 }).health({ signal }), { name: "TimeoutError" });
});

test("client: errors of every form are told by their code, message and field", async () => {
  for (const [body, want] of [
    ['{"type":"error","code":"NOT_FOUND","message":"no such run","field":"id","recoverable":false}', ["NOT_FOUND", "no such run", "id"]],
    ['{"code":"INVALID_REQUEST","message":"want","detail":{"field":"input[0]"}}', ["INVALID_REQUEST", "want", "input[0]"]],
    ['{"error":{"code":"bad","message":"no","param":"x"}}', ["bad", "no", "x"]],
    ['{"code":1,"message":"gone"}', ["1", "gone", undefined]],
    ["<html>", ["HTTP_400", "the server answered 400", undefined]], ["", ["HTTP_400", "the server answered 400", undefined]],
    ["[1]", ["HTTP_400", "the server answered 400", undefined]], ["null", ["HTTP_400", "the server answered 400", undefined]],
    ['{"message":"' + "x".repeat(1 << 20), ["HTTP_400", "the server answered 400", undefined]],
  ] as const) {
    const fetch = async () => new Response(body, { status: 400, headers: { "Retry-After": "2" } });
    await assert.rejects(client({ baseUrl: "http://x.test", fetch }).health(), (err) => {
      assert.ok(err instanceof SluiceError);
      assert.deepEqual([err.code, err.message, err.field], want);
      assert.equal(err.retryAfter, 2000);
      return true;
    });
  }
});

test("client: Retry-After may be a date", async () => {
  const began = Date.now();
  const { fetch } = recorder((n) => (n > 1 ? ok() : new Response(null, { status: 503, headers: { "Retry-After": new Date(began + 2000).toUTCString() } })));
  await client({ baseUrl: "http://x.test", fetch }).health();
  assert.ok(Date.now() - began >= 900);
});

test("client: health, readiness, and runs page by page", async () => {
  assert.equal((await direct.health()).status, "ok");
  assert.equal((await direct.ready()).status, "ok");
  const draining = new Sluice({ baseUrl: "http://x.test", fetch: async () => Response.json({ status: "draining" }, { status: 503 }) });
  assert.equal((await draining.ready()).status, "draining");
  for (let i = 0; i < 3; i++) await direct.ask({ query: "short", no_cache: true }).final();
  const ids = (await all(direct.runs.all({ pageSize: 2 }))).map((r) => r.run_id);
  assert.ok(ids.length >= 3);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual((await direct.runs.list({ limit: 1 })).runs.length, 1);
  await assert.rejects(direct.runs.get("a/b?c"), { name: "SluiceError", status: 404 });
});

test("package: what is published is for browsers too, and needs nothing", async () => {
  const manifest = JSON.parse(await readFile("package.json", "utf8")) as Record<string, unknown>;
  for (const key of ["dependencies", "peerDependencies", "optionalDependencies"]) assert.equal(manifest[key], undefined);
  for (const name of ["index", "http", "stream", "sse", "upload", "files", "responses"]) {
    const code = (await readFile(`dist/${name}.js`, "utf8")).replace(/\/\*[^]*?\*\//g, "");
    assert.doesNotMatch(code, /\b(Buffer|process|require|setImmediate|__dirname)\b|from "(?!\.\/)|import\(/, name);
  }
});
