import type { paths } from "./schema.js";

// Types are taken by route, so that they follow the document however its schemas are named.
type Body<O> = O extends { requestBody?: { content: { "application/json": infer T } } } ? T : never;
type Reply<O> = O extends { responses: { 200: { content: { "application/json": infer T } } } } ? T : never;
type Events<O> = O extends { responses: { 200: { content: { "text/event-stream": infer T } } } } ? T : never;
type Query<O> = O extends { parameters: { query?: infer T } } ? NonNullable<T> : never;

/** A question in the forge protocol. */
export type AskRequest = Body<paths["/api/query/stream"]["post"]>;
/** An event of an answer, told apart by `type`. */
export type AskEvent = Events<paths["/api/query/stream"]["post"]>;
/** An answer as one object. */
export type Answer = Reply<paths["/api/query"]["post"]>;
/** The events by their types. */
export type AskEventOf<T extends AskEvent["type"]> = Extract<AskEvent, { type: T }>;
export type Verification = AskEventOf<"verification">;
export type Done = AskEventOf<"done">;
/** An event of type error. One that is not recoverable ends the stream. */
export type Failure = AskEventOf<"error">;
/** What an answer was made from. The first is [1] in its text. */
export type AskSource = AskEventOf<"sources">["sources"][number];

/** A page of runs, the newest first. */
export type RunList = Reply<paths["/api/runs"]["get"]>;
export type RunListQuery = Query<paths["/api/runs"]["get"]>;
export type RunSummary = RunList["runs"][number];
/** A run with its answer so far. */
export type RunDetail = Omit<Reply<paths["/api/runs/{id}"]["get"]>, "answer"> & { answer: Answer };
/** The reply to a cancel. */
export type Cancelling = paths["/runs/{id}/cancel"]["post"]["responses"][202]["content"]["application/json"];
/** The state of the server. */
export type Health = Reply<paths["/healthz"]["get"]>;
