import { refusal } from "../../../clients/typescript/src/errors.js";
import { messageOf, request } from "../lib/api.js";
import { t } from "../lib/i18n.svelte.js";
import type { Key } from "../locales/en.js";

/** The elements of the Dublin Core that can be set. They are also the keys of their texts. */
export const elements: Key[] = ["dc_title", "dc_creator", "dc_subject", "dc_date", "dc_description", "dc_publisher", "dc_language", "dc_rights", "dc_source", "dc_identifier"];

export type DocumentStatus = "waiting" | "reading" | "ready" | "failed";

/** A document in the list of all documents. */
export interface ListedDocument {
  id: string;
  name: string;
  title: string;
  type: string;
  bytes: number;
  pages?: number;
  status: DocumentStatus;
  error?: string;
  added: string;
  folder?: string; // the collection of a document from a folder of the server
  path?: string;
}

export interface DocumentList {
  documents: ListedDocument[];
  total: number;
  statuses: Partial<Record<DocumentStatus, number>>;
  types: Record<string, number>;
}

export interface DocumentSection {
  chunk_id: string;
  heading: string;
  depth: number;
  page?: number;
}

export interface DocumentView extends ListedDocument {
  collections: string[];
  dublin_core?: Record<string, string>; // by names such as dc_title
  given?: Record<string, string>; // the part of it that users set
  outline: DocumentSection[];
  original: boolean;
}

export interface DocumentPassage {
  chunk_id: string;
  number: number;
  headings: string[];
  pages?: number[];
  start: number;
  end: number;
  text: string;
}

export interface DocumentText {
  passages: DocumentPassage[];
  from: number;
  more: boolean;
  start: number; // of the requested chunk
  end: number;
}

export interface DocumentQuery {
  collection?: string;
  q?: string;
  status?: string;
  type?: string;
  sort?: string;
  order?: string;
  offset?: number;
  limit?: number;
}

const at = (id: string) => `/api/documents/${encodeURIComponent(id)}`;
const query = (values: object) =>
  new URLSearchParams(Object.entries(values).filter(([, v]) => v !== undefined && v !== "").map(([k, v]) => [k, String(v)])).toString();

export const listDocuments = (q: DocumentQuery): Promise<DocumentList> => request("GET", `/api/documents?${query(q)}`);
export const showDocument = (id: string): Promise<DocumentView> => request("GET", at(id));
export const passagesOf = (id: string, q: { from?: number; limit?: number; chunk?: string }): Promise<DocumentText> => request("GET", `${at(id)}/passages?${query(q)}`);
export const retryDocument = (id: string): Promise<ListedDocument> => request("POST", `${at(id)}/retry`);
export const originalOf = (id: string): string => `${at(id)}/original`;

/** Returns why the bytes of a document cannot be had, or undefined if they can. */
export async function faultOfOriginal(url: string): Promise<string | undefined> {
  try {
    const res = await fetch(url, { headers: { Range: "bytes=0-0" } });
    if (res.ok) return undefined;
    if (res.status === 409) return t("original_changed");
    if (res.status === 404) return t("original_gone");
    throw await refusal(res);
  } catch (err) {
    return messageOf(err);
  }
}
