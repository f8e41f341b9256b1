// Anthropic's Messages: the official TypeScript SDK.
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic, { AuthenticationError, BadRequestError, ContentTooLargeError, NotFoundError, RateLimitError } from "@anthropic-ai/sdk";

const { SLUICE_URL: url, SLUICE_KEYED: keyed, SLUICE_KEY: key } = process.env;
const client = (options = {}) => new Anthropic({ baseURL: `${url}/anthropic`, apiKey: "any", maxRetries: 0, ...options });
const asked = (content, more = {}) => ({ model: "sluice-direct", max_tokens: 1024, messages: [{ role: "user", content }], ...more });
const text = (message) => message.content.map((b) => b.text).join("");

test("a message with citations", async () => {
  const { data: message, response, request_id } = await client().messages.create(asked("When was the north lock opened?", { system: "Be brief.", temperature: 0.2 })).withResponse();
  assert.match(text(message), /1932/);
  assert.equal(message.stop_reason, "end_turn");
  assert.equal(message.model, "sluice-direct");
  assert.equal(message.id, response.headers.get("sluice-run-id"));
  assert.equal(message.id, request_id);
  assert.equal(message._request_id, request_id);
  const [citation] = message.content.flatMap((b) => b.citations ?? []);
  assert.equal(citation.type, "search_result_location");
  assert.match(citation.source, /handbook\.md$/);
  assert.match(citation.cited_text, /1932/);
  assert.equal(citation.title, "Harbour handbook");
  assert.equal(citation.end_block_index, citation.start_block_index + 1);
});

test("a stream adds up to the message", async () => {
  for (const question of ["When was the north lock opened?", "How long may ships in the north lock be, and what does a ship pay?"]) {
    const whole = await client().messages.create(asked(question));
    const stream = client().messages.stream(asked(question));
    const events = { text: "", citations: [], blocks: [] };
    stream.on("text", (delta) => (events.text += delta)).on("citation", (c) => events.citations.push(c)).on("contentBlock", (b) => events.blocks.push(b));
    const final = await stream.finalMessage();
    assert.deepEqual(final.content, whole.content);
    assert.deepEqual(final.usage, whole.usage);
    assert.equal(final.stop_reason, whole.stop_reason);
    assert.equal(events.text, text(final));
    assert.deepEqual(events.blocks, final.content);
    assert.ok(events.citations.length > 0);
    assert.deepEqual(events.citations, final.content.flatMap((b) => b.citations ?? []));
    assert.equal(stream.request_id, final.id);
  }
});

test("the conversation is the history of a question", async () => {
  const messages = [{ role: "user", content: "When was the north lock opened?" }];
  const first = await client().messages.create({ model: "sluice", max_tokens: 1024, messages });
  messages.push({ role: "assistant", content: first.content }, { role: "user", content: [{ type: "text", text: "How long may ships in it be?" }] });
  const second = await client().messages.create({ model: "sluice", max_tokens: 1024, messages });
  assert.match(text(second), /140 metres/);
});

test("a run can be read in other protocols, and the other way round", async () => {
  const stream = client().messages.stream(asked("What does a ship pay?"));
  const { id } = await stream.finalMessage();
  const read = async (run, protocol, headers = {}) => (await fetch(`${url}/runs/${run}/stream?protocol=${protocol}`, { headers })).text();
  assert.match(await read(id, "forge"), /event: done/);
  const replay = await read(id, "anthropic");
  assert.match(replay, /event: message_stop/);
  const ids = [...replay.matchAll(/^id: (.*)$/gm)].map((m) => m[1]);
  for (const at of ids.slice(0, -1)) {
    assert.equal(await read(id, "anthropic", { "Last-Event-ID": at }), replay.slice(replay.indexOf(`id: ${at}\n`)).replace(/^.*?\n\n/s, ""));
  }
  const other = await fetch(`${url}/api/query/stream`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query: "When was the north lock opened?" }) });
  await other.text();
  assert.match(await read(other.headers.get("sluice-run-id"), "anthropic"), /search_result_location/);
});

