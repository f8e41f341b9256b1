// A stand-in for llama-server, the HTTP server of llama.cpp, which npm does not carry. The engine underneath is the real
// llama.cpp, from the package node-llama-cpp: its tokenizer, its sampling, its grammars, its vectors. Of llama-server's
// paths these are here, as https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md tells them and as far as
// the adapter in model/openai uses them:
//
//   GET  /health  /v1/models  /props  /slots
//   POST /tokenize  /v1/chat/completions
//   POST /tokenize  /v1/embeddings  /embedding  with --embeddings; /embedding alone, a vector a token, with --pooling none
//
// Left out: stop words, images, keys, and the vectors of the tokens of models that read both ways, as BERT. Given tools, a
// model always calls one, unless the last message is a tool's reply: a grammar holds it to that, and llama-server leaves the
// choice to it. Unlike llama-server it samples with the same seed where a request brings none, so that a test repeats. GET
// /idle is its own: it answers when nothing is being generated, and tells how the last answer ended and how many tokens it
// had by then.
//
//   node server.mjs --model FILE [--ctx-size 4096] [--parallel 2] [--threads 1] [--embeddings [--pooling none]]
//
// It prints its port, and exits when its input is closed: it cannot outlive who started it.
import {randomUUID} from "node:crypto";
import {createServer} from "node:http";
import {basename} from "node:path";
import {parseArgs} from "node:util";
import {Template} from "@huggingface/jinja";
import {getLlama, LlamaGrammarEvaluationState, LlamaLogLevel} from "node-llama-cpp";

const {values: flags} = parseArgs({options: {
  "model": {type: "string"},
  "ctx-size": {type: "string", default: "4096"},
  "parallel": {type: "string", default: "2"},
  "threads": {type: "string", default: "1"}, // a second one waits for the first at every step, and costs much on a busy machine
  "embeddings": {type: "boolean", default: false},
  "pooling": {type: "string", default: ""} // "none", or empty for what the model's file says
}});

const threads = Number(flags.threads);
const llama = await getLlama({
  build: "never", gpu: false, maxThreads: threads, skipDownload: true, progressLogs: false, logLevel: LlamaLogLevel.error
});
const model = await llama.loadModel({modelPath: flags.model});
const meta = model.fileInfo.metadata;
const name = meta.general.name || basename(flags.model);
const contextSize = Math.min(Number(flags["ctx-size"]), model.trainContextSize);
const context = flags.embeddings
  ? await model.createEmbeddingContext({contextSize, batchSize: contextSize, threads})
  : await model.createContext({contextSize, sequences: Number(flags.parallel), threads});
const template = flags.embeddings || !meta.tokenizer.chat_template ? null : new Template(meta.tokenizer.chat_template);
const nCtx = flags.embeddings ? contextSize : context.contextSize;

// A slot is a place in the context where an answer is generated; requests wait for a free one.
const slots = flags.embeddings ? [] : Array.from({length: Number(flags.parallel)}, (_, id) => ({
  id, sequence: context.getSequence(), busy: false, decoded: 0
}));
const waiting = [];
const idle = [];
let last = {reason: "", decoded: 0};

class Refusal extends Error {
  constructor(code, type, message, more = {}) {
    super(message);
    this.body = {error: {code, message, type, ...more}};
  }
}
const invalid = (message) => new Refusal(400, "invalid_request_error", message);
const unsupported = (message) => new Refusal(501, "not_supported_error", message);
const tooLong = (n) => new Refusal(400, "exceed_context_size_error",
  `request (${n} tokens) exceeds the available context size (${nCtx} tokens), try increasing it`,
  {n_prompt_tokens: n, n_ctx: nCtx});

async function acquire() {
  const free = slots.find((slot) => !slot.busy);
  if (free != null) {
    free.busy = true;
    return free;
  }
  return await new Promise((resolve) => waiting.push(resolve));
}

function release(slot, reason) {
  last = {reason, decoded: slot.decoded};
  const next = waiting.shift();
  if (next != null)
    return next(slot);
  slot.busy = false;
  if (slots.every((other) => !other.busy))
    idle.splice(0).forEach((tell) => tell());
}

