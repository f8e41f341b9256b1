// Runs rag.js, which is the protocol's own sample: node run_rag.mjs BASE QUESTION. The sample runs as it is: this only gives it the base
// of relative addresses, the question in place of "...", and the functions and the EventSource that its page has. Prints the answer and
// the values of the KPI bar as JSON.
import { readFileSync } from "node:fs";

const [base, question] = process.argv.slice(2);
const source = readFileSync(new URL("rag.js", import.meta.url), "utf8");

const fetchAbsolute = globalThis.fetch;
globalThis.fetch = (address, init) => {
  init.body = JSON.stringify({ ...JSON.parse(init.body), question });
  return fetchAbsolute(new URL(address, base), init);
};
globalThis.EventSource = class {}; // the sample creates one and does not read it
let answer = "";
globalThis.appendAnswer = (chunk) => (answer += chunk);
globalThis.updateKpiBar = (kpi) => console.log(JSON.stringify({ answer, kpi }));

await import("data:text/javascript," + encodeURIComponent(source));
