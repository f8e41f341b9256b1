// Uploads a file to a Sluice server, asks about it, prints the answer while it is written and its citations, and deletes the file.
//
//	cd clients/typescript && npm ci && npm run example -- FILE "QUESTION"
import { openAsBlob } from "node:fs";
import { basename, resolve } from "node:path";
import { citations, Sluice } from "@sluice-rag/client";

const [file, question = "What is this document about?"] = process.argv.slice(2);
if (!file) throw new Error('want FILE "QUESTION"');
const path = resolve(process.env["INIT_CWD"] ?? ".", file); // npm changes the working directory

const sluice = new Sluice({ baseUrl: process.env["SLUICE_URL"] ?? "http://127.0.0.1:8000" });

const uploaded = await sluice.files.upload(await openAsBlob(path), {
  filename: basename(path),
  onProgress: ({ loaded, total }) => process.stderr.write(`\rsent ${loaded} of ${total} bytes`),
});
try {
  await sluice.tasks.wait(uploaded.task_id, { onProgress: (task) => process.stderr.write(`\rindexed ${task.progress} %      `) });
  const store = await sluice.vectorStores.create({ name: "example", file_ids: [uploaded.id] });
  try {
    const stream = sluice.respond({ input: question, tools: [{ type: "file_search", vector_store_ids: [store.id] }] });
    process.stderr.write("\n");
    let shown = 0;
    for await (const _ of stream) {
      process.stdout.write(stream.text.slice(shown));
      shown = stream.text.length;
    }
    console.log();
    const response = await stream.final();
    for (const [i, c] of citations(response).entries()) console.log(`⟦⟦${i + 1}⟧⟧ ${c.filename}, segment ${c.index}: ${c.snippet}`);
    if (response.error) console.error(response.error.message);
  } finally {
    await sluice.vectorStores.delete(store.id);
  }
} finally {
  await sluice.files.delete(uploaded.id);
}
