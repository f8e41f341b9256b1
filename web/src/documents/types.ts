import { t } from "../lib/i18n.svelte.js";

const names: Record<string, string> = {
  "application/pdf": "PDF", "text/markdown": "Markdown", "text/html": "HTML", "application/json": "JSON", "text/csv": "CSV",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint", "application/epub+zip": "EPUB", "message/rfc822": "E-mail", "application/octet-stream": "?",
};

// The short names that filters of questions can have instead of media types.
const short: Record<string, string> = { pdf: "application/pdf", markdown: "text/markdown", html: "text/html", text: "text/plain" };

/** Returns the name of a type of documents for people: of a media type, or of a short name. */
export function typeName(type: string): string {
  if (type === "table") return t("filter_table");
  const media = short[type] ?? type;
  return media === "text/plain" ? t("filter_text") : (names[media] ?? media.replace(/^(application|text)\//, ""));
}

/** Returns media types, sorted by their names. */
export const sortedTypes = (types: Iterable<string>): string[] => [...types].sort((a, b) => typeName(a).localeCompare(typeName(b)));

/** The types that documents have most often. */
export const commonTypes: string[] = ["text/plain", ...Object.keys(names).filter((media) => media !== "application/octet-stream")];
