import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { UploadProgress } from "@sluice-rag/client";
import { client, pieces } from "./support.js";

// A server that tells what it was sent.
interface Sent { type: string; length: string | undefined; chunked: boolean; body: Buffer }
let refusals = 0;
const sent: Sent[] = [];
const echo = createServer((req, res) => {
  const parts: Buffer[] = [];
  req.on("data", (b: Buffer) => parts.push(b));
  req.on("end", () => {
    sent.push({ type: req.headers["content-type"] ?? "", length: req.headers["content-length"], chunked: req.headers["transfer-encoding"] === "chunked", body: Buffer.concat(parts) });
    if (refusals > 0) {
      refusals--;
      res.writeHead(429, { "retry-after": "0" }).end();
      return;
    }
    res.writeHead(200, { "content-type": "application/json" }).end('{"id":"f"}');
  });
});
let baseUrl = "";
before(async () => {
  await new Promise<void>((done) => echo.listen(0, "127.0.0.1", done));
  baseUrl = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
});
after(() => void echo.close());

// parsed reads the form as the platform's own parser does.
async function parsed(s: Sent): Promise<FormData> {
  return new Response(Uint8Array.from(s.body), { headers: { "content-type": s.type } }).formData();
}

async function uploaded(): Promise<Sent> {
  const s = sent.pop();
  assert.ok(s && sent.length === 0);
  return s;
}

test("upload: blobs, files, bytes, text and streams arrive as they are, with their fields before them", async () => {
  const raw = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7919) % 256);
  for (const [data, streamed] of [[new Blob([raw]), false], [new File([raw], "x"), false], [raw, false], [raw.buffer, false], [pieces(raw.subarray(0, 9), raw.subarray(9)), true]] as const) {
    await client({ baseUrl }).files.upload(data, { filename: "a.bin", type: "text/plain", id: "i1", skip_exists: true, parse_options: { abstract: "enable" } });
    const s = await uploaded();
    assert.equal(s.chunked, streamed);
    const form = await parsed(s);
    assert.deepEqual([...form.keys()], ["id", "skip_exists", "parse_options", "file"]);
    assert.deepEqual([form.get("id"), form.get("skip_exists"), form.get("parse_options")], ["i1", "true", '{"abstract":"enable"}']);
    const file = form.get("file") as File;
    assert.deepEqual(new Uint8Array(await file.arrayBuffer()), raw);
    assert.deepEqual([file.name, file.type], ["a.bin", "text/plain"]);
  }
});

test("upload: names of any kind are of plain letters on the wire", async () => {
  for (const name of ["报 no 1.txt", 'a"b\r\nX: y.txt', "100%.md", "%41.md", "a;b=c'.txt", "\ud800.txt"]) {
    await client({ baseUrl }).files.upload(new File(["x"], "other"), { filename: name });
    const line = /filename="([^"]*)"/.exec((await uploaded()).body.toString("latin1"))![1]!;
    assert.match(line, /^[A-Za-z0-9.%_~-]+$/);
    assert.equal(decodeURIComponent(line), name.replace("\ud800", "\ufffd"));
  }
  await client({ baseUrl }).files.upload(new File(["x"], "own.md", { type: "text/markdown" }));
  assert.match((await uploaded()).body.toString(), /filename="own.md"\r\nContent-Type: text\/markdown\r\n/);
  await client({ baseUrl }).files.upload("x", { type: "text/plain\r\nX-Evil: 1" });
  assert.match((await uploaded()).body.toString(), /filename="file"\r\nContent-Type: text\/plain {2}X-Evil: 1\r\n\r\nx/);
});

test("upload: progress is told, of a blob with its total", async () => {
  const big = new Blob([new Uint8Array(1 << 20)]);
  for (const data of [big, big.stream() as unknown as ReadableStream<Uint8Array>]) {
    const told: UploadProgress[] = [];
    await client({ baseUrl }).files.upload(data, { onProgress: (p) => told.push(p) });
    const s = await uploaded();
    assert.ok(told.length > 2);
    assert.equal(told.at(-1)!.loaded, s.body.length);
    assert.equal(told.at(-1)!.total, data === big ? s.body.length : undefined);
    assert.ok(told.every((p, i) => i === 0 || p.loaded > told[i - 1]!.loaded));
  }
});

