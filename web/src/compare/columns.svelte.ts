import { ask, messageOf } from "../lib/api.js";
import { everything } from "../ask/settings.svelte.js";
import type { Source } from "../run/event.js";
import { LiveRun } from "../run/live.svelte.js";

/** How a column asks, and its answer. */
export interface Column {
  key: number;
  mode: "agentic" | "direct";
  collection: string;
  model: string; // empty: the default of the server
  topK: number;
  run?: LiveRun | undefined;
  error?: string | undefined;
}

export const maxColumns = 3;
const maxPassages = 50;

/** A question that is asked in several ways. The address of the page has all of it, with the runs of the answers. */
export class Comparison {
  question = $state("");
  columns = $state<Column[]>([]);
  #keys = 0;

  constructor(query: URLSearchParams) {
    this.question = query.get("q") ?? "";
    const all = (name: string) => query.getAll(name);
    const n = Math.min(maxColumns, Math.max(2, all("mode").length));
    for (let i = 0; i < n; i++) {
      const topK = Number(all("top_k")[i]);
      const run = all("run")[i];
      this.columns.push({
        key: this.#keys++, mode: (all("mode")[i] ?? (i === 1 ? "direct" : "agentic")) === "direct" ? "direct" : "agentic", collection: all("collection")[i] || everything,
        model: all("model")[i] ?? "", topK: Number.isInteger(topK) && topK >= 1 && topK <= maxPassages ? topK : 5, ...(run && { run: new LiveRun(run) }),
      });
    }
  }

  /** The address of the page with this comparison. */
  get path(): string {
    const query = new URLSearchParams({ q: this.question });
    for (const c of this.columns) {
      for (const [name, value] of [["mode", c.mode], ["collection", c.collection], ["model", c.model], ["top_k", String(c.topK)], ["run", c.run?.id ?? ""]] as const) query.append(name, value);
    }
    return `/compare?${query}`;
  }

  get busy(): boolean {
    return this.columns.some((c) => c.run && !c.run.error && c.run.state.status === "running");
  }

  /** Whether all columns have a finished answer. */
  get complete(): boolean {
    return this.columns.every((c) => c.run?.state.status === "finished");
  }

  add(): void {
    const last = this.columns.at(-1)!;
    if (this.columns.length < maxColumns) this.columns.push({ key: this.#keys++, mode: last.mode, collection: last.collection, model: last.model, topK: last.topK });
  }

  remove(column: Column): void {
    column.run?.close();
    this.columns = this.columns.filter((c) => c.key !== column.key);
  }

  /** Asks the question in each way, all at the same time and without the cache. */
  async ask(): Promise<void> {
    await Promise.all(this.columns.map(async (c) => {
      c.run?.close();
      c.run = c.error = undefined;
      try {
        const model = c.model && { model: c.model };
        c.run = new LiveRun(await ask({ query: this.question, mode: c.mode, collection: c.collection, top_k: c.topK, no_cache: true, ...model }));
      } catch (err) {
        c.error = messageOf(err);
      }
    }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.columns.map((c) => c.run?.cancel().catch(() => {}))); // it may have just ended
  }

  close(): void {
    for (const c of this.columns) c.run?.close();
  }
}

/** What makes a source the same in two answers. */
export const sourceKey = (s: Source): string => s.chunk_id;

/** Returns the sources that all answers cite. */
export function common(columns: readonly Column[]): Source[] {
  const cited = columns.map((c) => c.run?.state.sources.filter((s) => s.cited) ?? []);
  return (cited[0] ?? []).filter((s) => cited.every((others) => others.some((o) => sourceKey(o) === sourceKey(s))));
}