// The prompt in tokens, by the chat template of the model's file.
function promptOf(messages, tools) {
  if (template == null)
    throw unsupported("this model has no chat template");
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid("'messages' is required");
  const text = template.render({
    messages: messages.map((message) => ({...message, content: plain(message.content)})),
    tools,
    add_generation_prompt: true,
    bos_token: model.tokens.bosString ?? "",
    eos_token: model.tokens.eosString ?? ""
  });
  const tokens = model.tokenize(text, true);
  if (model.tokens.shouldPrependBosToken && model.tokens.bos != null && tokens[0] !== model.tokens.bos)
    tokens.unshift(model.tokens.bos);
  return tokens;
}

function plain(content) {
  if (Array.isArray(content))
    return content.map((part) => {
      if (part.type !== "text")
        throw unsupported("only text is read here");
      return part.text;
    }).join("");
  return content ?? "";
}

async function grammarOf({response_format: format, tools}) {
  if (tools != null)
    return await schemaGrammar({oneOf: tools.map(({function: {name, parameters}}) => ({
      type: "object",
      properties: {name: {const: name}, arguments: parameters ?? {type: "object"}},
      required: ["name", "arguments"]
    }))});
  const type = format?.type ?? "text";
  if (type === "text")
    return undefined;
  if (type !== "json_schema" && type !== "json_object")
    throw invalid("response_format of an unknown type");
  const schema = format.json_schema?.schema ?? format.schema;
  return schema == null ? await llama.getGrammarFor("json") : await schemaGrammar(schema);
}

async function schemaGrammar(schema) {
  try {
    return await llama.createGrammarForJsonSchema(schema);
  } catch (err) {
    throw invalid(`the schema cannot be made a grammar: ${err.message}`);
  }
}

// Generates an answer and hands its text on in pieces that end in whole code points.
async function generate(slot, prompt, request, grammar, gone, write) {
  const limit = request.max_completion_tokens ?? request.max_tokens ?? -1;
  const room = nCtx - prompt.length;
  let held = [];
  slot.decoded = 0;
  await slot.sequence.clearHistory();
  if (limit === 0)
    return "length";
  const tokens = slot.sequence.evaluate(prompt, {
    temperature: request.temperature ?? 0.8,
    topK: request.top_k ?? 40,
    topP: request.top_p ?? 0.95,
    minP: request.min_p ?? 0.05,
    seed: request.seed ?? 1,
    grammarEvaluationState: grammar && new LlamaGrammarEvaluationState({model, grammar})
  });
  let reason = "stop";
  for await (const token of tokens) {
    if (gone())
      return "gone";
    slot.decoded++;
    held.push(token);
    const text = model.detokenize(held);
    if (!text.endsWith("\ufffd") || held.length > 8) {
      await write(text);
      held = [];
    }
    if (slot.decoded === limit || slot.decoded >= room - 1) {
      reason = "length";
      break;
    }
  }
  if (held.length > 0)
    await write(model.detokenize(held));
  return gone() ? "gone" : reason;
}

