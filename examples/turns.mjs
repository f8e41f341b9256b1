// Asks a question in a new session of a Sluice server, and prints its steps, the answer and its citations.
//
//	node examples/turns.mjs "What happens to a slow reader?"
const base = `${process.env.SLUICE_URL ?? "http://127.0.0.1:8000"}/v1/rag/sessions`;

// phases yields ["event", object] for each line, ["text", piece] for the answer as it arrives, and ["trailer", object] at the end.
async function* phases(body) {
  let phase = 1, rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    rest += text;
    if (phase === 1) {
      const [before, ...after] = rest.split("\x1d");
      const lines = before.split("\n");
      rest = lines.pop(); // an incomplete line
      for (const line of lines) yield ["event", JSON.parse(line)];
      if (after.length > 0) [phase, rest] = [2, after[0]];
    }
    if (phase === 2) {
      const [piece, ...after] = rest.split("\x1e");
      yield ["text", piece];
      [phase, rest] = after.length > 0 ? [3, after[0]] : [2, ""];
    }
  }
  yield ["trailer", JSON.parse(rest)];
}

async function post(url, body) {
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.json()).message);
  return response;
}

const { session_id } = await (await post(base, {})).json();
const content = process.argv[2] ?? "What happens to a slow reader?";
const response = await post(`${base}/${session_id}/messages/stream`, { content, citations: "inline" });
for await (const [kind, value] of phases(response.body)) {
  if (kind === "event") console.error(value.type, value.status, value.query ?? value.action);
  if (kind === "text") process.stdout.write(value);
  if (kind === "trailer") {
    console.log();
    for (const c of value.citations) console.log(`[${c.index}] ${c.title}: ${c.snippet}`);
    if (value.error) throw new Error(value.error.message);
  }
}
