// Runs sse.ts, which is the protocol's own sample: node run.mjs BASE QUERY MODE. Types are stripped and a browser's base for
// relative addresses is given; the function's body runs as it is. Prints each event as a line of JSON.
import { readFileSync } from "node:fs";

const [base, query, mode] = process.argv.slice(2);
const source = readFileSync(new URL("sse.ts", import.meta.url), "utf8");
const stripped = source
  .replace("query: string", "query")
  .replace('mode: "agentic" | "direct"', "mode")
  .replace("onEvent: (event: ForgeSSEEvent) => void", "onEvent")
  .replace("): Promise<void> {", ") {")
  .replace("response.body!", "response.body");

const fetchAbsolute = globalThis.fetch;
globalThis.fetch = (address, init) => fetchAbsolute(new URL(address, base), init);

const { streamQuery } = await import("data:text/javascript," + encodeURIComponent(stripped));
await streamQuery(query, mode, (event) => process.stdout.write(JSON.stringify(event) + "\n"));
