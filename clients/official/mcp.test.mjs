// The Model Context Protocol: the official TypeScript SDKs of both generations, and the command line of the MCP Inspector.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { JSONRPCErrorResponseSchema } from "@modelcontextprotocol/sdk/types.js";

const { SLUICE_URL: url, SLUICE_BINARY: binary, SLUICE_DOCS: docs, SLUICE_TEMP: temp } = process.env;
const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`)),
  stdio: () => new StdioClientTransport({ command: binary, args: ["mcp", "--server", url] }),
};

async function connect(transport) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return client;
}

for (const [name, transport] of Object.entries(transports)) {
  test(`${name}: an answer with progress, and its run in another protocol`, async () => {
    const client = await connect(transport());
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name).sort(), ["ask", "list_documents", "read_document", "search"]);
    const progress = [];
    const answer = await client.callTool({ name: "ask", arguments: { query: "When was the north lock opened?", no_cache: true } }, undefined,
      { onprogress: (p) => progress.push(p) });
    assert.ok(!answer.isError, JSON.stringify(answer));
    assert.match(answer.content[0].text, /1932/);
    assert.match(answer.structuredContent.content, /1932/);
    assert.ok(progress.length > 3);
    assert.deepEqual(progress.map((p) => p.progress), progress.map((_, i) => i + 1));
    const replay = await (await fetch(`${url}/runs/${answer.structuredContent.run_id}/stream?protocol=forge`)).text();
    assert.match(replay, /1932/);
    await client.close();
  });

  test(`${name}: documents as tools and as resources`, async () => {
    const client = await connect(transport());
    const { structuredContent: list } = await client.callTool({ name: "list_documents", arguments: {} });
    const document = list.documents.find((d) => JSON.stringify(d).includes("handbook"));
    const { structuredContent: read } = await client.callTool({ name: "read_document", arguments: { id: document.id } });
    assert.match(JSON.stringify(read), /12 euros/);
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources.find((r) => r.uri.includes(document.id)).uri });
    assert.match(contents[0].text, /12 euros/);
    const found = await client.callTool({ name: "search", arguments: { query: "fee of a ship" } });
    assert.match(found.content[0].text, /12 euros/);
    await client.close();
  });

  test(`${name}: errors name the argument, and a call is cancelled`, async () => {
    const client = await connect(transport());
    const empty = await client.callTool({ name: "ask", arguments: { query: "" } });
    assert.ok(empty.isError);
    assert.match(empty.content[0].text, /^query: /);
    await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), /nothing/);
    let cancelled = false;
    for (let i = 0; i < 50 && !cancelled; i++) { // the answer may arrive together with the first progress, before the call can be cancelled
      const stop = new AbortController();
      const call = client.callTool({ name: "ask", arguments: { query: "Which fee is paid for the north lock?", no_cache: true } }, undefined, { signal: stop.signal, onprogress: () => stop.abort("enough") });
      await call.catch((err) => {
        assert.match(String(err), /enough/);
        cancelled = true;
      });
    }
    assert.ok(cancelled);
    assert.match((await client.callTool({ name: "ask", arguments: { query: "When was the north lock opened?" } })).content[0].text, /1932/);
    await client.close();
  });
}

test("the Inspector's command line", async () => {
  const inspect = async (...args) => JSON.parse((await promisify(execFile)(process.execPath, ["node_modules/.bin/mcp-inspector", "--cli", ...args])).stdout);
  for (const server of [[binary, "mcp", "--docs", docs, "--data", `${temp}/data`], [`${url}/mcp`, "--transport", "http"]]) {
    assert.equal((await inspect(...server, "--method", "tools/list")).tools.length, 4);
    const answer = await inspect(...server, "--method", "tools/call", "--tool-name", "ask", "--tool-arg", "query=When was the north lock opened?");
    assert.match(answer.content[0].text, /1932/);
  }
  assert.match(JSON.stringify(await inspect(`${url}/mcp`, "--transport", "http", "--method", "resources/list")), /sluice:\/\/documents\//);
});

test("http: refusals of a server with keys", async () => {
  const data = `${temp}/keys`;
  const add = async (...args) => (await promisify(execFile)(binary, ["keys", "add", "--data", data, ...args])).stdout.trim();
  const key = await add();
  const slow = await add("--rate", "4/h");
  const server = spawn(binary, ["serve", "--addr=127.0.0.1:0", "--data", data], { stdio: ["ignore", "ignore", "pipe"] });
  try {
    const at = await new Promise((resolve, reject) => {
      server.on("exit", () => reject(new Error("the server did not start")));
      createInterface({ input: server.stderr }).on("line", (line) => line.startsWith("listening on ") && resolve(line.slice("listening on ".length)));
    });
    for (let ready = false; !ready; ready = (await fetch(`${at}/readyz`)).ok);
    const use = (token) => new StreamableHTTPClientTransport(new URL(`${at}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
    const refused = (status, message) => (e) => {
      assert.ok(e instanceof StreamableHTTPError && e.code === status, String(e));
      const { error } = JSONRPCErrorResponseSchema.parse(JSON.parse(e.message.slice(e.message.indexOf("{"))));
      return message.test(error.message);
    };
    await assert.rejects(connect(use("wrong")), refused(401, /key is not valid/));
    const client = await connect(use(key));
    assert.equal((await client.listTools()).tools.length, 4);
    await client.close();
    await assert.rejects(async () => {
      const limited = await connect(use(slow));
      for (let i = 0; i < 5; i++) await limited.listTools();
    }, refused(429, /too many requests/));
    // A client with OAuth reads the challenge, and finds that there is no OAuth.
    const challenged = await fetch(`${at}/mcp`, { method: "POST", body: "{}" });
    assert.deepEqual([challenged.status, challenged.headers.get("www-authenticate"), extractWWWAuthenticateParams(challenged)],
      [401, 'Bearer realm="sluice"', { resourceMetadataUrl: undefined, scope: undefined, error: undefined }]);
  } finally {
    server.kill();
  }
});
