// The Agent-User Interaction protocol: the official HttpAgent, and the schemas of the events that the protocol publishes for TypeScript.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { EventType } from "@ag-ui/core";
import { EventSchemas, RunAgentInputSchema } from "@ag-ui/core/schemas";

const { SLUICE_URL: url } = process.env;
const question = (id, content) => ({ id, role: "user", content });

// agent returns an agent whose events are compared with the schemas, as they are on the wire.
function agent(options = {}) {
  const frames = [];
  const made = new HttpAgent({
    url: `${url}/agui`,
    ...options,
    fetch: async (at, init) => {
      if (init.body) RunAgentInputSchema.parse(JSON.parse(init.body));
      const reply = await (options.fetch ?? fetch)(at, init);
      if (!reply.ok || !reply.body) return reply;
      const [read, kept] = reply.body.tee();
      made.kept = (async () => {
        let text = "";
        try {
          for await (const piece of kept.pipeThrough(new TextDecoderStream())) text += piece;
        } catch (err) {
          if (err.name !== "AbortError") throw err;
        }
        frames.push(...check(text));
      })();
      return new Response(read, { status: reply.status, headers: reply.headers });
    },
  });
  return Object.assign(made, { frames });
}

// check returns the events of a stream. Their fields are those of the schemas, and no others.
function check(text) {
  const data = text.split("\n\n").slice(0, -1).flatMap((f) => f.split("\n").filter((l) => l.startsWith("data: ")).map((l) => JSON.parse(l.slice(6))));
  for (const event of data) {
    const parsed = EventSchemas.parse(event);
    assert.deepEqual(parsed, event);
    const schema = EventSchemas.options.find((o) => o.shape.type.value === event.type);
    for (const field of Object.keys(event)) assert.ok(field in schema.shape, `${event.type}.${field}`);
  }
  return data;
}

// quiet fails the test if the client warns of something that it strips or cannot apply.
function quiet(t) {
  for (const kind of ["warn", "error"]) {
    const mock = t.mock.method(console, kind, () => {});
    t.after(() => assert.deepEqual(mock.mock.calls.map((c) => c.arguments), []));
  }
}

test("every frame of the golden transcripts has a schema", () => {
  const folder = new URL("../../wire/agui/testdata/", import.meta.url);
  const seen = new Set();
  const names = readdirSync(folder).filter((n) => n.endsWith(".txt"));
  assert.ok(names.length > 5);
  for (const name of names) {
    for (const event of check(readFileSync(new URL(name, folder), "utf8"))) seen.add(event.type);
  }
  const carried = Object.values(EventType).filter((type) => !/_CHUNK$|^SUBAGENT|^RAW$|^CUSTOM$|^MESSAGES_SNAPSHOT$|^REASONING_ENCRYPTED_VALUE$/.test(type));
  assert.deepEqual([...seen].sort(), carried.sort());
});

test("the client reads the golden transcripts", async (t) => {
  quiet(t);
  const folder = new URL("../../wire/agui/testdata/", import.meta.url);
  const ends = {};
  for (const name of readdirSync(folder).filter((n) => n.endsWith(".txt"))) {
    const replay = agent({ initialMessages: [question("q", "Who?")], fetch: async () => new Response(readFileSync(new URL(name, folder)), { headers: { "Content-Type": "text/event-stream" } }) });
    let failed = "";
    await replay.runAgent({}, { onRunErrorEvent: ({ event }) => { failed = event.code; } });
    ends[name] = [replay.state.stage, replay.state.sources.length, failed];
  }
  assert.deepEqual(ends, { "abstained.txt": ["finished", 0, ""], "answered.txt": ["finished", 2, ""], "cached.txt": ["finished", 1, ""], "cancelled.txt": ["cancelled", 2, "CANCELLED"], "failed.txt": ["failed", 0, "NO_DOCUMENTS"],
    "linked.txt": ["finished", 2, ""], "searching.txt": ["cancelled", 0, "CANCELLED"], "timeout.txt": ["failed", 2, "TIMEOUT"] });
});