test("upload: what was refused for now is sent again, where it is still there", async () => {
  refusals = 2;
  await client({ baseUrl }).files.upload(new Blob(["again"]), { onProgress: () => {} });
  assert.equal(sent.length, 3);
  for (const s of sent.splice(0)) assert.match(s.body.toString(), /again/);
  refusals = 1;
  await assert.rejects(client({ baseUrl }).files.upload(pieces("once")), { name: "SluiceError", status: 429 });
  await uploaded();
});

test("upload: a URL is sent as a form of names and values", async () => {
  await client({ baseUrl }).files.uploadUrl("https://x.test/a%20b/r%C3%A9sum%C3%A9.pdf?q=1&r=2", { file_type: "application/pdf", purpose: "qa" });
  const s = await uploaded();
  assert.match(s.type, /^application\/x-www-form-urlencoded/);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(s.body.toString())),
    { url: "https://x.test/a%20b/r%C3%A9sum%C3%A9.pdf?q=1&r=2", name: "résumé.pdf", file_type: "application/pdf", purpose: "qa" });
  await client({ baseUrl }).files.uploadUrl("https://x.test/");
  assert.equal(new URLSearchParams((await uploaded()).body.toString()).get("name"), "file");
  assert.throws(() => client({ baseUrl }).files.uploadUrl("no url"), TypeError);
});

// A browser's XMLHttpRequest as far as the client uses it, over fetch.
class FakeXHR {
  static made = 0;
  upload: { onprogress?: (e: object) => void } = {};
  onload?: () => void;
  onerror?: () => void;
  onloadend?: () => void;
  status = 0;
  responseText = "";
  #headers = "";
  #init: RequestInit & { headers: Record<string, string> } = { headers: {} };
  #url = "";
  #stop = new AbortController();
  open(method: string, url: string) {
    FakeXHR.made++;
    this.#init.method = method;
    this.#url = url;
  }
  setRequestHeader(name: string, value: string) {
    this.#init.headers[name] = value;
  }
  getAllResponseHeaders() {
    return this.#headers;
  }
  abort() {
    this.#stop.abort();
  }
  send(body: Blob) {
    this.upload.onprogress?.({ loaded: body.size, total: body.size, lengthComputable: true });
    fetch(this.#url, { ...this.#init, body, signal: this.#stop.signal }).then(async (res) => {
      this.status = res.status;
      this.#headers = [...res.headers].map(([k, v]) => `${k}: ${v}\r\n`).join("");
      this.responseText = await res.text();
      this.onload?.();
    }, () => this.onerror?.()).finally(() => this.onloadend?.());
  }
}

test("upload: in a browser progress comes of XMLHttpRequest, and streams are gathered first", async () => {
  (globalThis as { XMLHttpRequest?: unknown }).XMLHttpRequest = FakeXHR;
  try {
    const told: UploadProgress[] = [];
    const file = await client({ baseUrl }).files.upload(pieces("one", "two"), { onProgress: (p) => told.push(p) });
    assert.equal(file.id, "f");
    const s = await uploaded();
    assert.equal(s.chunked, false);
    assert.equal(await ((await parsed(s)).get("file") as File).text(), "onetwo");
    assert.deepEqual(told, [{ loaded: s.body.length, total: s.body.length }]);
    assert.equal(FakeXHR.made, 1);
    refusals = 1;
    await client({ baseUrl }).files.upload("x", { onProgress: () => {} });
    assert.equal(FakeXHR.made, 3);
    assert.equal(sent.splice(0).length, 2);
    const reason = new Error("enough");
    await assert.rejects(client({ baseUrl }).files.upload("x", { onProgress: () => {}, signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(client({ baseUrl: "http://127.0.0.1:1" }).files.upload("x", { onProgress: () => {} }), { name: "ConnectionError" });
  } finally {
    delete (globalThis as { XMLHttpRequest?: unknown }).XMLHttpRequest;
  }
});
