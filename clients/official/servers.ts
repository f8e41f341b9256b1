// What the compiled tests share: the servers that compiled_test.go starts.

function address(name: string): string {
  const url = process.env[name];
  if (!url) throw new Error(`${name} is not set: run the tests with "go test ./clients/official"`);
  return url;
}

/** A server whose runs say what the first word of the question names: short, long, cached, failing, thinking, waiting, or nothing. */
export const scripted = address("SLUICE_SCRIPTED");
/** A server as the command starts it. */
export const whole = address("SLUICE_URL");
/** A server that needs a key, a key with the scope ask, and one with which one request an hour is allowed. */
export const keyed = address("SLUICE_KEYED");
export const key = address("SLUICE_TEST_KEY");
export const limited = address("SLUICE_LIMITED_KEY");

/** All that an iteration gives. */
export async function all<T>(of: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const v of of) out.push(v);
  return out;
}