test("an answer with its tool calls, activities, steps and state", async (t) => {
  quiet(t);
  const asked = agent({ initialMessages: [question("q1", "When was the north lock opened?")] });
  const seen = { steps: [], stages: [], calls: [] };
  const { result, newMessages } = await asked.runAgent({ forwardedProps: { collection: "default", noCache: true } }, {
    onStepStartedEvent: ({ event }) => { seen.steps.push(event.stepName); },
    onStateChanged: ({ state }) => { seen.stages.push(state.stage); },
    onToolCallEndEvent: ({ toolCallName, toolCallArgs }) => { seen.calls.push([toolCallName, toolCallArgs]); },
  });
  await asked.kept;
  const answer = newMessages.find((m) => m.role === "assistant" && m.content);
  assert.match(answer.content, /1932/);
  assert.deepEqual(result, { messageId: answer.id, finishReason: "stop" });
  assert.deepEqual(seen.steps, ["analyze", "retrieve", "generate", "verify"]);
  assert.deepEqual([...new Set(seen.stages)], [...seen.steps, "finished"]);
  assert.ok(seen.calls.length > 0 && seen.calls.every(([name, args]) => name && typeof args === "object"), JSON.stringify(seen.calls));
  const calls = newMessages.flatMap((m) => m.toolCalls ?? []);
  const results = newMessages.filter((m) => m.role === "tool");
  assert.deepEqual(results.map((m) => m.toolCallId).sort(), calls.map((c) => c.id).sort());
  assert.ok(results.some((m) => JSON.parse(m.content).passages?.length > 0));
  assert.deepEqual(newMessages.filter((m) => m.role === "activity").map((m) => m.activityType).filter((a) => a !== "reranking"), ["grading", "verification"]);
  const { sources, citations, confidence, stage } = asked.state;
  assert.equal(stage, "finished");
  assert.ok(confidence.probability > 0 && !confidence.abstained);
  const cited = sources.find((s) => s.n === citations[0].n);
  assert.match(answer.content.slice(citations[0].start, citations[0].end), /1932/);
  assert.equal(cited.name, "handbook.md");
  const page = await fetch(cited.url);
  assert.equal(page.status, 200);
  assert.ok(asked.frames.length > 10);
  assert.equal(asked.frames[0].threadId, asked.threadId);
});

test("a second run in the same thread follows the first, and another thread knows nothing of it", async (t) => {
  quiet(t);
  const chat = agent({ initialMessages: [question("q1", "How many euros does a ship pay?")] });
  await chat.runAgent();
  await chat.kept;
  const first = chat.state.runId;
  chat.addMessage(question("q2", "And how long may ships in the north lock be?"));
  const { newMessages } = await chat.runAgent();
  assert.match(newMessages.find((m) => m.role === "assistant" && m.content).content, /140/);
  assert.notEqual(chat.state.runId, first);
  assert.equal(new Set(chat.messages.map((m) => m.id)).size, chat.messages.length);
  const session = await (await fetch(`${url}/v1/rag/sessions/${chat.threadId}/messages`)).json();
  assert.deepEqual(session.messages.map((m) => m.role), ["user", "assistant", "user", "assistant"]);
});

test("a run is read again by its id, from any frame, and in other protocols", async (t) => {
  quiet(t);
  const asked = agent({ initialMessages: [question("q1", "Which ships does the north lock take?")] });
  const { newMessages } = await asked.runAgent();
  await asked.kept;
  const path = `${url}/runs/${asked.state.runId}/stream`;
  const again = agent({ url: `${path}?protocol=agui`, initialMessages: [question("q1", "Which ships does the north lock take?")], fetch: (at, { signal, headers }) => fetch(at, { signal, headers }) });
  const replayed = await again.runAgent();
  assert.deepEqual(replayed.newMessages, newMessages);
  assert.deepEqual(again.state, asked.state);
  const frames = (await (await fetch(`${path}?protocol=agui`)).text()).split("\n\n").slice(0, -1);
  const middle = frames.findIndex((f) => f.includes("TEXT_MESSAGE_CONTENT"));
  const rest = await (await fetch(`${path}?protocol=agui`, { headers: { "Last-Event-ID": /^id: (.*)$/m.exec(frames[middle])[1] } })).text();
  assert.deepEqual(rest.split("\n\n").slice(0, -1), frames.slice(middle + 1));
  assert.match(await (await fetch(`${path}?protocol=forge`)).text(), /140/);
  assert.equal((await fetch(`${url}/agui/${asked.threadId}/stream`)).status, 204);
});

test("an answer in progress is aborted, and the thread goes on", async (t) => {
  quiet(t);
  const chat = agent({ initialMessages: [question("q1", "When was the north lock opened, and what does a ship pay?")] });
  let code;
  await chat.runAgent({}, { onRunStartedEvent: () => chat.abortRun(), onRunErrorEvent: ({ event }) => { code = event.code; } });
  assert.ok(code === "abort" || code === undefined);
  chat.setMessages([question("q2", "What does a ship pay for each metre?")]);
  const { newMessages } = await chat.runAgent();
  assert.match(newMessages.find((m) => m.role === "assistant" && m.content).content, /12/);
});

test("errors: before a run with a status, in a run as RUN_ERROR", async (t) => {
  t.mock.method(console, "error", () => {}); // the client reports the failure
  const refused = agent({ initialMessages: [question("q1", " ")] });
  await assert.rejects(refused.runAgent(), (err) => {
    assert.equal(err.status, 400);
    assert.deepEqual(err.payload, { type: "RUN_ERROR", message: "messages[0].content: want a text that is not only white space", code: "INVALID_REQUEST", field: "messages[0].content" });
    return true;
  });
  const unknown = agent({ url: `${url}/runs/run_none/stream?protocol=agui`, fetch: (at, { signal }) => fetch(at, { signal }) });
  await assert.rejects(unknown.runAgent(), (err) => err.status === 404);
  const failed = agent({ initialMessages: [question("q1", "Who?")] });
  let event;
  await failed.runAgent({ forwardedProps: { collection: "nothing-here" } }, { onRunErrorEvent: (e) => { event = e.event; } });
  await failed.kept;
  assert.equal(event.code, "NO_DOCUMENTS");
  assert.equal(failed.state.stage, "failed");
});
