import { sluice } from "../lib/api.js";

export interface Upload {
  key: string;
  name: string;
  size: number;
  state: "waiting" | "sending" | "reading" | "done" | "failed";
  progress: number; // 0 to 1, of the sending and the reading together
  error?: string;
  file?: string; // id of the file
}

// How many files are sent at once; the server reads as many as it has processors.
const parallel = 3;

/** The files that were dropped on the page, with their progress. They go on when another page is shown. */
class Uploads {
  all = $state<Upload[]>([]);
  /** How many files were made searchable since the page was loaded. */
  ready = $state(0);
  readonly #files = new Map<string, { file: File; collection: string | undefined }>();
  #running = 0;
  #keys = 0;

  get finished(): number {
    return this.all.filter((u) => u.state === "done" || u.state === "failed").length;
  }

  /** Sends files, and adds them to a collection. */
  add(files: Iterable<File>, collection?: string): void {
    for (const file of files) {
      const key = `file-${++this.#keys}`; // not a UUID of the browser, which has none on pages that come by plain HTTP
      this.#files.set(key, { file, collection });
      this.all.push({ key, name: file.webkitRelativePath || file.name, size: file.size, state: "waiting", progress: 0 });
    }
    while (this.#running < parallel && this.all.some((u) => u.state === "waiting")) void this.#work();
  }

  clear(): void {
    this.all = this.all.filter((u) => u.state !== "done" && u.state !== "failed");
  }

  async #work(): Promise<void> {
    this.#running++;
    for (let u = this.#take(); u; u = this.#take()) await this.#send(u);
    this.#running--;
  }

  #take(): Upload | undefined {
    const u = this.all.find((x) => x.state === "waiting");
    if (u) u.state = "sending";
    return u;
  }

  async #send(u: Upload): Promise<void> {
    const { file, collection } = this.#files.get(u.key)!;
    this.#files.delete(u.key);
    try {
      const stored = await sluice.files.upload(file, {
        filename: file.name, skip_exists: true,
        onProgress: (p) => (u.progress = 0.5 * (p.total ? p.loaded / p.total : 0)),
      });
      u.file = stored.id;
      if (collection) await sluice.vectorStores.addFiles(collection, stored.id);
      u.state = "reading";
      await sluice.tasks.wait(stored.task_id, { onProgress: (task) => (u.progress = 0.5 + task.progress / 200) });
      u.progress = 1;
      u.state = "done";
      this.ready++;
    } catch (err) {
      u.state = "failed";
      u.error = err instanceof Error ? err.message : String(err);
    }
  }
}

export const uploads = new Uploads();
