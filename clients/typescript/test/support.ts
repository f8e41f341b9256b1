// What the tests share: the servers that client_test.go starts, and ways to break their connections.
import { type Options, Sluice } from "@sluice-rag/client";

function address(name: string): string {
  const url = process.env[name];
  if (!url) throw new Error(`${name} is not set: run the tests with "go test ./clients/typescript"`);
  return url;
}

/** A server whose runs say what the first word of the question names: short, long, cached, failing, waiting, or nothing. */
export const scripted = address("SLUICE_SCRIPTED");
/** A server as the command starts it. */
export const whole = address("SLUICE_URL");
/** A server that needs a key, and a key that pages of https://page.example may use. */
export const keyed = address("SLUICE_KEYED");
export const key = address("SLUICE_TEST_KEY");
/** A key for that server with which one request an hour is allowed. */
export const limited = address("SLUICE_LIMITED_KEY");
const proxy = address("SLUICE_PROXY");

let keys = 0;

/** Leads requests through the proxy, which does what proxy_test.go says of `what`. */
export function via(what: string) {
  const key = `${process.pid}-${++keys}`;
  return {
    baseUrl: `${proxy}/${key}/${what}`,
    /** How many requests of each method and path there were. */
    async counts(): Promise<Record<string, number>> {
      return (await (await fetch(`${proxy}/${key}/counts`)).json()) as Record<string, number>;
    },
  };
}

/** A client that does not wait long. */
export function client(o: Options): Sluice {
  return new Sluice({ backoff: 1, ...o });
}

/** All that an iteration gives. */
export async function all<T>(of: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const v of of) out.push(v);
  return out;
}

/** Numbers that look random, and are the same each time (mulberry32). */
export function random(seed: number): (below: number) => number {
  let a = seed;
  return (below) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** A body that comes in the given pieces. */
export function pieces(...parts: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(c) {
      for (const p of parts) c.enqueue(typeof p === "string" ? new TextEncoder().encode(p) : p);
      c.close();
    },
  });
}
