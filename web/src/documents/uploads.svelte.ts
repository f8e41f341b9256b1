import { SluiceError } from "../../../clients/typescript/src/index.js";
import { messageOf, sluice } from "../lib/api.js";

export interface Upload {
  key: string;
  name: string;
  size: number;
  state: "sending" | "reading" | "failed";
  progress: number; // 0 to 1, of the sending and the reading together
  error?: string;
  task?: string;
}

interface Waiting {
  file: File;
  collection: string | undefined;
}

// How many files are sent at once, and how many are uploaded or indexed altogether. The rest of a large folder waits in the browser.
const parallel = 3;
const most = 24;

/** The files that were dropped on the page, with their progress. They go on when another page is shown. */
class Uploads {
  total = $state(0);
  /** How many files were made searchable since the page was loaded. */
  ready = $state(0);
  done = $state(0); // of total
  /** The files that are being sent or read, in their order. */
  active = $state<Upload[]>([]);
  failures = $state<Upload[]>([]);

  readonly #waiting: Waiting[] = [];
  #next = 0; // index in waiting
  #sending = 0;
  #keys = 0; // not a UUID of the browser, which has none on pages that come by plain HTTP
  #watching = false;

  get busy(): boolean {
    return this.done + this.failures.length < this.total;
  }

  /** Whether files are lost if the page is closed now. Files that are being read are on the server. */
  get unsent(): boolean {
    return this.#waiting.length > 0 || this.#sending > 0;
  }

  /** Sends files, and adds them to a collection. */
  add(files: Iterable<File>, collection?: string): void {
    if (!this.busy) this.clear();
    for (const file of files) {
      this.#waiting.push({ file, collection });
      this.total++;
    }
    this.#fill();
  }

  /** Forgets the files that are finished. */
  clear(): void {
    this.total -= this.done + this.failures.length;
    this.done = 0;
    this.failures = [];
  }

  #fill(): void {
    while (this.#sending < parallel && this.active.length < most && this.#next < this.#waiting.length) {
      const next = this.#waiting[this.#next++]!;
      if (this.#next === this.#waiting.length) this.#next = this.#waiting.length = 0;
      void this.#send(next);
    }
  }

  async #send({ file, collection }: Waiting): Promise<void> {
    this.#sending++;
    this.active.push({ key: `file-${++this.#keys}`, name: file.webkitRelativePath || file.name, size: file.size, state: "sending", progress: 0 });
    const u = this.active[this.active.length - 1]!;
    try {
      const stored = await sluice.files.upload(file, {
        filename: file.name, skip_exists: true,
        onProgress: (p) => (u.progress = 0.5 * (p.total ? p.loaded / p.total : 0)),
      });
      if (collection) await sluice.vectorStores.addFiles(collection, stored.id);
      u.task = stored.task_id;
      u.state = "reading";
    } catch (err) {
      this.#end(u, messageOf(err));
    }
    this.#sending--;
    this.#fill();
    void this.#watch();
  }

  #end(u: Upload, error?: string): void {
    this.active = this.active.filter((x) => x.key !== u.key);
    if (error === undefined) {
      this.done++;
      this.ready++;
    } else {
      this.failures.push({ ...u, state: "failed", error });
    }
  }

  // watch asks for the state of the files that are being read until there are none.
  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    for (let wait = 150; ; wait = Math.min(wait * 1.3, 1000)) {
      const reading = this.active.filter((u) => u.state === "reading");
      if (!reading.length) break;
      await new Promise((next) => setTimeout(next, wait));
      const before = this.done;
      await Promise.all(reading.slice(0, 12).map((u) => this.#look(u)));
      if (this.done > before) wait = 150;
      this.#fill();
    }
    this.#watching = false;
  }

  async #look(u: Upload): Promise<void> {
    try {
      const task = await sluice.tasks.get(u.task!);
      u.progress = 0.5 + task.progress / 200;
      if (task.status === "completed") this.#end(u);
      else if (task.status === "failed" || task.status === "cancelled") this.#end(u, task.failure_reason || task.status);
    } catch (err) {
      if (err instanceof SluiceError && err.status >= 400 && err.status < 500) this.#end(u, err.message); // otherwise it is asked again
    }
  }
}

export const uploads = new Uploads();

addEventListener("beforeunload", (e) => {
  if (uploads.unsent) e.preventDefault(); // the browser asks whether the person wants to leave
});
