import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { citations, outputText, type Response, SluiceError, type StoredFile, type Task, type UploadProgress } from "@sluice-rag/client";
import { all, client, pieces, whole } from "./support.js";

const sluice = client({ baseUrl: whole });

const lighthouse = `# The Farland lighthouse

The keeper of the Farland lighthouse is Marta Quill. She has kept it since 1987.

## The lamp

The lamp of the Farland lighthouse burns colza oil and is trimmed every four hours.
`;
const railway = "# The Overby railway\n\nThe Overby railway has a gauge of 597 millimetres. Its last train ran in 1956.\n";

async function indexed(text: string | Blob, filename: string, more = {}): Promise<StoredFile> {
  const f = await sluice.files.upload(text, { filename, ...more });
  assert.equal(f.task_id, "upload-" + f.id);
  await sluice.tasks.wait(f.task_id, { interval: 50 });
  return sluice.files.get(f.id);
}

async function ask(input: string, ...stores: string[]): Promise<Response> {
  return sluice.respond({ input, tools: [{ type: "file_search", vector_store_ids: stores }], effort: "low", no_cache: true }).final();
}

const gone = (err: unknown) => err instanceof SluiceError && err.status === 404;

test("service: a file is uploaded, read, noted on, listed and deleted", async () => {
  const told: UploadProgress[] = [];
  const tasks: Task[] = [];
  const sent = await sluice.files.upload(new File([lighthouse], "Leuchtturm №1 (100%).md", { type: "text/markdown" }), { onProgress: (p) => told.push(p), purpose: "qa" });
  const task = await sluice.tasks.wait(sent.task_id, { interval: 20, onProgress: (t) => tasks.push(t) });
  assert.deepEqual([task.status, task.progress, task.resource_id], ["completed", 100, sent.id]);
  assert.equal(tasks.at(-1)!.status, "completed");
  assert.equal(told.at(-1)!.loaded, told.at(-1)!.total);
  const file = await sluice.files.get(sent.id);
  assert.deepEqual([file.filename, file.bytes, file.purpose, file.status], ["Leuchtturm №1 (100%).md", new TextEncoder().encode(lighthouse).length, "qa", "processed"]);
  const doc = await sluice.files.content(file.id);
  assert.match(doc.content!.segments.map((s) => s.content).join("\n"), /Marta Quill/);
  assert.match((await sluice.files.pages(file.id, { start_page: 1 })).pages[0]!.content, /colza oil/);
  const noted = await sluice.files.update(file.id, { title: "Farland", bookmarks: [1], metadata: { region: "north" } });
  assert.deepEqual([noted.title, noted.bookmarks, noted.metadata], ["Farland", [1], { region: "north" }]);
  assert.ok((await all(sluice.files.all())).some((f) => f.id === file.id));
  assert.equal((await sluice.files.list({ limit: 1 })).data.length, 1);
  assert.equal((await sluice.files.delete(file.id)).deleted, true);
  await assert.rejects(sluice.files.get(file.id), gone);
  await assert.rejects(sluice.files.delete(file.id), gone);
});

test("service: streams, ids, duplicates and sums of the caller's", async () => {
  const id = crypto.randomUUID();
  const f = await sluice.files.upload(pieces(railway.slice(0, 9), railway.slice(9)), { filename: "railway.md", id });
  assert.equal(f.id, id);
  await sluice.tasks.wait(f.task_id, { interval: 20 });
  const again = await sluice.files.upload(railway, { filename: "other.md", skip_exists: true });
  assert.equal(again.id, id);
  await sluice.tasks.wait(again.task_id);
  await assert.rejects(sluice.files.upload(railway, { filename: "x.md", md5: "0".repeat(32) }), SluiceError);
  await sluice.files.delete(id);
});

test("service: work that fails says why, and a wait ends with its signal", async () => {
  const broken = await sluice.files.upload(new Uint8Array(5000).map((_, i) => i * 7919), { filename: "broken.pdf", type: "application/pdf" });
  await assert.rejects(sluice.tasks.wait(broken.task_id, { interval: 20 }), (err) => err instanceof SluiceError && err.code === "TASK_FAILED" && err.message.length > 40);
  await sluice.files.delete(broken.id);
  await assert.rejects(sluice.tasks.get("upload-none"), gone);
  const waiting = client({ baseUrl: "http://x.test", fetch: async () => globalThis.Response.json({ status: "running" }) });
  await assert.rejects(waiting.tasks.wait("t", { signal: AbortSignal.timeout(30) }), { name: "TimeoutError" });
});

