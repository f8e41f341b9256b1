// Servers that say what is not so: what they answer is never taken for an answer, and nothing waits for ever.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, ProtocolError, SluiceError } from "@sluice-rag/client";
import { client } from "./support.js";

const token = 'id: 2\nevent: token\ndata: {"type":"token","content":"a"}\n\n';
const over = 'id: 9\nevent: done\ndata: {"type":"done"}\n\n';

function events(text: string, run = "run_1", more: ResponseInit = {}): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream", ...(run && { "sluice-run-id": run }) }, ...more });
}

// from gives a client of a server that gives one answer after the other, and the last one again and again.
function from(answers: (() => Response | Promise<Response>)[], idleTimeout = 0) {
  const paths: string[] = [];
  const fetch = async (url: string) => {
    paths.push(new URL(url).pathname);
    return answers[Math.min(paths.length, answers.length) - 1]!();
  };
  return { paths, sluice: client({ baseUrl: "http://x.test", fetch, idleTimeout }) };
}

const never = () => new Promise<Response>(() => {});

test("lies: what is no stream of the run is an error at once", async () => {
  for (const [what, want, asked, ...answers] of [
    ["a page", ProtocolError, 1, () => new Response("<p>", { headers: { "content-type": "text/html" } })],
    ["nothing", ProtocolError, 1, () => new Response(null, { status: 204 })],
    ["a redirect to nowhere", SluiceError, 1, () => new Response(null, { status: 302 })],
    ["no run", ConnectionError, 1, () => events(token, "")],
    ["another run", ProtocolError, 2, () => events(token), () => events(over, "run_2")],
    ["a missing last event", ProtocolError, 2, () => events(token), () => new Response(null, { status: 204 })],
    ["data that is not an object", ProtocolError, 1, () => events("id: 2\nevent: token\ndata: null\n\n" + over)],
    ["an error that is none", ProtocolError, 1, () => events("id: 2\nevent: error\ndata: 7\n\n" + over)],
  ] as const) {
    const { paths, sluice } = from([...answers]);
    await assert.rejects(sluice.ask({ query: "why?" }).final(), (err) => err instanceof want, what);
    assert.equal(paths.length, asked, what);
  }
  for (const data of ["null", '{"object":"response","id":"r"}']) {
    await assert.rejects(from([() => events(`id: 2\nevent: response.created\ndata: ${data}\n\n`)]).sluice.respond({ input: "why?" }).final(), ProtocolError, data);
  }
});

test("lies: an answer that does not begin is given up", async () => {
  const resumed = from([() => events(token), never, () => events(over)], 20);
  assert.equal((await resumed.sluice.ask({ query: "why?" }).final()).text, "a");
  assert.equal(resumed.paths.length, 3);
  const asked = from([never], 20);
  await assert.rejects(asked.sluice.ask({ query: "why?" }).final(), ConnectionError);
  assert.equal(asked.paths.length, 1);
});

test("lies: snapshots name the run where the headers were taken away", async () => {
  const snapshot = (status: string) => JSON.stringify({ object: "response", id: "run_7", status, output: [] });
  const { paths, sluice } = from([
    () => events(`id: 1\nevent: response.created\ndata: ${snapshot("in_progress")}\n\n`, ""),
    () => events(`id: 2\nevent: response.completed\ndata: ${snapshot("completed")}\n\nid: 3\nevent: done\ndata: {}\n\n`, ""),
  ]);
  assert.equal((await sluice.respond({ input: "why?" }).final()).status, "completed");
  assert.deepEqual(paths, ["/v1/responses", "/runs/run_7/stream"]);
});
