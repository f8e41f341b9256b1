// Runs the sample client of the Forrst specification, as it is: node forrst-client.mjs CLIENT ADDRESS [CALL]. With CALL, its call is replaced.
// Prints each event as a line of JSON.
import { readFileSync } from "node:fs";

const [client, address, call] = process.argv.slice(2);
const AsyncFunction = (async () => {}).constructor;
const send = (path, init) => {
  const body = JSON.parse(init.body);
  if (call) body.call = JSON.parse(call);
  return fetch(new URL(path, address), { ...init, body: JSON.stringify(body) });
};
const print = (name, data) => process.stdout.write(JSON.stringify([name, data]) + "\n");
await new AsyncFunction("fetch", "handleEvent", "currentEvent", readFileSync(client, "utf8"))(send, print);
