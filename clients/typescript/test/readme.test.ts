// Holds that the code of README.md is what stands here, compiles and runs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { citations, outputText, Sluice } from "@sluice-rag/client";
import { whole } from "./support.js";

const lighthouse = "The keeper of the lighthouse is Marta Quill. She has kept the lighthouse since 1987.\n";

test("readme: its code does what it says", async () => {
  const sluice = new Sluice({ baseUrl: whole });
  const blob = new Blob([lighthouse]);
  const shown: string[] = [];
  const show = (text: string) => shown.push(text);
  const console = { log: (..._: unknown[]) => {} };
  const process = { stdout: { write: show } };

  const file = await sluice.files.upload(blob, { filename: "notes.md", onProgress: (p) => console.log(p.loaded, p.total) });
  await sluice.tasks.wait(file.task_id);
  const store = await sluice.vectorStores.create({ id: "notes", name: "Notes", file_ids: [file.id] });

  const stream = sluice.respond({ input: "Who keeps the lighthouse?", tools: [{ type: "file_search", vector_store_ids: [store.id] }] });
  for await (const { response } of stream) show(outputText(response));
  const response = await stream.final();
  for (const citation of citations(response)) console.log(citation.filename, citation.snippet);

  assert.match(shown.at(-1)!, /Marta Quill/);

  await sluice.respond({ input: "Since when?", previous_response_id: response.id, tools: [{ type: "file_search", vector_store_ids: [store.id] }] }).final();

  for await (const event of sluice.ask({ query: "Who keeps the lighthouse?" })) {
    if (event.type === "retrieval_start") console.log(`searching for ${event.query}`);
    if (event.type === "token") process.stdout.write(event.content);
    if (event.type === "sources") console.log(event.sources.map((s) => s.title));
  }

  const { text, sources, done } = await sluice.ask({ query: "Who keeps the lighthouse?", mode: "direct", collection: "notes" }).final();
  assert.equal(typeof text, "string");
  assert.equal(done?.sources_count ?? 0, sources.length);

  const session = await sluice.sessions.create({ title: "Lighthouses" });
  const turn = sluice.sessions.send(session.session_id, { content: "Who keeps the lighthouse?", collection: "notes" });
  for await (const part of turn) {
    if (part.type === "text") process.stdout.write(part.text);
  }
  const { trailer } = await turn.final();
  await sluice.sessions.rate(session.session_id, trailer.message_id, "good");
  await sluice.sessions.delete(session.session_id);

  const { run, lastEventId } = { run: response.id, lastEventId: "1" };
  for await (const event of sluice.runs.stream(run, { after: lastEventId })) console.log(event.type);

  await sluice.vectorStores.delete(store.id);
  await sluice.files.delete(file.id);
});

test("readme: its code is the code above", async () => {
  const squeeze = (s: string) => s.replace(/\s+/g, " ");
  const page = await readFile(process.env["SLUICE_README"]!, "utf8");
  const here = squeeze(await readFile(process.env["SLUICE_README_TEST"]!, "utf8"));
  const blocks = [...page.matchAll(/```ts\n([^]*?)```/g)].map((m) => m[1]!);
  assert.ok(blocks.length >= 6);
  for (const block of blocks.slice(1)) assert.ok(here.includes(squeeze(block).trim()), block);
});
