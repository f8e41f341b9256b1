import type { Settings } from "./conversation.svelte.js";
import { type Condition, type Conditions, none, valid } from "./filter.js";

const stored = "settings";
/** All documents: those of the folders and sources of the server, and the uploaded ones. The server searches them if no collection is named. */
export const everything = "";
/** What earlier versions stored for everything. */
const former = "default,files";
const defaults: Settings = { mode: "agentic", collection: everything, topK: 5, filter: none };

/** How questions are asked, as the person has chosen. */
export const settings = new (class {
  value = $state<Settings>({ ...defaults, filter: { ...none }, ...read() });

  save(): void {
    localStorage.setItem(stored, JSON.stringify(this.value));
  }
})();

function read(): Partial<Settings> {
  try {
    const s = JSON.parse(localStorage.getItem(stored) ?? "{}") as Partial<Record<keyof Settings, unknown>>;
    return {
      ...((s.mode === "agentic" || s.mode === "direct") && { mode: s.mode }),
      ...(typeof s.collection === "string" && { collection: s.collection === former ? everything : s.collection }),
      ...(typeof s.topK === "number" && Number.isInteger(s.topK) && s.topK >= 1 && s.topK <= 50 && { topK: s.topK }),
      ...(typeof s.filter === "object" && s.filter && { filter: readFilter(s.filter as Partial<Record<Condition, unknown>>) }),
    };
  } catch {
    return {};
  }
}

function readFilter(stored: Partial<Record<Condition, unknown>>): Conditions {
  const out = { ...none };
  for (const name of Object.keys(none) as Condition[]) {
    const value = stored[name];
    if (valid(name, value)) out[name] = value;
  }
  return out;
}
