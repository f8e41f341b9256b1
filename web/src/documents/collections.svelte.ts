import type { VectorStore } from "../../../clients/typescript/src/index.js";
import { sluice } from "../lib/api.js";
import { listDocuments } from "./api.js";

/** The number of collections that are listed. */
const most = 100;

/** The collections of documents that can be searched. */
class Collections {
  all = $state<VectorStore[]>([]);
  loaded = $state(false);
  /** Whether all collections are known. */
  complete = $state(false);
  /** The number of all documents, also of those in no collection; undefined: it is not known, such as with a key that may only ask. */
  documents = $state<number>();
  /** The media types of all documents; none if they are not known. */
  types = $state.raw<string[]>([]);

  async refresh(): Promise<void> {
    const [stores, list] = await Promise.allSettled([sluice.vectorStores.list({ limit: most }), listDocuments({ limit: 1 })]);
    this.complete = stores.status === "fulfilled" && stores.value.data.length < most;
    if (stores.status === "fulfilled") this.all = stores.value.data;
    if (list.status === "fulfilled") {
      this.documents = list.value.total;
      this.types = Object.keys(list.value.types);
    }
    this.loaded = true;
  }
}

export const collections = new Collections();
