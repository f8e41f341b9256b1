import type { Call, CallOptions, Http } from "./http.js";
import { paged } from "./pages.js";
import { formOf, type UploadProgress, xhr } from "./upload.js";
import type { ContentQuery, Deleted, DocumentUpdate, FileDocument, FileList, FilePages, FilePagesQuery, ListQuery, StoredFile } from "./types.js";

/** The form fields of an upload. */
export interface FileFields {
  /** The id of the file. */
  id?: string;
  /** Default "general". */
  purpose?: string;
  /** Expected checksum of the bytes: 32 hexadecimal digits. */
  md5?: string;
  /** Returns an existing file with the same bytes instead of storing another one. */
  skip_exists?: boolean;
  /** Stored with the file. */
  parse_options?: Record<string, unknown>;
  request_id?: string;
  /** Account that earns a share of the answers that use the file; default: that of the key. */
  contributor?: string;
  /** Metadata (Dublin Core), which takes precedence over what the file states. */
  dc_title?: string;
  dc_creator?: string;
  dc_subject?: string;
  dc_description?: string;
  dc_publisher?: string;
  dc_date?: string;
  dc_language?: string;
  dc_rights?: string;
  dc_source?: string;
  dc_identifier?: string;
}

export interface UploadOptions extends CallOptions, FileFields {
  /** The file name; default: that of a File, otherwise "file". */
  filename?: string;
  /** The media type; default: that of a Blob, otherwise application/octet-stream, with which the server detects the type. */
  type?: string;
  /** Called with the progress if the platform supports it: not with a custom `fetch` in a browser. */
  onProgress?: (p: UploadProgress) => void;
}

/** The content of an upload. A stream is buffered first if the platform cannot send streams. */
export type Uploadable = Blob | ReadableStream<Uint8Array> | Uint8Array | ArrayBuffer | string;

/** Files. They are indexed in the background: see `tasks.wait(file.task_id)`. Searches in their vector stores find them. */
export class Files {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Uploads a file. Equal files are separate files unless `skip_exists` is set. */
  async upload(data: Uploadable, o: UploadOptions = {}): Promise<StoredFile> {
    const { filename, type, onProgress, signal, ...fields } = o;
    const form = await formOf(data, filename, type, texts(fields), onProgress);
    const call: Call = { method: "POST", path: "/v1/files", headers: { "Content-Type": form.type }, body: form.body, signal, once: !form.again };
    if (onProgress && this.#http.native && typeof XMLHttpRequest !== "undefined") call.fetch = xhr(onProgress);
    return this.#http.json(call);
  }

  /** Makes the server fetch a file in the background. */
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

  /** Returns a page of files. */
  list(query: ListQuery = {}, o: CallOptions = {}): Promise<FileList> {
    return this.#http.json({ path: "/v1/files", query, repeatable: true, signal: o.signal });
  }

  /** Yields all files, page by page. */
  all(o: CallOptions = {}): AsyncGenerator<StoredFile, void, undefined> {
    return paged((query) => this.list(query, o));
  }

  /** Returns a file with its text in segments. `content.next_segment` is the start of the next part. */
  content(id: string, query: ContentQuery = {}, o: CallOptions = {}): Promise<FileDocument> {
    return this.#http.json({ path: at(id) + "/content", query, repeatable: true, signal: o.signal });
  }

  /** Updates the title, author, bookmarks, metadata or vector stores of a file. */
  update(id: string, update: DocumentUpdate, o: CallOptions = {}): Promise<FileDocument> {
    return this.#http.json({ method: "POST", path: at(id) + "/content", json: update, signal: o.signal });
  }

  /** Returns pages of the text of a file. */
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

// texts converts fields to form values.
function texts(fields: FileFields): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === false) continue;
    out[name] = typeof value === "object" ? JSON.stringify(value) : String(value);
  }
  return out;
}
