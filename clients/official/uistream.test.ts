// The package ai of the Vercel AI SDK, as it is published, against /api/ai/chat.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AbstractChat, type ChatState, DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import { all, keyed, limited, scripted, whole } from "./servers.js";

let chats = 0;
const chatID = () => `chat-${process.pid}-${++chats}`;
const user = (text: string): UIMessage => ({ id: `u-${++chats}`, role: "user", parts: [{ type: "text", text }] });
const transport = (base: string, headers: Record<string, string> = {}, body: object = {}) => new DefaultChatTransport<UIMessage>({ api: `${base}/api/ai/chat`, headers, body });

/** Sends messages as useChat does. */
const send = (t: DefaultChatTransport<UIMessage>, chatId: string, messages: UIMessage[], abortSignal?: AbortSignal) =>
  t.sendMessages({ chatId, messages, abortSignal, trigger: "submit-message", messageId: undefined });

/** Compares a chunk with the schema of the package, which the transport does too, and refuses types that no version knows. */
async function valid(chunk: unknown): Promise<void> {
  const schema = typeof uiMessageChunkSchema === "function" ? uiMessageChunkSchema() : uiMessageChunkSchema;
  const result = await schema.validate!(chunk);
  assert.ok(result.success, JSON.stringify(chunk));
}

/** Reads a stream to its end: its chunks and the message that they make. */
async function read(stream: ReadableStream<UIMessageChunk>, onError: (e: unknown) => void = (e) => assert.fail(String(e))) {
  const [first, second] = stream.tee();
  const chunks = all(first as unknown as AsyncIterable<UIMessageChunk>);
  let message: UIMessage | undefined;
  for await (const m of readUIMessageStream({ stream: second, onError })) message = m;
  for (const chunk of await chunks) await valid(chunk);
  return { chunks: await chunks, message: message as UIMessage };
}

const textOf = (m?: UIMessage) => (m?.parts ?? []).map((p) => (p.type === "text" ? p.text : "")).join("");

/** A text without the markers of citations. */
const plain = (text: string) => text.replace(/ ?\[\d+\]/g, "");

test("a message with all its parts", async () => {
  for (const word of ["short", "long", "cached", "thinking"]) {
    const { chunks, message } = await read(await send(transport(scripted), chatID(), [user(`${word} parts`)]));
    assert.equal(chunks[0]?.type, "start");
    assert.equal(chunks.at(-1)?.type, "finish");
    assert.equal(message.role, "assistant");
    assert.match(message.id, /^msg_/);
    const run = (message.metadata as { runId: string }).runId;
    const answer = (await (await fetch(`${scripted}/api/runs/${run}`)).json()) as { answer: { answer: string }; protocol: string };
    assert.equal(answer.protocol, "uistream");
    assert.ok(textOf(message) === plain(answer.answer.answer), word);
    const kinds = new Set(message.parts.map((p) => p.type));
    assert.ok(kinds.has("data-confidence") && kinds.has("step-start"));
    assert.equal(kinds.has("reasoning"), word === "thinking");
    assert.equal(kinds.has("source-document"), word !== "cached");
    for (const p of message.parts) {
      if (p.type === "dynamic-tool") assert.equal(p.state, "output-available");
      if (p.type === "text" || p.type === "reasoning") assert.equal(p.state, "done");
      if (p.type !== "text" || !("citations" in p)) continue;
      for (const c of p.citations as { source: { id: string }; startIndex: number; endIndex: number }[]) {
        assert.ok(message.parts.some((s) => s.type === "source-document" && s.sourceId === c.source.id));
        assert.match(p.text.slice(c.startIndex, c.endIndex), /^\S(.*\S)?$/su);
      }
    }
  }
});

