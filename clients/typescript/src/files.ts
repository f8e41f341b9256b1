import type { Call, CallOptions, Http } from "./http.js";
import { paged } from "./pages.js";
import { formOf, type UploadProgress, xhr } from "./upload.js";
import type { ContentQuery, Deleted, DocumentUpdate, FileDocument, FileList, FilePages, FilePagesQuery, ListQuery, StoredFile } from "./types.js";

/** What goes with a file, by the names of the service's form. */
export interface FileFields {
  /** To be used as the file's id. */
  id?: string;
  /** Default "general". */
  purpose?: string;
  /** That the bytes must have: 32 hexadecimal digits. */
  md5?: string;
  /** A file of the same bytes that is there already is given instead. */
  skip_exists?: boolean;
  /** Kept with the file. */
  parse_options?: Record<string, unknown>;
  request_id?: string;
}

export interface UploadOptions extends CallOptions, FileFields {
  /** Of the file; default: the one of a File, else "file". */
  filename?: string;
  /** The media type; default: the Blob's, else application/octet-stream, which lets the server look for itself. */
  type?: string;
  /** Told how much was sent, where the platform can tell: not with a `fetch` of your own in a browser. */
  onProgress?: (p: UploadProgress) => void;
}

/** What can be uploaded. A stream is sent as it comes where the platform can do that, and gathered first where it can not. */
export type Uploadable = Blob | ReadableStream<Uint8Array> | Uint8Array | ArrayBuffer | string;

/** Files: they are indexed in the background, see `tasks.wait(file.task_id)`, and found in the vector stores that they join. */
export class Files {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Uploads a file. Two that are the same are two files, unless `skip_exists` says otherwise. */
  async upload(data: Uploadable, o: UploadOptions = {}): Promise<StoredFile> {
    const { filename, type, onProgress, signal, ...fields } = o;
    const form = await formOf(data, filename, type, texts(fields), onProgress);
    const call: Call = { method: "POST", path: "/v1/files", headers: { "Content-Type": form.type }, body: form.body, signal, once: !form.again };
    if (onProgress && this.#http.native && typeof XMLHttpRequest !== "undefined") call.fetch = xhr(onProgress);
    return this.#http.json(call);
  }

  /** Has the server fetch a file, in the background. */
  uploadUrl(url: string | URL, o: CallOptions & FileFields & { name?: string; file_type?: string } = {}): Promise<StoredFile> {
    const { signal, name, file_type, ...fields } = o;
    const path = new URL(url).pathname;
    const form = new URLSearchParams({
      ...texts(fields),
      url: String(url),
      name: name ?? (plain(path.slice(path.lastIndexOf("/") + 1)) || "file"),
      file_type: file_type ?? "",
    });
    return this.#http.json({ method: "POST", path: "/v1/files", body: () => form, signal });
  }

  get(id: string, o: CallOptions = {}): Promise<StoredFile> {
    return this.#http.json({ path: at(id), repeatable: true, signal: o.signal });
  }

  /** Gives a page of files. */
  list(query: ListQuery = {}, o: CallOptions = {}): Promise<FileList> {
    return this.#http.json({ path: "/v1/files", query, repeatable: true, signal: o.signal });
  }

  /** Gives all files, page by page. */
  all(o: CallOptions = {}): AsyncGenerator<StoredFile, void, undefined> {
    return paged((query) => this.list(query, o));
  }

  /** Shows a file with its text in segments; `content.next_segment` tells where the next part begins. */
  content(id: string, query: ContentQuery = {}, o: CallOptions = {}): Promise<FileDocument> {
    return this.#http.json({ path: at(id) + "/content", query, repeatable: true, signal: o.signal });
  }

  /** Notes something on a file: title, author, bookmarks, metadata, the vector stores that it is in. */
  update(id: string, update: DocumentUpdate, o: CallOptions = {}): Promise<FileDocument> {
    return this.#http.json({ method: "POST", path: at(id) + "/content", json: update, signal: o.signal });
  }

  /** Shows pages of a file's text. */
  pages(id: string, query: FilePagesQuery = {}, o: CallOptions = {}): Promise<FilePages> {
    return this.#http.json({ path: at(id) + "/pages", query, repeatable: true, signal: o.signal });
  }

  delete(id: string, o: CallOptions = {}): Promise<Deleted> {
    return this.#http.json({ method: "DELETE", path: at(id), repeatable: true, signal: o.signal });
  }
}

function at(id: string): string {
  return "/v1/files/" + encodeURIComponent(id);
}

function plain(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

// texts gives fields as a form has them.
function texts(fields: FileFields): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === false) continue;
    out[name] = typeof value === "object" ? JSON.stringify(value) : String(value);
  }
  return out;
}
