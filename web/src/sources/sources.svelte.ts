import { SluiceError } from "../../../clients/typescript/src/index.js";
import { refusal } from "../../../clients/typescript/src/errors.js";
import type { components } from "../../../clients/typescript/src/schema.js";
import { readEvents } from "../../../clients/typescript/src/sse.js";
import { messageOf, request } from "../lib/api.js";
import { t } from "../lib/i18n.svelte.js";

type Schemas = components["schemas"];
export type Source = Schemas["SourcesSourceView"];
export type SourceRequest = Schemas["SourcesSourceRequest"];
export type SourceChange = Schemas["SourcesChangeRequest"];
export type Failure = Schemas["IngestFailure"];
export type Path = Schemas["SourcesPath"];
export type DocsResult = Schemas["SourcesDocsResult"];

/** A sync in progress, as its stream tells it. */
export interface Progress {
  done: number;
  total: number; // 0: the documents are being listed
  current?: string | undefined;
  failures: Failure[];
}

const path = (id: string) => `/api/sources/${encodeURIComponent(id)}`;

// A browser opens few connections to one server. The syncs of a tenant run one after the other, so only few of them progress.
const streams = 2;

// To list the paths, the server reads the list of all documents. So they are only requested this many milliseconds after the last time.
const pathsEvery = 60_000;

const wait = (ms: number) => new Promise((next) => setTimeout(next, ms));

/** Returns the name of a source for people: its location, or the first of its URLs. */
export function nameOf(s: Source): string {
  const [first, ...more] = s.kind === "urls" ? s.location.split(" ") : [s.location];
  return more.length ? `${first} ${t("and_more", { n: more.length })}` : first!;
}

/** The sources of documents, kept up to date until close is called. */
export class Sources {
  all = $state.raw<Source[]>();
  /** Folders of the server below which folders can be added without a key that may read its disk. */
  folders = $state.raw<string[]>([]);
  /** The files of --docs that are not indexed. */
  docs = $state.raw<DocsResult>();
  /** The files and folders that were indexed without being sources. */
  paths = $state.raw<Path[]>([]);
  error = $state<string>();
  /** What has just ended, for screen readers. */
  message = $state("");
  /** The syncs whose streams are read, by the id of the source. */
  live = $state<Record<string, Progress>>({});

  readonly #following = new Map<string, { source: string; stop: AbortController }>(); // by ingestion
  readonly #unknown = new Set<string>(); // ingestions without a stream at this server
  #timer: ReturnType<typeof setTimeout> | undefined;
  #newest = 0; // request: an older reply must not replace a newer one
  #pathsAt = -Infinity; // when the paths were listed
  #closed = false;

