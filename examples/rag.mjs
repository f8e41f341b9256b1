// Asks a Sluice server in the ragevents protocol, and prints the answer with its confidence and its sources.
//
//	node examples/rag.mjs "What happens to a slow reader?"
const base = process.env.SLUICE_URL ?? "http://127.0.0.1:8000";
const question = process.argv[2] ?? "What happens to a slow reader?";

const response = await fetch(`${base}/functions/v1/rag`, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ question, method: "HybridSearch" }),
});
if (!response.ok) throw new Error((await response.json()).message);

let rest = "";
let completed = false;
for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\n");
  rest = lines.pop(); // an incomplete line
  for (const line of lines) {
    if (line.startsWith("data: ")) show(JSON.parse(line.slice(6)));
  }
}
if (!completed) throw new Error("the stream has no end");

function show(event) {
  switch (event.type) {
    case "results":
      process.stdout.write(event.chunk);
      break;
    case "events-answer-confidence": {
      const { confidence, sourcesContributed, reasoning } = JSON.parse(event.chunk);
      console.log(`\n${confidence} %${sourcesContributed ? "" : " ⚠"}: ${reasoning}`);
      break;
    }
    case "transaction-summary": {
      const { platform_fee, sources } = JSON.parse(event.chunk);
      for (const s of sources) console.log(`${(100 * s.portion).toFixed(1)} % ${s.source_title ?? s.source_url}`);
      console.log(`fee ${platform_fee}`);
      break;
    }
    case "progress":
      completed ||= event.phase === "completed";
      break;
    case "error":
      throw new Error(event.message);
  }
}
