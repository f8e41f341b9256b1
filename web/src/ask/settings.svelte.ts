import type { Settings } from "./conversation.svelte.js";

const stored = "settings";
/** All documents: those of the folder of the server, and the uploaded ones. */
export const everything = "default,files";
const defaults: Settings = { mode: "agentic", collection: everything, topK: 5 };

/** How questions are asked, as the person has chosen. */
export const settings = new (class {
  value = $state<Settings>({ ...defaults, ...read() });

  save(): void {
    localStorage.setItem(stored, JSON.stringify(this.value));
  }
})();

function read(): Partial<Settings> {
  try {
    return JSON.parse(localStorage.getItem(stored) ?? "{}") as Partial<Settings>;
  } catch {
    return {};
  }
}
