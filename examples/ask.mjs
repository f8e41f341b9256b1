// Asks a Sluice server with fetch, and resumes the run after a lost connection.
//
//	node examples/ask.mjs "What happens to a slow reader?"
const base = process.env.SLUICE_URL ?? "http://127.0.0.1:8000";
const question = process.argv[2] ?? "What happens to a slow reader?";

// events yields the id and the data of the server-sent events of a response.
async function* events(response) {
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => [line.split(":", 1)[0], line.slice(line.indexOf(":") + 2)]));
      if (fields.data) yield { id: fields.id, data: JSON.parse(fields.data) };
    }
  }
}

// ask yields each event of an answer once, over several connections if necessary.
async function* ask(query) {
  let run, last, failures = 0;
  while (failures < 5) {
    try {
      const response = run
        ? await fetch(`${base}/runs/${run}/stream`, { headers: last ? { "Last-Event-ID": last } : {} })
        : await fetch(`${base}/api/query/stream`, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ query }),
          });
      if (!response.ok) {
        yield await response.json();
        return;
      }
      run = response.headers.get("sluice-run-id");
      for await (const { id, data } of events(response)) {
        last = id;
        failures = 0;
        yield data;
        if (data.type === "done" || (data.type === "error" && !data.recoverable)) return;
      }
    } catch (err) {
      if (!run) throw err; // unknown whether the question arrived: the caller decides
    }
    await new Promise((wake) => setTimeout(wake, 200 * 2 ** failures++));
  }
  throw new Error("the connection was lost");
}

try {
  for await (const event of ask(question)) {
    if (event.type === "token") process.stdout.write(event.content);
    if (event.type === "done") console.log(`\nconfidence ${event.confidence}, ${event.total_time_ms} ms`);
    if (event.type === "error") {
      console.error(`${event.code}: ${event.message}`);
      if (!event.recoverable) process.exitCode = 1;
    }
  }
} catch (err) {
  console.error(`${base}: ${err.cause?.message ?? err.message}`);
  process.exitCode = 1;
}
