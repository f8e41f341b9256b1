// Reads runs to their ends, each in both protocols, and prints what it gets as lines of JSON: the readers of crash_test.go.
import { outputText, Sluice } from "@sluice-rag/client";

const sluice = new Sluice({ baseUrl: process.argv[2]!, backoff: 10, retries: 1000 });

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function forge(run: string): Promise<void> {
  const stream = sluice.runs.stream(run);
  let text = "";
  for await (const e of stream) {
    const piece = e.type === "token" ? e.content : "";
    text += piece;
    print({ protocol: "forge", run, id: stream.lastEventId, name: e.type, text: piece });
  }
  print({ protocol: "forge", run, ended: stream.ended, text });
}

async function knowledge(run: string): Promise<void> {
  const stream = sluice.responses.stream(run, { snapshotsPerSecond: 50 });
  let text = "";
  for await (const e of stream) {
    text = outputText(e.response);
    print({ protocol: "knowledge", run, id: stream.lastEventId, name: e.event, text });
  }
  print({ protocol: "knowledge", run, ended: stream.ended, text });
}

await Promise.all(process.argv.slice(3).flatMap((run) => [forge(run), knowledge(run)].map((reading) => reading.catch((err: unknown) => print({ run, error: String(err) })))));
