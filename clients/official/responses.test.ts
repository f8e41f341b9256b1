// The client of OpenAI, as it is published, against the Responses of /openai/v1.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI, { APIError, BadRequestError, NotFoundError } from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { all, scripted } from "./servers.js";

const openai = new OpenAI({ baseURL: `${scripted}/openai/v1`, apiKey: "any", maxRetries: 0 });
const first = (events: ResponseStreamEvent[]) => (events[0]?.type === "response.created" ? events[0].response.id : "");

test("a response", async () => {
  const r = await openai.responses.create({ model: "sluice-direct", input: "short answer", instructions: "Be brief.", metadata: { a: "b" }, include: ["file_search_call.results"] });
  assert.equal(r.status, "completed");
  assert.equal(r.model, "sluice-direct");
  assert.deepEqual(r.metadata, { a: "b" });
  assert.match(r.output_text, /\S/);
  const search = r.output.find((item) => item.type === "file_search_call");
  assert.ok(search?.results && search.results.length > 0 && search.queries.length > 0);
  const message = r.output.find((item) => item.type === "message");
  assert.ok(message?.content[0]?.type === "output_text" && message.content[0].annotations.some((a) => a.type === "file_citation" && a.file_id !== "" && a.filename !== ""));
  const plain = await openai.responses.create({ model: "sluice-direct", input: "short answer again" });
  assert.ok(plain.output.every((item) => item.type !== "file_search_call" || item.results === undefined));
});

test("a response as a stream", async () => {
  for (const word of ["short", "long", "cached", "thinking"]) {
    const events = await all(await openai.responses.create({ model: "sluice", input: `${word} stream of a response`, stream: true }));
    assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i));
    const last = events.at(-1);
    assert.ok(last?.type === "response.completed");
    const text = events.map((e) => (e.type === "response.output_text.delta" ? e.delta : "")).join("");
    const stored = await openai.responses.retrieve(first(events));
    assert.equal(stored.output_text, text);
    assert.deepEqual(stored.output, last.response.output);
  }
});

test("the stream helper", async () => {
  const stream = openai.responses.stream({ model: "sluice", input: "long stream for the helper" });
  let text = "";
  stream.on("response.output_text.delta", (e) => (text += e.delta));
  const final = await stream.finalResponse();
  assert.equal(final.output_text, text);
  assert.equal(final.status, "completed");
  const again = openai.responses.stream({ response_id: final.id, starting_after: 3 });
  assert.equal((await again.finalResponse()).output_text, text);
});

test("resuming after each event", async () => {
  const events = await all(await openai.responses.create({ model: "sluice", input: "short stream to resume", stream: true }));
  const id = first(events);
  for (const e of events) {
    const rest = await all(await openai.responses.retrieve(id, { stream: true, starting_after: e.sequence_number }));
    assert.deepEqual(rest, events.slice(e.sequence_number + 1));
  }
  await assert.rejects(openai.responses.retrieve(id, { stream: true, starting_after: 9999 }), (e: unknown) => e instanceof BadRequestError && e.param === "starting_after");
});

test("a conversation", async () => {
  const one = await openai.responses.create({ model: "sluice", input: "short beginning" });
  const two = await openai.responses.create({ model: "sluice", input: "short rest", previous_response_id: one.id });
  assert.equal(two.previous_response_id, one.id);
  await assert.rejects(openai.responses.create({ model: "sluice", input: "short", previous_response_id: "run_00000000000000000000000000" }), NotFoundError);
});

test("cancelling and deleting", async () => {
  const stream = await openai.responses.create({ model: "sluice", input: "waiting for a cancellation", stream: true });
  const events: ResponseStreamEvent[] = [];
  let cancelled: Promise<OpenAI.Responses.Response> | undefined;
  for await (const e of stream) {
    events.push(e);
    if (e.type === "response.output_text.delta") cancelled ??= openai.responses.cancel(first(events));
  }
  assert.equal((await cancelled)?.status, "cancelled");
  assert.equal(events.at(-1)?.type, "response.incomplete");
  const id = first(events);
  await openai.responses.delete(id);
  await assert.rejects(openai.responses.retrieve(id), NotFoundError);
  await assert.rejects(openai.responses.delete(id), NotFoundError);
  await assert.rejects(openai.responses.cancel(id), NotFoundError);
});

test("a response that fails", async () => {
  const r = await openai.responses.create({ model: "sluice", input: "failing" });
  assert.equal(r.status, "failed");
  assert.equal(r.error?.code, "server_error");
  const events = await all(await openai.responses.create({ model: "sluice", input: "failing", stream: true }));
  assert.equal(events.at(-1)?.type, "response.failed");
  await assert.rejects(openai.responses.create({ model: "sluice", input: "short", background: true }), (e: unknown) => e instanceof APIError && e.param === "background");
});

// A run of this protocol reads in the others, and theirs in this one.
test("other protocols", async () => {
  const r = await openai.responses.create({ model: "sluice", input: "short run of two protocols" });
  const text = await (await fetch(`${scripted}/runs/${r.id}/stream?protocol=forge`)).text();
  assert.match(text, /event: done/);
  const reply = await fetch(`${scripted}/api/query`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query: "short run of forge" }) });
  const { run_id, answer } = (await reply.json()) as { run_id: string; answer: string };
  const read = await openai.responses.retrieve(run_id);
  assert.equal(read.status, "completed");
  assert.ok(answer.startsWith(read.output_text.slice(0, 5)));
});

test("LangChain with Responses", async () => {
  const model = new ChatOpenAI({ model: "sluice", apiKey: "any", useResponsesApi: true, configuration: { baseURL: `${scripted}/openai/v1` }, maxRetries: 0 });
  const reply = await model.invoke("short chain of responses");
  assert.match(reply.text, /\S/);
  const pieces = await all(await model.stream("long chain of responses"));
  assert.ok(pieces.reduce((a, b) => a.concat(b)).text.length > 1000);
});
