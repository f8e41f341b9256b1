import { SluiceError } from "./errors.js";
import { type CallOptions, type Http, sleep } from "./http.js";
import type { Task } from "./types.js";

export interface WaitOptions extends CallOptions {
  /** Maximum polling interval in milliseconds; the first intervals are shorter. Default 2,000. */
  interval?: number;
  /** Called with the state after each poll. */
  onProgress?: (task: Task) => void;
}

/** Background tasks, such as indexing an upload. */
export class Tasks {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  get(id: string, o: CallOptions = {}): Promise<Task> {
    return this.#http.json({ path: "/v1/tasks/" + encodeURIComponent(id), repeatable: true, signal: o.signal });
  }

  /** Waits until a task has completed. Throws a SluiceError with the reason if it failed or was cancelled. */
  async wait(id: string, o: WaitOptions = {}): Promise<Task> {
    const task = await poll(() => this.get(id, o), (t) => {
      o.onProgress?.(t);
      return t.status === "completed" || t.status === "failed" || t.status === "cancelled";
    }, o);
    if (task.status === "completed") return task;
    throw new SluiceError(`task ${id} ${task.status}: ${task.failure_reason ?? task.error_message ?? "unknown reason"}`, 0, "TASK_" + task.status.toUpperCase());
  }
}

/** Polls until the state is final, at first with shorter intervals. */
export async function poll<T>(look: () => Promise<T>, done: (v: T) => boolean, o: { interval?: number; signal?: AbortSignal | undefined }): Promise<T> {
  const most = o.interval ?? 2000;
  for (let wait = Math.min(100, most); ; wait = Math.min(wait * 1.5, most)) {
    const v = await look();
    if (done(v)) return v;
    await sleep(wait, o.signal);
  }
}