  async refresh(): Promise<void> {
    const mine = ++this.#newest;
    clearTimeout(this.#timer);
    const began = performance.now();
    const withPaths = began - this.#pathsAt >= pathsEvery;
    try {
      const { sources, folders = [], docs, paths = [] } = await request<Schemas["SourcesSourceList"]>("GET", withPaths ? "/api/sources?paths=true" : "/api/sources");
      if (mine !== this.#newest || this.#closed) return;
      sources.sort((a, b) => Date.parse(b.added) - Date.parse(a.added)); // the newest first
      this.#announce(sources);
      this.all = sources;
      this.folders = folders;
      this.docs = docs;
      if (withPaths) {
        this.paths = paths;
        this.#pathsAt = began;
      }
      this.error = undefined;
      this.#follow(sources);
    } catch (err) {
      if (mine !== this.#newest || this.#closed) return;
      this.error = messageOf(err);
    }
    const busy = this.all?.some((s) => s.state !== "idle") ?? false;
    this.#timer = setTimeout(() => void this.#tick(), busy ? 2000 : 15_000);
  }

  async #tick(): Promise<void> {
    if (!document.hidden) return this.refresh();
    this.#timer = setTimeout(() => void this.#tick(), 2000);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const f of this.#following.values()) f.stop.abort();
  }

  async add(source: SourceRequest): Promise<void> {
    const added = await request<Source>("POST", "/api/sources", source);
    this.#pathsAt = -Infinity; // one of them may be a source now
    this.all = [added, ...(this.all ?? []).filter((s) => s.id !== added.id)]; // its first sync may end before the next list
    await this.refresh();
  }

  async change(id: string, change: SourceChange): Promise<void> {
    await request("PATCH", path(id), change);
    await this.refresh();
  }

  /** Starts a sync. allowRemoval lets it remove the documents that the last one has kept. */
  async sync(id: string, allowRemoval = false): Promise<void> {
    this.message = ""; // the same text again would not be said
    await request("POST", `${path(id)}/sync`, allowRemoval ? { allow_removal: true } : {});
    await this.refresh();
  }

  async remove(id: string): Promise<void> {
    await request("DELETE", path(id));
    await this.refresh();
  }

  // announce says which syncs and removals have ended since the last list. A short sync may never have been listed as in progress.
  #announce(now: Source[]): void {
    if (!this.all) return;
    const before = new Map(this.all.map((s) => [s.id, s]));
    const said: string[] = [];
    for (const s of now) {
      const ended = s.state === "idle" && s.last_sync && before.has(s.id) && s.last_sync.ended !== before.get(s.id)!.last_sync?.ended;
      if (ended) said.push(t(s.last_sync!.error ? "sync_failed" : "sync_ended", { name: nameOf(s) }));
      before.delete(s.id);
    }
    for (const removed of before.values()) said.push(t("source_removed", { name: nameOf(removed) }));
    if (said.length) this.message = said.join(" ");
  }

  // follow reads the streams of the syncs in progress, and stops reading those of others.
  #follow(sources: Source[]): void {
    const syncing = sources.filter((s) => s.state === "syncing" && s.ingestion && !this.#unknown.has(s.ingestion)).sort((a, b) => Number(!!b.progress) - Number(!!a.progress));
    const wanted = new Map(syncing.slice(0, streams).map((s) => [s.ingestion!, s.id]));
    for (const [ingestion, f] of this.#following) if (!wanted.has(ingestion)) f.stop.abort();
    for (const [ingestion, source] of wanted) {
      if (this.#following.has(ingestion)) continue;
      const stop = new AbortController();
      this.#following.set(ingestion, { source, stop });
      void this.#read(source, ingestion, stop.signal).finally(() => {
        this.#following.delete(ingestion);
        if (![...this.#following.values()].some((f) => f.source === source)) delete this.live[source];
      });
    }
  }

  // read reads the stream of a sync to its end. After a lost connection it resumes.
  async #read(source: string, ingestion: string, signal: AbortSignal): Promise<void> {
    let last: string | undefined;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const res = await fetch(`/api/ingestions/${encodeURIComponent(ingestion)}/stream`, { signal, ...(last && { headers: { "Last-Event-ID": last } }) });
        if (!res.ok) throw await refusal(res);
        if (res.status === 204 || !res.body) return await this.#finished(source, ingestion);
        for await (const frame of readEvents(res.body)) {
          failures = 0;
          last = frame.id ?? last;
          const event = JSON.parse(frame.data) as Schemas["IngestionsEvent"];
          if (event.type === "ingestion_finished") return await this.#finished(source, ingestion);
          this.#apply(source, event);
        }
      } catch (err) {
        if (signal.aborted) return;
        if (err instanceof SluiceError && err.status < 500) {
          this.#unknown.add(ingestion); // the list shows its progress
          return;
        }
      }
      await wait(Math.min(10_000, 500 * 2 ** failures));
    }
  }

  // finished shows the result of a sync. The list may have it as in progress for a moment after its stream has ended.
  async #finished(source: string, ingestion: string): Promise<void> {
    for (let attempt = 0; attempt < 5 && !this.#closed; attempt++) {
      await this.refresh();
      if (!this.all?.some((s) => s.id === source && s.state === "syncing" && s.ingestion === ingestion)) return;
      await wait(150);
    }
  }

  #apply(source: string, event: Exclude<Schemas["IngestionsEvent"], { type: "ingestion_finished" }>): void {
    if (event.type === "ingestion_started") this.live[source] = { done: 0, total: 0, failures: [] };
    const live = (this.live[source] ??= { done: 0, total: 0, failures: [] });
    if (event.type === "ingestion_progress") Object.assign(live, { done: event.done, total: event.total, current: event.current });
    if (event.type === "file_failed") live.failures.push({ path: event.path, reason: event.reason });
  }
}
