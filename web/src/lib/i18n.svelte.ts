import { type Key, en } from "../locales/en.js";

/** The languages of the page, by the code of ISO 639-1. */
export const languages = { en: "English", de: "Deutsch", fr: "Français", es: "Español" } as const;
export type Language = keyof typeof languages;

type Texts = Record<Key, string>;
const load: Record<Exclude<Language, "en">, () => Promise<Texts>> = {
  de: async () => (await import("../locales/de.js")).de,
  fr: async () => (await import("../locales/fr.js")).fr,
  es: async () => (await import("../locales/es.js")).es,
};

let language = $state<Language>("en");
let texts = $state.raw<Texts>(en);

const stored = "language";

/** Selects the language of the page: the given one, else the one that was selected before, else the first of the browser that there is. */
export async function selectLanguage(wanted?: Language): Promise<void> {
  const known = (s: string | null | undefined): s is Language => !!s && Object.hasOwn(languages, s);
  const chosen = wanted ?? localStorage.getItem(stored) ?? navigator.languages.map((l) => l.slice(0, 2)).find(known);
  const next = known(chosen) ? chosen : "en";
  texts = next === "en" ? en : await load[next]();
  language = next;
  document.documentElement.lang = next;
  if (wanted) localStorage.setItem(stored, wanted);
}

export const currentLanguage = (): Language => language;

/** Returns a text in the language of the page. Names in braces are replaced by values. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return texts[key].replace(/\{(\w+)\}/g, (whole, name: string) => {
    const v = values[name];
    return v === undefined ? whole : typeof v === "number" ? number(v) : v;
  });
}

/** Returns a text with one of two forms for a number: KEY_one for 1, otherwise KEY_other. */
export function plural(key: string, n: number): string {
  const form = new Intl.PluralRules(language).select(n) === "one" ? "one" : "other";
  return t(`${key}_${form}` as Key, { n });
}

const locale = (): string => {
  const same = navigator.languages.find((l) => l.startsWith(language));
  return same ?? language;
};

// To make a formatter takes much longer than to use it.
const formatters = new Map<string, Intl.NumberFormat>();

function format(n: number, options: Intl.NumberFormatOptions): string {
  const key = locale() + JSON.stringify(options);
  let f = formatters.get(key);
  if (!f) formatters.set(key, (f = new Intl.NumberFormat(locale(), options)));
  return f.format(n);
}

export const number = (n: number, digits = 0): string => format(n, { maximumFractionDigits: digits });
export const percent = (share: number): string => format(share, { style: "percent", maximumFractionDigits: 0 });

/** Formats a number of milliseconds. */
export function duration(ms: number): string {
  if (ms < 1000) return `${number(ms)} ms`;
  if (ms < 60_000) return `${number(ms / 1000, ms < 10_000 ? 2 : 1)} s`;
  return `${number(Math.floor(ms / 60_000))} min ${number(Math.round((ms % 60_000) / 1000))} s`;
}

/** Formats a number of a unit such as "hour", as "6 hours". */
export const quantity = (n: number, unit: string): string => format(n, { style: "unit", unit, unitDisplay: "long" });

/** Returns the name of a unit such as "hour" in the plural. */
export const unitName = (unit: string): string => quantity(2, unit).replace(/^[\d\s\u00a0\u202f]+/, "");

/** Formats an amount in micro-credits. */
export const credits = (micro: number): string => format(micro / 1e6, { minimumFractionDigits: 2, maximumFractionDigits: 6 });

/** Formats a time as a distance from now, such as "3 days ago". */
export function ago(at: string | number): string {
  const seconds = ((typeof at === "number" ? at : Date.parse(at)) - Date.now()) / 1000;
  const units: [Intl.RelativeTimeFormatUnit, number][] = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3600], ["minute", 60]];
  const f = new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" });
  for (const [unit, size] of units) if (Math.abs(seconds) >= size) return f.format(Math.round(seconds / size), unit);
  return f.format(0, "second");
}

export const bytes = (n: number): string =>
  n < 1000 ? `${number(n)} B` : n < 1e6 ? `${number(n / 1e3, 1)} kB` : n < 1e9 ? `${number(n / 1e6, 1)} MB` : `${number(n / 1e9, 1)} GB`;

export const dateTime = (at: string | number): string => new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));

/** Formats a day such as 2026-02-18, which is one of UTC. */
export const date = (day: string): string => new Intl.DateTimeFormat(locale(), { day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(day));