test("the header and the end of a stream", async () => {
  const body = JSON.stringify({ id: chatID(), messages: [user("short frames")], trigger: "submit-message" });
  const res = await fetch(`${scripted}/api/ai/chat`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  assert.equal(res.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  assert.match(await res.text(), /\ndata: \[DONE\]\n\n$/);
});

test("a run that fails", async () => {
  const errors: unknown[] = [];
  const { chunks, message } = await read(await send(transport(scripted), chatID(), [user("failing")]), (e) => errors.push(e));
  assert.deepEqual(chunks.at(-1), { type: "error", errorText: "the model went away" });
  assert.equal((errors[0] as Error).message, "the model went away");
  assert.match(textOf(message), /\S/);
});

test("errors before the stream", async () => {
  const refused = (t: DefaultChatTransport<UIMessage>, messages: UIMessage[], status: number, says: RegExp) =>
    assert.rejects(send(t, chatID(), messages), (e: unknown) => (e as { statusCode: number }).statusCode === status && says.test((e as Error).message) && !/[{"]/.test((e as Error).message));
  await refused(transport(scripted), [user(" ")], 400, /^messages\[0\]\.parts: /);
  await refused(transport(scripted, {}, { mode: "quick" }), [user("short")], 400, /^mode: /);
  await refused(transport(keyed, { Authorization: "Bearer wrong" }), [user("short")], 401, /key/);
  const slow = transport(keyed, { Authorization: `Bearer ${limited}` });
  await send(slow, chatID(), [user("short")]).catch(() => undefined);
  await refused(slow, [user("short")], 429, /./);
});

test("abort and resume", async () => {
  const t = transport(whole);
  const id = chatID();
  assert.equal(await t.reconnectToStream({ chatId: id }), null);
  const waits = transport(scripted);
  const stop = new AbortController();
  const reader = (await send(waits, id, [user("waiting")], stop.signal)).getReader();
  const { value } = await reader.read();
  assert.ok(value?.type === "start");
  stop.abort();
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  }, { name: "AbortError" });

  // A page that is loaded again gets the whole message, and the other reader goes on.
  const first = await send(waits, id, [user("waiting again")]);
  const again = await waits.reconnectToStream({ chatId: id });
  assert.ok(again);
  const run = await cancelled(again);
  const { chunks } = await read(first);
  assert.deepEqual(chunks[0], { type: "start", messageId: `msg_${run}`, messageMetadata: { runId: run } });
  assert.equal(chunks.at(-1)?.type, "abort");
  assert.equal(await waits.reconnectToStream({ chatId: id }), null);
});

test("stop", async () => {
  const t = transport(scripted);
  const id = chatID();
  const stream = await send(t, id, [user("waiting for a stop")]);
  assert.equal((await fetch(`${scripted}/api/ai/chat/${encodeURIComponent(id)}/stop`, { method: "POST" })).status, 204);
  const { chunks } = await read(stream);
  assert.equal(chunks.at(-1)?.type, "abort");
  assert.equal(await t.reconnectToStream({ chatId: id }), null);
});

/** Reads a stream until its text begins, cancels its run, reads the rest and returns the id of the run. */
async function cancelled(stream: ReadableStream<UIMessageChunk>): Promise<string> {
  let run = "";
  for await (const chunk of stream as unknown as AsyncIterable<UIMessageChunk>) {
    await valid(chunk);
    if (chunk.type === "start") run = (chunk.messageMetadata as { runId: string }).runId;
    if (chunk.type === "text-start") await fetch(`${scripted}/runs/${run}/cancel`, { method: "POST" });
  }
  return run;
}

test("a run reads in forge, and one of forge here", async () => {
  const { message } = await read(await send(transport(scripted), chatID(), [user("short crossing")]));
  const run = (message.metadata as { runId: string }).runId;
  const forge = await (await fetch(`${scripted}/runs/${run}/stream?protocol=forge`)).text();
  assert.match(forge, /event: query_analysis/);
  assert.match(forge, /event: done/);
  const asked = await fetch(`${scripted}/api/query`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query: "long crossing" }) });
  const { run_id, answer } = (await asked.json()) as { run_id: string; answer: string };
  const there = new DefaultChatTransport<UIMessage>({ prepareReconnectToStreamRequest: () => ({ api: `${scripted}/runs/${run_id}/stream?protocol=uistream` }) });
  const stream = await there.reconnectToStream({ chatId: "any" });
  assert.ok(stream);
  assert.ok(textOf((await read(stream)).message) === plain(answer));
});

/** The state of a chat, as the hooks of the frameworks hold it. */
class State implements ChatState<UIMessage> {
  status: ChatState<UIMessage>["status"] = "ready";
  error: Error | undefined;
  messages: UIMessage[] = [];
  pushMessage = (m: UIMessage) => void this.messages.push(m);
  popMessage = () => void this.messages.pop();
  replaceMessage = (i: number, m: UIMessage) => void (this.messages[i] = m);
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

class Chat extends AbstractChat<UIMessage> {
  constructor(base: string, id = chatID(), messages: UIMessage[] = []) {
    super({ id, state: Object.assign(new State(), { messages }), transport: transport(base) });
  }
}

// What useChat does: it is this class with the state of a component.
test("a chat: follow-up, again, error", async () => {
  const chat = new Chat(scripted);
  await chat.sendMessage({ text: "short first" });
  await chat.sendMessage({ text: "thinking second" });
  await chat.regenerate();
  assert.equal(String(chat.error), "undefined");
  assert.deepEqual(chat.messages.map((m) => m.role), ["user", "assistant", "user", "assistant"]);
  assert.match(textOf(chat.messages[3]), /\S/);
  await chat.sendMessage({ text: "failing third" });
  assert.equal(chat.status, "error");
  assert.equal(String(chat.error), "Error: the model went away");
});

test("a chat that is resumed", async () => {
  const chat = new Chat(scripted);
  const sent = chat.sendMessage({ text: "waiting" });
  while (!textOf(chat.messages[1])) await new Promise((r) => setImmediate(r));
  const other = new Chat(scripted, chat.id, chat.messages.slice(0, 1));
  const resumed = other.resumeStream();
  while (textOf(other.messages[1]) !== textOf(chat.messages[1])) await new Promise((r) => setImmediate(r));
  await fetch(`${scripted}/runs/${(chat.messages[1]?.metadata as { runId: string }).runId}/cancel`, { method: "POST" });
  await Promise.all([sent, resumed]);
  assert.deepEqual(other.messages[1], chat.messages[1]);
});

// Frames of the golden transcripts, such as those that no scripted run has.
test("every golden frame has the schema", async () => {
  const goldens = JSON.parse(process.env.SLUICE_UISTREAM_GOLDENS ?? "[]") as string[];
  let n = 0;
  for (const path of goldens) {
    const stream = new ReadableStream<UIMessageChunk>({
      async start(c) {
        for (const line of readFileSync(path, "utf8").split("\n")) {
          if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
          const chunk = JSON.parse(line.slice(6)) as UIMessageChunk;
          await valid(chunk);
          c.enqueue(chunk);
          n++;
        }
        c.close();
      },
    });
    const message = (await all(readUIMessageStream({ stream }))).at(-1);
    assert.match(message?.id ?? "", /^msg_run_1$/, path);
  }
  assert.ok(n > 80, `${n} frames`);
});
