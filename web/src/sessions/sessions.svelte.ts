import type { Session } from "../../../clients/typescript/src/index.js";
import { messageOf, sluice } from "../lib/api.js";

/** The list of conversations in the sidebar. */
class SessionList {
  all = $state<Session[]>([]);
  next = $state<string>();
  query = $state("");
  loaded = $state(false);
  error = $state<string>();
  #load = 0; // only the newest request sets the list

  /** Loads the first page. */
  async refresh(): Promise<void> {
    const mine = ++this.#load;
    try {
      const page = await sluice.sessions.list({ limit: 40, ...(this.query && { q: this.query }) });
      if (mine !== this.#load) return;
      this.all = page.sessions;
      this.next = page.next;
      this.error = undefined;
    } catch (err) {
      if (mine === this.#load) this.error = messageOf(err);
    } finally {
      if (mine === this.#load) this.loaded = true;
    }
  }

  /** Loads the next page. */
  async more(): Promise<void> {
    const page = await sluice.sessions.list({ limit: 40, after: this.next, ...(this.query && { q: this.query }) });
    this.all.push(...page.sessions.filter((s) => !this.all.some((x) => x.session_id === s.session_id)));
    this.next = page.next;
  }

  async rename(id: string, title: string): Promise<void> {
    const changed = await sluice.sessions.update(id, { title });
    this.all = this.all.map((s) => (s.session_id === id ? changed : s));
  }

  async remove(id: string): Promise<void> {
    await sluice.sessions.delete(id);
    this.all = this.all.filter((s) => s.session_id !== id);
  }
}

export const sessions = new SessionList();
