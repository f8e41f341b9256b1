import type { Filter } from "../../../clients/typescript/src/index.js";
import { typeName } from "../documents/types.js";
import { currentLanguage, t } from "../lib/i18n.svelte.js";

/** The conditions of the question box. An empty text is no condition. */
export interface Conditions {
  author: string;
  /** Days, as YYYY-MM-DD. */
  from: string;
  to: string;
  type: string;
  /** Code of two letters. */
  language: string;
}

export type Condition = keyof Conditions;
export const none: Conditions = { author: "", from: "", to: "", type: "", language: "" };

/** The languages that the server knows by name. */
export const languages = ["ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "it", "ja", "ko", "nl", "no", "pl", "pt", "ru", "sv", "tr", "zh"];

const forms: { [C in Condition]: Pick<Filter, "type"> & { key: string } } = {
  author: { type: "contains", key: "creator" },
  from: { type: "gte", key: "date" },
  to: { type: "lte", key: "date" },
  type: { type: "eq", key: "type" },
  language: { type: "eq", key: "language" },
};
const names = Object.keys(forms) as Condition[];

/** The names of the conditions that are set. */
export const given = (c: Conditions): Condition[] => names.filter((name) => c[name].trim());

/** Returns the filter of a question; undefined without conditions. */
export function filterOf(c: Conditions): Filter | undefined {
  const filters = given(c).map((name): Filter => ({ ...forms[name], value: c[name].trim() }));
  return filters.length > 1 ? { type: "and", filters } : filters[0];
}

/** Whether a condition can have a value, which may come from elsewhere. */
export function valid(name: Condition, value: unknown): value is string {
  if (typeof value !== "string" || value.length > 200) return false;
  if (name === "from" || name === "to") return /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value));
  return name !== "language" || /^[a-z]{2}$/.test(value);
}

/** Returns the conditions of a filter that the question box can make; undefined for another one. */
export function conditionsOf(filter: Filter): Conditions | undefined {
  const out = { ...none };
  for (const f of filter.type === "and" ? (filter.filters ?? []) : [filter]) {
    const name = names.find((n) => forms[n].type === f.type && forms[n].key === f.key);
    if (!name || out[name] || !valid(name, f.value)) return undefined;
    out[name] = f.value;
  }
  return out;
}

export const languageName = (code: string): string => new Intl.DisplayNames(currentLanguage(), { type: "language" }).of(code) ?? code;

const day = (date: string): string => new Intl.DateTimeFormat(currentLanguage(), { dateStyle: "medium", timeZone: "UTC" }).format(new Date(date));

/** Returns a condition in words, such as "Author: Brook". */
export function words(name: Condition, value: string): string {
  const shown = { author: () => value, from: () => day(value), to: () => day(value), type: () => typeName(value), language: () => languageName(value) };
  return `${t(`filter_${name}`)}: ${shown[name]()}`;
}