test("service: a URL of this machine is not fetched", async () => {
  await assert.rejects(async () => {
    const f = await sluice.files.uploadUrl(whole + "/healthz", { name: "own.json", file_type: "application/json" });
    await sluice.tasks.wait(f.task_id, { interval: 20 });
  }, SluiceError);
});

test("service: questions find the files of their stores and no others, and say where it stands", async () => {
  const [a, b] = await Promise.all([indexed(lighthouse, "lighthouse.md"), indexed(railway, "railway.md")]);
  const store = await sluice.vectorStores.create({ name: "coast", file_ids: [a.id], metadata: { kind: "test" } });
  const ready = await sluice.vectorStores.wait(store.id, { interval: 20 });
  assert.deepEqual([ready.name, ready.file_counts.completed, ready.file_counts.total, ready.metadata], ["coast", 1, 1, { kind: "test" }]);
  const answer = await ask("Who is the keeper of the Farland lighthouse?", store.id);
  assert.equal(answer.status, "completed");
  assert.match(outputText(answer), /Marta Quill.*⟦⟦1⟧⟧/s);
  assert.deepEqual([citations(answer)[0]?.file_id, citations(answer)[0]?.filename], [a.id, "lighthouse.md"]);
  const elsewhere = await ask("What is the gauge of the Overby railway?", store.id);
  assert.doesNotMatch(outputText(elsewhere), /597/);

  await sluice.vectorStores.addFiles(store.id, b.id);
  assert.equal((await sluice.vectorStores.wait(store.id, { interval: 20 })).file_counts.total, 2);
  assert.match(outputText(await ask("What is the gauge of the Overby railway?", store.id)), /597/);
  const rows = (await sluice.vectorStores.search(store.id, { query: "gauge of the railway", top_k: 1 })).data;
  assert.deepEqual(rows.map((r) => r.file_id), [b.id]);
  assert.equal((await sluice.vectorStores.search(store.id, "anything")).search_query, "anything");
  assert.deepEqual(new Set((await all(sluice.vectorStores.allFiles(store.id))).map((f) => f.id)), new Set([a.id, b.id]));
  assert.ok((await sluice.vectorStores.summary(store.id, { max_tokens: 100 })).summary_text.length > 0);

  await sluice.vectorStores.removeFiles(store.id, [a.id]);
  assert.doesNotMatch(outputText(await ask("Who is the keeper of the Farland lighthouse?", store.id)), /Quill/);
  assert.equal((await sluice.vectorStores.modify(store.id, { name: "rails" })).name, "rails");
  assert.ok((await all(sluice.vectorStores.all())).some((s) => s.id === store.id));
  assert.equal((await sluice.vectorStores.delete(store.id)).deleted, true);
  await assert.rejects(sluice.vectorStores.get(store.id), gone);
  await Promise.all([sluice.files.delete(a.id), sluice.files.delete(b.id)]);
});

test("service: unknown vector stores do not prevent an answer", async () => {
  const stream = sluice.respond({ input: "Who is the keeper?", tools: [{ type: "file_search", vector_store_ids: ["a1b2c3d4-e5f6-7890-abcd-ef1234567890"] }], stream_options: { mode: "delta" } });
  await assert.rejects(stream.final(), { name: "RunError", code: "NO_DOCUMENTS" });
  assert.ok(outputText(stream.snapshot!).length > 0);
});

test("service: the server tells how it is", async () => {
  assert.equal((await sluice.status()).status, "healthy");
  assert.deepEqual(await sluice.models(), ["sluice-extractive"]);
});

test("service: the example runs", async () => {
  const dir = await mkdtemp(join(tmpdir(), "sluice-"));
  try {
    await writeFile(join(dir, "lighthouse.md"), lighthouse);
    const run = promisify(execFile)(process.execPath, [process.env["SLUICE_EXAMPLE"]!, join(dir, "lighthouse.md"), "Who is the keeper of the Farland lighthouse?"]);
    const { stdout } = await run;
    assert.match(stdout, /Marta Quill[^]*⟦⟦1⟧⟧ lighthouse\.md, segment 0: /);
  } finally {
    await rm(dir, { recursive: true });
  }
});
