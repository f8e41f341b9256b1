import { type AskRequest, ConnectionError, Sluice, SluiceError, type TurnRequest } from "../../../clients/typescript/src/index.js";
import { refusal } from "../../../clients/typescript/src/errors.js";
import { t } from "./i18n.svelte.js";

// Every request of the page passes here, also those of the client, so that the end of a login is noticed wherever it happens.
const platform = globalThis.fetch.bind(globalThis);
globalThis.fetch = async (input, init) => {
  const res = await platform(input, init);
  if (res.status === 401 && !res.url.includes("/auth/")) dispatchEvent(new Event("loginended"));
  return res;
};

/** Returns an error in words for the person who uses the page. */
export function messageOf(err: unknown): string {
  if (unreachable(err)) return t("unreachable");
  return err instanceof Error ? err.message : String(err);
}

/** Whether the server was not reached, so that the same may succeed later. */
export const unreachable = (err: unknown): boolean => err instanceof ConnectionError || err instanceof TypeError;

/** The client of the server that the page comes from. */
export const sluice = new Sluice();

/** Sends a request to a route without a method of the client, and returns its JSON. */
export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const res = await fetch(path, init);
  if (!res.ok) throw await refusal(res);
  return (res.status === 204 ? undefined : await res.json()) as T;
}

/** Asks a question and returns the id of its run as soon as the server has it. The stream of the reply is not read. */
export async function ask(question: AskRequest): Promise<string> {
  return start("/api/query/stream", question);
}

/** Asks a question at a place of a session: after a message, instead of one, or once more. */
export async function askInSession(session: string, question: TurnRequest): Promise<string> {
  return start(`/v1/rag/sessions/${encodeURIComponent(session)}/messages/stream`, question);
}

async function start(path: string, body: unknown): Promise<string> {
  const stop = new AbortController();
  const res = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: stop.signal });
  if (!res.ok) throw await refusal(res);
  const run = res.headers.get("Sluice-Run-Id");
  if (!run) {
    stop.abort();
    throw new SluiceError("the reply has no id of a run", res.status, "UNKNOWN");
  }
  replies.get(run)?.abort();
  replies.set(run, stop);
  return run;
}

// The replies to questions by run. The page reads runs in another protocol, but a run without a reader may be cancelled at once: it depends on the server.
const replies = new Map<string, AbortController>();

/** Closes the reply to the question of a run, when another stream of the run is being read or none is wanted. */
export function closeReply(run: string): void {
  replies.get(run)?.abort();
  replies.delete(run);
}

/** Who sends the requests of the page. */
export interface Sender {
  tenant: string;
  account: string;
  key?: string;
  scopes: string[];
}

/** Whether a sender has a scope. */
export const permits = (who: Sender, scope: string): boolean => who.scopes.includes(scope) || (scope !== "tenants" && who.scopes.includes("admin"));

/** Whether a sender may name folders and credentials of the server. This needs a key, also on a server without keys. */
export const mayReadServer = (who: Sender): boolean => !!who.key && permits(who, "tenants");

export const sender = (): Promise<Sender> => request("GET", "/auth/session");

/** The ways to log in. */
export interface LoginMethods {
  key: boolean;
  oidc?: { name: string };
}

export const loginMethods = (): Promise<LoginMethods> => request("GET", "/auth/methods");
