import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, SluiceError } from "@sluice-rag/client";
import { client, key, keyed } from "./support.js";

// fetchOf fetches as the browser does for a page of an origin, by the rules of https://fetch.spec.whatwg.org/#http-cors-protocol: it asks first, sends no
// cookies, and shows of a reply only what the server exposes.
function fetchOf(origin: string) {
  const plain = ["content-type", "content-length", "cache-control"]; // headers that pages see in any case
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    const names = [...headers.keys()].filter((name) => name !== "accept").join(",");
    const asked = await fetch(url, { method: "OPTIONS", headers: { Origin: origin, "Access-Control-Request-Method": init.method ?? "GET", "Access-Control-Request-Headers": names } });
    const allowed = asked.headers.get("access-control-allow-headers")?.toLowerCase().split(/, */) ?? [];
    if (!asked.ok || asked.headers.get("access-control-allow-origin") !== origin || names.split(",").some((n) => !allowed.includes(n))) throw new TypeError("blocked by CORS");
    headers.set("Origin", origin);
    headers.set("Sec-Fetch-Site", "cross-site");
    const res = await fetch(url, { ...init, headers });
    if (res.headers.get("access-control-allow-origin") !== origin) throw new TypeError("blocked by CORS");
    const exposed = [...plain, ...(res.headers.get("access-control-expose-headers")?.toLowerCase().split(/, */) ?? [])];
    const shown = new Headers([...res.headers].filter(([name]) => exposed.includes(name)));
    return new Response(res.body, { status: res.status, headers: shown });
  };
}

test("keys: the option apiKey, which is in no error", async () => {
  await assert.rejects(client({ baseUrl: keyed }).runs.list(), (err) => err instanceof SluiceError && err.status === 401 && err.code === "UNAUTHENTICATED");
  await assert.rejects(client({ baseUrl: keyed, apiKey: key }).runs.list(), (err) =>
    err instanceof SluiceError && err.status === 403 && /lacks the scope read/.test(err.message) && !String(err.stack).includes(key));
  const stream = client({ baseUrl: keyed, apiKey: key }).ask({ query: "Thank you!" });
  assert.ok((await stream.final()).text);
});

test("keys: a page of an allowed origin asks and reads the stream, others do not", async () => {
  const page = client({ baseUrl: keyed, apiKey: key, fetch: fetchOf("https://page.example") });
  const stream = page.ask({ query: "Thank you!" });
  assert.ok((await stream.final()).text);
  assert.ok(stream.run, "the page sees the id of its run");
  const other = client({ baseUrl: keyed, apiKey: key, fetch: fetchOf("https://evil.example"), retries: 0 });
  await assert.rejects(other.ask({ query: "Thank you!" }).final(), (err) => err instanceof ConnectionError && /CORS/.test(String(err.cause)));
});