async function chat(request, res) {
  if (flags.embeddings)
    throw unsupported("This server does not support completions. Start it without `--embeddings`");
  if (request.stop?.length > 0 || request.n > 1)
    throw unsupported("no stop words or second choices here");
  const prompt = promptOf(request.messages, request.tools);
  if (prompt.length >= nCtx - 1)
    throw tooLong(prompt.length);
  const calls = request.tools?.length > 0 && request.messages.at(-1).role !== "tool";
  const grammar = await grammarOf(calls ? request : {response_format: request.response_format});
  const slot = await acquire();
  const gone = () => res.destroyed;
  const head = {
    id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: name,
    system_fingerprint: "stand-in"
  };
  const chunk = (more) => send(res, {...head, object: "chat.completion.chunk", ...more});
  let reason = "error", text = "";
  try {
    if (request.stream) {
      res.writeHead(200, {"Content-Type": "text/event-stream"});
      await chunk({choices: [{index: 0, delta: {role: "assistant", content: null}, finish_reason: null}]});
    }
    const began = performance.now();
    reason = await generate(slot, prompt, request, grammar, gone, async (piece) => {
      text += piece;
      if (request.stream && !calls)
        await chunk({choices: [{index: 0, delta: {content: piece}, finish_reason: null}]});
    });
    if (gone())
      return;
    const called = calls && reason === "stop" ? callOf(text) : null;
    if (called != null)
      reason = "tool_calls";
    const usage = {
      prompt_tokens: prompt.length, completion_tokens: slot.decoded, total_tokens: prompt.length + slot.decoded,
      prompt_tokens_details: {cached_tokens: 0}
    };
    const timings = {cache_n: 0, prompt_n: prompt.length, predicted_n: slot.decoded, predicted_ms: performance.now() - began};
    if (!request.stream) {
      const said = called != null ? {content: null, tool_calls: [called]} : {content: text};
      return reply(res, 200, {
        ...head, object: "chat.completion", choices: [{index: 0, message: {role: "assistant", ...said}, finish_reason: reason}],
        usage, timings
      });
    }
    for (const part of called != null ? partsOf(called) : [])
      await chunk({choices: [{index: 0, delta: {tool_calls: [{index: 0, ...part}]}, finish_reason: null}]});
    await chunk({choices: [{index: 0, delta: {}, finish_reason: reason}], timings});
    if (request.stream_options?.include_usage)
      await chunk({choices: [], usage, timings});
    res.end("data: [DONE]\n\n");
  } finally {
    release(slot, reason);
  }
}

// The call that an answer held to the tools' grammar is.
function callOf(text) {
  const {name: tool, arguments: input} = JSON.parse(text);
  return {id: `call-${randomUUID()}`, type: "function", function: {name: tool, arguments: JSON.stringify(input)}};
}

// A call as it is streamed: the tool's name first, and then its arguments in pieces.
function partsOf(call) {
  const input = call.function.arguments.match(/.{1,8}/gsu) ?? [];
  return [
    {...call, function: {name: call.function.name, arguments: ""}},
    ...input.map((piece) => ({function: {arguments: piece}}))
  ];
}

// Writes an event, and waits where the reader does: an engine should not run far ahead of who reads it.
async function send(res, event) {
  if (res.destroyed || res.write(`data: ${JSON.stringify(event)}\n\n`))
    return;
  await new Promise((resolve) => res.once("drain", resolve).once("close", resolve));
}

function needEmbeddings() {
  if (!flags.embeddings)
    throw unsupported("This server does not support embeddings. Start it with `--embeddings`");
}

async function embeddings({input, encoding_format: format}, res) {
  needEmbeddings();
  if (flags.pooling === "none")
    throw invalid("Pooling type 'none' is not OAI compatible. Please use a different pooling type");
  const texts = Array.isArray(input) ? input : [input];
  if (texts.length === 0 || texts.some((text) => typeof text !== "string"))
    throw invalid("\"input\" must be a text or several");
  let used = 0;
  const data = [];
  for (const [index, text] of texts.entries()) {
    const n = context.calculateInputLength(text);
    if (n >= nCtx)
      throw tooLong(n);
    used += n;
    const {vector} = await context.getEmbeddingFor(text);
    data.push({object: "embedding", index, embedding: format === "base64" ? base64(unit(vector)) : unit(vector)});
  }
  reply(res, 200, {object: "list", model: name, data, usage: {prompt_tokens: used, total_tokens: used}});
}

function unit(vector) {
  const length = Math.hypot(...vector) || 1;
  return vector.map((x) => x / length);
}

const base64 = (vector) => Buffer.from(new Float32Array(vector).buffer).toString("base64");

// The vectors of llama-server's own path: one a text, of unit length, or with --pooling none one a token, as they are.
async function vectors({content}, res) {
  needEmbeddings();
  const rows = [];
  for (const text of Array.isArray(content) ? content : [content])
    rows.push(flags.pooling === "none" ? await perToken(text) : [unit((await context.getEmbeddingFor(text)).vector)]);
  reply(res, 200, rows.map((embedding, index) => ({index, embedding})));
}