test("a title without a run", async () => {
  const named = asked("Name this chat.\nReply with { \"title\": \"the name\" }\n<chat_history>\nUSER: Who keeps Farland?\nASSISTANT: Zelda Quux.\n</chat_history>", { model: "sluice-task" });
  const message = await client().messages.create(named);
  assert.match(text(message), /"title"/);
  assert.deepEqual((await client().messages.stream(named).finalMessage()).content, message.content);
  assert.equal((await fetch(`${url}/api/runs/${message.id}`)).status, 404);
});

test("models", async () => {
  const ids = [];
  for await (const m of client().models.list({ limit: 2 })) ids.push(m.id);
  assert.deepEqual(ids.slice(0, 4), ["sluice", "sluice-agentic", "sluice-direct", "sluice-task"]);
  assert.equal(new Set(ids).size, ids.length);
  const before = await client().models.list({ before_id: "sluice-direct", limit: 1 });
  assert.deepEqual([before.data.map((m) => m.id), before.has_more], [["sluice-agentic"], true]);
  assert.equal((await client().models.retrieve("sluice")).type, "model");
  await assert.rejects(client().models.retrieve("none"), (e) => e instanceof NotFoundError && e.type === "not_found_error");
});

test("errors", async () => {
  const refused = (body, field) => assert.rejects(client().messages.create(body), (e) => e instanceof BadRequestError && e.type === "invalid_request_error" && e.apiMessage.startsWith(`${field}: `), field);
  await refused(asked([{ type: "text", text: "What is it?" }, { type: "image", source: { type: "url", url: "https://farland.example/a.png" } }]), "messages.0.content.1.type");
  await refused(asked("What?", { tool_choice: { type: "any" } }), "tool_choice.type");
  await refused(asked("What?", { temperature: 7 }), "temperature");
  await refused({ ...asked("What?"), messages: [] }, "messages");
  await refused(asked("What?".repeat(10_000)), "messages.0.content");
  await assert.rejects(client().messages.create(asked("What?".repeat(1_000_000))), ContentTooLargeError);
  await assert.rejects(client().messages.stream(asked("")).finalMessage(), BadRequestError);
  const missing = (message) => (e) => e instanceof NotFoundError && message.test(e.apiMessage);
  await assert.rejects(client().messages.countTokens(asked("What?")), missing(/cannot be counted/));
  for (const baseURL of [url, `${url}/anthropic/v1`]) {
    await assert.rejects(client({ baseURL }).messages.create(asked("What?")), missing(/use one that ends in \/anthropic/));
  }
  const nothing = asked("What is there?", { model: "sluice/nothing-here" });
  await assert.rejects(client().messages.create(nothing), (e) => e.status === 422 && e.requestID?.length > 0 && e.error.request_id === e.requestID);
  await assert.rejects(client().messages.stream(nothing).finalMessage(), (e) => e.type === "invalid_request_error" && e.error.request_id.length > 0);
});

test("keys, their rates, and retries", async () => {
  const base = { baseURL: `${keyed}/anthropic` };
  await assert.rejects(client({ ...base, apiKey: "wrong" }).models.list(), (e) => e instanceof AuthenticationError && e.type === "authentication_error");
  const list = (options) => client({ ...base, ...options }).models.list().withResponse();
  const { response } = await list({ apiKey: key });
  assert.equal(response.headers.get("anthropic-ratelimit-requests-limit"), "20");
  assert.equal(response.headers.get("anthropic-ratelimit-requests-remaining"), "19");
  assert.ok(Date.parse(response.headers.get("anthropic-ratelimit-requests-reset")) > Date.now());
  await list({ apiKey: null, authToken: key });
  const limited = (e) => e instanceof RateLimitError && e.type === "rate_limit_error" && Number(e.headers.get("retry-after")) >= 1;
  await assert.rejects(async () => {
    for (let i = 0; i < 40; i++) await list({ apiKey: key });
  }, limited);
  await list({ apiKey: key, maxRetries: 3 }); // waits as long as the refusal says
});

test("a stream that is stopped", async () => {
  const stream = client().messages.stream(asked("How long may ships in the north lock be?"));
  for await (const event of stream) { // to leave it aborts the request; see the comment in a2a.test.mjs on why no error is waited for
    assert.equal(event.type, "message_start");
    break;
  }
  assert.ok(stream.controller.signal.aborted);
  assert.match(text(await client().messages.create(asked("How long may ships in the north lock be?"))), /140 metres/);
});
