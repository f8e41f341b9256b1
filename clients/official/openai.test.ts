// The clients of OpenAI and LangChain, as they are published, against /openai/v1.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError, RateLimitError, UnprocessableEntityError } from "openai";
import { all, key, keyed, limited, scripted, whole } from "./servers.js";

const openai = (base: string, apiKey = "any") => new OpenAI({ baseURL: `${base}/openai/v1`, apiKey, maxRetries: 0 });
const asked = (content: string) => [{ role: "user" as const, content }];

test("chat completion", async () => {
  const { data, response } = await openai(scripted)
    .chat.completions.create({ model: "sluice-direct", messages: [{ role: "system", content: "Be brief." }, ...asked("short one")], temperature: 0.2, user: "ada" })
    .withResponse();
  const [choice] = data.choices;
  assert.equal(data.model, "sluice-direct");
  assert.equal(data.id, response.headers.get("sluice-run-id"));
  assert.equal(choice?.finish_reason, "stop");
  assert.match(choice?.message.content ?? "", /\S/);
  assert.equal(data.usage?.total_tokens, (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
});

test("embeddings, in the form that the client requests by itself and as numbers", async () => {
  const create = (encoding_format?: "float") => openai(whole).embeddings.create({ model: "any", input: ["a ship", "a boat"], ...(encoding_format && { encoding_format }) });
  const [binary, numbers] = [await create(), await create("float")];
  assert.equal(binary.data.length, 2);
  for (const [i, e] of numbers.data.entries()) {
    assert.ok(e.embedding.length > 50);
    assert.ok(e.embedding.every((x, j) => Math.abs(x - binary.data[i]!.embedding[j]!) < 1e-6));
  }
});

test("chat completion as a stream", async () => {
  for (const word of ["short", "long", "cached", "thinking"]) {
    const whole = await openai(scripted).chat.completions.create({ model: "sluice", messages: asked(`${word} streams`) });
    const chunks = await all(
      await openai(scripted).chat.completions.create({ model: "sluice", messages: asked(`${word} streams`), stream: true, stream_options: { include_usage: true } }),
    );
    assert.equal(chunks.map((c) => c.choices[0]?.delta.content ?? "").join(""), whole.choices[0]?.message.content);
    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.deepEqual(chunks.at(-1)?.usage, whole.usage);
    assert.ok(chunks.slice(0, -1).every((c) => c.usage === null));
    assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, "stop");
    const [first] = await all(await openai(scripted).chat.completions.create({ model: "sluice", messages: asked(`${word} streams`), stream: true }));
    assert.ok(first && !("usage" in first));
  }
});

test("the stream helper", async () => {
  const stream = openai(scripted).chat.completions.stream({ model: "sluice", messages: asked("long helper") });
  let text = "";
  stream.on("content", (delta) => (text += delta));
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0]?.message.content, text);
  assert.ok(text.length > 1000);
});

test("a run that fails", async () => {
  const client = openai(scripted);
  await assert.rejects(client.chat.completions.create({ model: "sluice", messages: asked("failing") }), (e: unknown) => e instanceof APIError && e.status === 502 && e.code === "llm_error");
  const stream = await client.chat.completions.create({ model: "sluice", messages: asked("failing"), stream: true });
  await assert.rejects(all(stream), (e: unknown) => e instanceof APIError && e.type === "server_error" && e.message.includes("the model went away"));
});

test("models", async () => {
  const client = openai(scripted);
  const ids = (await all(client.models.list())).map((m) => m.id);
  assert.deepEqual(ids.slice(0, 3), ["sluice", "sluice-agentic", "sluice-direct"]);
  assert.equal((await client.models.retrieve("sluice")).object, "model");
  await assert.rejects(client.models.retrieve("none"), NotFoundError);
});

test("errors", async () => {
  const refused = openai(scripted).chat.completions.create({ model: "sluice", messages: asked("short"), n: 2 });
  await assert.rejects(refused, (e: unknown) => e instanceof BadRequestError && e.param === "n" && e.type === "invalid_request_error");
  await assert.rejects(openai(scripted).get("/unknown"), NotFoundError);
  await assert.rejects(openai(keyed, "wrong").models.list(), (e: unknown) => e instanceof AuthenticationError && e.code === "invalid_api_key");
  assert.ok((await all(openai(keyed, key).models.list())).length > 0);
  await openai(keyed, limited).models.list();
  await assert.rejects(openai(keyed, limited).models.list(), (e: unknown) => e instanceof RateLimitError && e.code === "rate_limit_exceeded" && Number(e.headers.get("retry-after")) > 60);
});

