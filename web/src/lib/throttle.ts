/** Returns a function that calls fn at most once in a time, and once after its last call. */
export function throttled(ms: number, fn: () => void): () => void {
  let last = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      last = Date.now();
      fn();
    }, Math.max(0, last + ms - Date.now()));
  };
}
