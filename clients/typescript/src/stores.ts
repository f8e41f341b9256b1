import type { CallOptions, Http } from "./http.js";
import { paged } from "./pages.js";
import { poll } from "./tasks.js";
import type {
  Deleted, FileList, ListQuery, SearchPage, SearchRequest, StoredFile, VectorStore, VectorStoreList, VectorStoreRequest, VectorStoreSummary,
  VectorStoreUpdate,
} from "./types.js";

/** Vector stores: named sets of files. A question names the stores that it searches. */
export class VectorStores {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  create(request: VectorStoreRequest, o: CallOptions = {}): Promise<VectorStore> {
    return this.#http.json({ method: "POST", path: "/v1/vector_stores", json: request, signal: o.signal });
  }

  get(id: string, o: CallOptions = {}): Promise<VectorStore> {
    return this.#http.json({ path: at(id), repeatable: true, signal: o.signal });
  }

  /** Returns a page of vector stores without the ids of their files. */
  list(query: ListQuery = {}, o: CallOptions = {}): Promise<VectorStoreList> {
    return this.#http.json({ path: "/v1/vector_stores", query, repeatable: true, signal: o.signal });
  }

  /** Yields all vector stores, page by page. */
  all(o: CallOptions = {}): AsyncGenerator<VectorStore, void, undefined> {
    return paged((query) => this.list(query, o));
  }

  /** Changes the given fields. */
  modify(id: string, update: VectorStoreUpdate, o: CallOptions = {}): Promise<VectorStore> {
    return this.#http.json({ method: "POST", path: at(id), json: update, signal: o.signal });
  }

  /** Adds files. Questions find them when they are indexed. */
  addFiles(id: string, files: string | string[], o: CallOptions = {}): Promise<VectorStore> {
    return this.modify(id, { join_file_ids: [files].flat() }, o);
  }

  /** Removes files from the store. The next question does not find them any more. */
  removeFiles(id: string, files: string | string[], o: CallOptions = {}): Promise<VectorStore> {
    return this.modify(id, { left_file_ids: [files].flat() }, o);
  }

  /** Waits until all its files are indexed or have failed: see `file_counts`. */
  wait(id: string, o: CallOptions & { interval?: number } = {}): Promise<VectorStore> {
    return poll(() => this.get(id, o), (s) => s.file_counts.in_progress === 0, o);
  }

  /** Returns a page of its files. */
  files(id: string, query: ListQuery = {}, o: CallOptions = {}): Promise<FileList> {
    return this.#http.json({ path: at(id) + "/files", query, repeatable: true, signal: o.signal });
  }

  /** Yields all its files, page by page. */
  allFiles(id: string, o: CallOptions = {}): AsyncGenerator<StoredFile, void, undefined> {
    return paged((query) => this.files(id, query, o));
  }

  /** Returns passages, best first. */
  search(id: string, request: SearchRequest | string, o: CallOptions = {}): Promise<SearchPage> {
    const json = typeof request === "string" ? { query: request } : request;
    return this.#http.json({ method: "POST", path: at(id) + "/search", json, repeatable: true, signal: o.signal });
  }

  /** Returns a summary of its content. */
  summary(id: string, query: { max_tokens?: number } = {}, o: CallOptions = {}): Promise<VectorStoreSummary> {
    return this.#http.json({ path: at(id) + "/summary", query, repeatable: true, signal: o.signal });
  }

  /** Deletes it but not its files. */
  delete(id: string, o: CallOptions = {}): Promise<Deleted> {
    return this.#http.json({ method: "DELETE", path: at(id), repeatable: true, signal: o.signal });
  }
}

function at(id: string): string {
  return "/v1/vector_stores/" + encodeURIComponent(id);
}
