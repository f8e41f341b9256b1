import type { Key } from "../locales/en.js";
import type { IconName } from "../ui/Icon.svelte";
import type { Source, SourceRequest } from "./sources.svelte.js";

export type Kind = NonNullable<SourceRequest["kind"]>;

/** A part of a location that a person types. */
export interface Part {
  name: string;
  label: Key;
  example: string;
  optional?: boolean;
  lines?: boolean; // it has several lines
}

export interface KindForm {
  icon: IconName;
  parts: Part[];
  /** Whether sources of the kind have credentials, or cannot be synced without them. */
  credentials?: "optional" | "required";
  /** Whether it reads the disk of the server. */
  local?: boolean;
  watches?: boolean;
  /** Returns the location for the API, from the parts without spaces around them. */
  location: (parts: Record<string, string>) => string;
}

const encoded = (path: string) => path.split("/").map(encodeURIComponent).join("/");

// at returns a URL with the scheme secure, or insecure if the server was given with that one or with http.
function at(server: string, secure: string, insecure: string, path = ""): string {
  const [, scheme, host] = /^(?:([a-z0-9+]+):\/\/)?(.*)$/is.exec(server)!;
  return `${scheme && ["http", insecure].includes(scheme.toLowerCase()) ? insecure : secure}://${host!}${path && `${host!.endsWith("/") ? "" : "/"}${path}`}`;
}

/** The kinds of sources, with the fields of each. Their texts are kind_… and kind_…_hint. */
export const kinds: Record<Kind, KindForm> = {
  folder: {
    icon: "folder", local: true, watches: true, parts: [{ name: "path", label: "source_path", example: "/srv/contracts" }],
    location: (p) => p["path"]!,
  },
  web: { icon: "globe", parts: [{ name: "url", label: "source_url", example: "https://docs.example.org/guide/" }], location: (p) => p["url"]! },
  urls: {
    icon: "link", parts: [{ name: "urls", label: "source_urls", example: "https://example.org/report.pdf", lines: true }],
    location: (p) => p["urls"]!.split(/\s+/).join(" "),
  },
  git: {
    icon: "branch", credentials: "optional",
    parts: [{ name: "url", label: "source_url", example: "https://github.com/org/handbook.git" }, { name: "branch", label: "source_branch", example: "main", optional: true }, { name: "folder", label: "source_folder", example: "docs", optional: true }],
    location: (p) => {
      const branch = encoded(p["branch"]!), folder = encoded(p["folder"]!);
      return p["url"]! + (branch || folder ? `#${branch}${folder && `:${folder}`}` : "");
    },
  },
  s3: {
    icon: "bucket", credentials: "optional",
    parts: [{ name: "server", label: "source_server", example: "s3.eu-central-1.amazonaws.com" }, { name: "bucket", label: "source_bucket", example: "archive" }, { name: "prefix", label: "source_folder", example: "contracts", optional: true }],
    location: (p) => at(p["server"]!, "s3", "s3+http", encoded([p["bucket"]!, p["prefix"]!].filter(Boolean).join("/"))),
  },
  webdav: {
    icon: "folder", credentials: "optional", parts: [{ name: "url", label: "source_url", example: "https://cloud.example.org/remote.php/dav/files/ada/Contracts" }],
    location: (p) => at(p["url"]!, "webdavs", "webdav"),
  },
  imap: {
    icon: "mail", credentials: "required",
    parts: [{ name: "server", label: "source_server", example: "imap.example.org" }, { name: "folder", label: "source_folder", example: "Contracts", optional: true }],
    location: (p) => at(p["server"]!, "imaps", "imap", encoded(p["folder"]!)),
  },
};

/** Returns the form of the kind of a source; undefined if a newer server has a kind that the page does not know. */
export const kindOf = (s: Source): KindForm | undefined => kinds[s.kind as Kind];

/** Returns the minutes of a duration of the API, such as 1h30m. */
export function minutesOf(every: string): number {
  const sizes: Record<string, number> = { h: 60, m: 1, s: 1 / 60 };
  return [...every.matchAll(/([\d.]+)(h|m|s)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * sizes[unit!]!, 0);
}

export const units = { minute: 1, hour: 60, day: 1440 } as const;
export type Unit = keyof typeof units;

/** Returns a number of minutes as a number of the largest unit of which it is a whole one. */
export function inUnits(minutes: number): { n: number; unit: Unit } {
  const unit: Unit = minutes % units.day === 0 ? "day" : minutes % units.hour === 0 ? "hour" : "minute";
  return { n: minutes / units[unit], unit };
}