// With the base URL of the knowledge protocol, what OpenAI's client cannot read is refused, and the rest works.
test("another base URL", async () => {
  const client = new OpenAI({ baseURL: `${whole}/v1`, apiKey: "any", maxRetries: 0 });
  const named = (e: unknown) => e instanceof NotFoundError && e.message.includes("/openai/v1");
  await assert.rejects(client.chat.completions.create({ model: "sluice", messages: asked("short") }), named);
  await assert.rejects(client.embeddings.create({ model: "sluice", input: "short" }), named);
  await assert.rejects(client.responses.create({ model: "sluice", input: "short", stream: true }), named);
  await assert.rejects(client.responses.create({ model: "sluice", input: "short" }), named);
  const file = await client.files.create({ file: new File(["# Zoë\n\nZoë keeps the lamp of Farland.\n"], "lamp.md"), purpose: "user_data" });
  const store = await client.vectorStores.create({ name: "lamps", file_ids: [file.id] });
  while ((await client.vectorStores.retrieve(store.id)).status !== "completed");
  const stores = { type: "file_search" as const, vector_store_ids: [store.id] };
  const plain = await client.responses.create({ model: "sluice", input: "Who keeps the lamp of Farland?", stream: false, tools: [stores] });
  assert.equal(plain.status, "completed");
  const r = await openai(whole).responses.create({ model: "sluice", input: "Who keeps the lamp of Farland?", tools: [stores], include: ["file_search_call.results"] });
  assert.match(r.output_text, /Zoë/);
  assert.ok(JSON.stringify(r.output).includes(`"type":"file_citation","file_id":"${file.id}"`));
  assert.deepEqual(r.tools, [stores]);
  await client.vectorStores.delete(store.id);
  await client.files.delete(file.id);
});

// What Open WebUI sends beside questions, without a stream: prompts for a title, tags and follow-up questions to the model for tasks.
test("the tasks of front ends", async () => {
  for (const [object, want] of [['{ "title": "…" }', { title: "Who keeps it?" }], ['{ "tags": ["…"] }', { tags: ["keeps"] }], ['{ "follow_ups": ["…"] }', { follow_ups: [] }]] as const) {
    const prompt = `### Task\nReply with ${object}\n<chat_history>\nUSER: Who keeps it?\nASSISTANT: Zoë.\n</chat_history>`;
    const body = { model: "sluice-task", messages: asked(prompt), stream: false, max_completion_tokens: 1000 };
    const reply = (await openai(whole).post("/chat/completions", { body })) as OpenAI.ChatCompletion;
    assert.deepEqual(JSON.parse(reply.choices[0]?.message.content ?? ""), want);
  }
});

test("a request that is repeated", async () => {
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const body = { model: "sluice", messages: asked("short one, once"), stream: false } as const;
  const first = await openai(scripted).chat.completions.create(body, { headers }).withResponse();
  const second = await openai(scripted).chat.completions.create(body, { headers }).withResponse();
  assert.equal(second.data.id, first.data.id);
  assert.equal(second.response.headers.get("idempotent-replayed"), "true");
  await assert.rejects(openai(scripted).chat.completions.create({ ...body, messages: asked("short two") }, { headers }), UnprocessableEntityError);
});

test("LangChain", async () => {
  const model = new ChatOpenAI({ model: "sluice-direct", apiKey: "any", configuration: { baseURL: `${scripted}/openai/v1` }, maxRetries: 0 });
  const reply = await model.invoke([["system", "Be brief."], ["human", "And?"], ["ai", "Yes."], ["human", "short chain"]]);
  assert.match(reply.text, /\S/);
  const pieces = await all(await model.stream("long chain"));
  assert.ok(pieces.length > 100);
  const whole = pieces.reduce((a, b) => a.concat(b));
  assert.ok(whole.text.length > 1000);
  const usage = whole.usage_metadata as { input_tokens: number; output_tokens: number; total_tokens: number } | undefined;
  assert.ok(usage && usage.total_tokens === usage.input_tokens + usage.output_tokens);
});