// node-llama-cpp gives pooled vectors alone. A model that reads forwards only is therefore given one token at a time, which
// leaves nothing to pool: the vector of a token rests on what stands before it. The two fields that this goes by are internal
// to the package, whose version the lock holds.
let turn = Promise.resolve();
function perToken(text) {
  if (meta[meta.general.architecture]?.attention?.causal === false)
    throw unsupported("this model reads both ways, and a vector a token cannot be had of it here");
  const tokens = cut(text, true, true);
  if (tokens.length >= nCtx)
    throw tooLong(tokens.length);
  const work = turn.then(async () => {
    const rows = [];
    await context._sequence.clearHistory();
    for (const token of tokens) {
      for await (const _ of context._sequence.evaluate([token], {_noSampling: true}))
        break;
      rows.push(Array.from(context._llamaContext._ctx.getEmbedding(1)));
    }
    return rows;
  });
  turn = work.catch(() => {});
  return work;
}

function cut(text, special, parse) {
  const tokens = model.tokenize(text, parse);
  if (special && model.tokens.shouldPrependBosToken && model.tokens.bos != null)
    tokens.unshift(model.tokens.bos);
  return tokens;
}

function tokenize({content, add_special: special = false, parse_special: parse = true, with_pieces: pieces = false}, res) {
  if (typeof content !== "string")
    throw invalid("'content' must be a text");
  const tokens = cut(content, special, parse);
  reply(res, 200, {tokens: pieces ? tokens.map((id) => ({id, piece: pieceOf(id)})) : tokens});
}

// A token's text, or its byte where it is one that no text consists of, as llama-server gives both.
function pieceOf(id) {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(meta.tokenizer.ggml?.tokens?.[id] ?? "");
  const text = model.detokenize([id], true);
  return byte != null && text === "\ufffd" ? [parseInt(byte[1], 16)] : text;
}

function reply(res, status, body) {
  const text = JSON.stringify(body);
  res.writeHead(status, {"Content-Type": "application/json; charset=utf-8", "Content-Length": Buffer.byteLength(text)}).end(text);
}

const paths = {
  "GET /health": (_, res) => reply(res, 200, {status: "ok"}),
  "GET /v1/models": (_, res) => reply(res, 200, {object: "list", data: [{
    id: name, object: "model", created: Math.floor(Date.now() / 1000), owned_by: "llamacpp",
    meta: {n_ctx_train: model.trainContextSize, n_embd: model.embeddingVectorSize, size: model.size}
  }]}),
  "GET /props": (_, res) => reply(res, 200, {
    default_generation_settings: {n_ctx: nCtx}, total_slots: slots.length, model_path: flags.model,
    chat_template: meta.tokenizer.chat_template ?? ""
  }),
  "GET /slots": (_, res) => reply(res, 200, slots.map((slot) => ({
    id: slot.id, n_ctx: nCtx, is_processing: slot.busy, next_token: [{n_decoded: slot.decoded}]
  }))),
  "GET /idle": async (_, res) => {
    if (slots.some((slot) => slot.busy))
      await new Promise((resolve) => idle.push(resolve));
    reply(res, 200, last);
  },
  "POST /tokenize": tokenize,
  "POST /v1/chat/completions": chat,
  "POST /v1/embeddings": embeddings,
  "POST /embedding": vectors
};

const server = createServer(async (req, res) => {
  try {
    const serve = paths[`${req.method} ${new URL(req.url, "http://host").pathname}`];
    if (serve == null)
      throw new Refusal(404, "not_found_error", "File Not Found");
    let body = "";
    for await (const part of req.setEncoding("utf8"))
      body += part;
    let request = {};
    if (req.method === "POST") {
      try {
        request = JSON.parse(body);
      } catch {
        throw invalid("the body is not JSON");
      }
    }
    await serve(request, res);
  } catch (err) {
    const body = err instanceof Refusal ? err.body : {error: {code: 500, message: String(err), type: "server_error"}};
    if (!(err instanceof Refusal))
      console.error(err);
    if (!res.headersSent)
      reply(res, body.error.code, body);
    else
      res.end(`data: ${JSON.stringify(body)}\n\n`);
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("close", () => process.exit(0)).resume();
