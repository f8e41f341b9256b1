// Runs client.js, the sample client of the specification, as it is: node run.mjs ADDRESS. It gives the sample what it takes
// from its page: fetch with a relative address, currentEvent and handleEvent. Prints each event as a line of JSON.
import { readFileSync } from "node:fs";

const [address] = process.argv.slice(2);
const source = readFileSync(new URL("client.js", import.meta.url), "utf8");
const AsyncFunction = (async () => {}).constructor;
const print = (name, data) => process.stdout.write(JSON.stringify([name, data]) + "\n");
await new AsyncFunction("fetch", "handleEvent", "currentEvent", source)((path, init) => fetch(new URL(path, address), init), print);
