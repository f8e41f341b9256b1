import type { VectorStore } from "../../../clients/typescript/src/index.js";
import { sluice } from "../lib/api.js";

/** The collections of documents that can be searched. */
class Collections {
  all = $state<VectorStore[]>([]);
  loaded = $state(false);

  /** The number of documents in all of them. A file in two collections counts twice. */
  get documents(): number {
    return this.all.reduce((n, c) => n + c.file_counts.total, 0);
  }

  async refresh(): Promise<void> {
    try {
      this.all = (await sluice.vectorStores.list({ limit: 100 })).data;
    } finally {
      this.loaded = true;
    }
  }
}

export const collections = new Collections();
