import type { paths } from "./schema.js";

// Types are derived from routes, so that they do not depend on the names of schemas.
type Body<O> = O extends { requestBody?: { content: { "application/json": infer T } } } ? T : never;
type Reply<O> = O extends { responses: { 200: { content: { "application/json": infer T } } } } ? T : never;
type Events<O> = O extends { responses: { 200: { content: { "text/event-stream": infer T } } } } ? T : never;
type Lines<O> = O extends { responses: { 200: { content: { "text/plain": infer T } } } } ? T : never;
type Query<O> = O extends { parameters: { query?: infer T } } ? NonNullable<T> : never;

/** A question in the forge protocol. */
export type AskRequest = Body<paths["/api/query/stream"]["post"]>;
/** Limits the documents that a question reads: a comparison of an attribute, or filters joined by `and` or `or`. */
export type Filter = NonNullable<AskRequest["filter"]>;
/** An event of an answer, discriminated by `type`. */
export type AskEvent = Events<paths["/api/query/stream"]["post"]>;
/** An answer as one object. */
export type Answer = Reply<paths["/api/query"]["post"]>;
/** The events by their types. */
export type AskEventOf<T extends AskEvent["type"]> = Extract<AskEvent, { type: T }>;
export type Verification = AskEventOf<"verification">;
export type Done = AskEventOf<"done">;
/** An event of type error. It ends the stream unless it is recoverable. */
export type Failure = AskEventOf<"error">;
/** The sources of an answer. The first is [1] in its text. */
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

type Method<P extends keyof paths, M extends keyof paths[P]> = paths[P][M];

/** The parameters of the service's lists. */
export type ListQuery = Query<Method<"/v1/files", "get">>;
/** The result of a deletion. */
export type Deleted = Reply<Method<"/v1/files/{id}", "delete">>;

/** JSON that is an object. */
export type JsonObject = Record<string, unknown>;
type WithMetadata<T> = Omit<T, "metadata"> & { metadata: JsonObject };
type MayHaveMetadata<T> = Omit<T, "metadata"> & { metadata?: JsonObject };

/** An uploaded file. */
export type StoredFile = WithMetadata<Reply<Method<"/v1/files/{id}", "get">>>;
export type FileList = Omit<Reply<Method<"/v1/files", "get">>, "data"> & { data: StoredFile[] };
/** A file with its text in segments, to which citations refer. */
export type FileDocument = WithMetadata<Reply<Method<"/v1/files/{id}/content", "get">>>;
export type DocumentUpdate = MayHaveMetadata<Body<Method<"/v1/files/{id}/content", "post">>>;
export type ContentQuery = Query<Method<"/v1/files/{id}/content", "get">>;
export type FilePages = Reply<Method<"/v1/files/{id}/pages", "get">>;
export type FilePagesQuery = Query<Method<"/v1/files/{id}/pages", "get">>;
/** A background task. */
export type Task = Reply<Method<"/v1/tasks/{id}", "get">>;

/** A named set of files. */
export type VectorStore = WithMetadata<Reply<Method<"/v1/vector_stores/{id}", "get">>>;
export type VectorStoreList = Omit<Reply<Method<"/v1/vector_stores", "get">>, "data"> & { data: VectorStore[] };
export type VectorStoreRequest = MayHaveMetadata<Body<Method<"/v1/vector_stores", "post">>>;
export type VectorStoreUpdate = MayHaveMetadata<Body<Method<"/v1/vector_stores/{id}", "post">>>;
export type SearchRequest = Omit<Body<Method<"/v1/vector_stores/{id}/search", "post">>, "filters"> & { filters?: JsonObject };
export type SearchPage = Reply<Method<"/v1/vector_stores/{id}/search", "post">>;
export type VectorStoreSummary = Reply<Method<"/v1/vector_stores/{id}/summary", "get">>;

/** The content of a message: text, or parts such as files. */
export interface InputMessage {
  role: "user" | "assistant" | "system" | "developer";
  content: string | ({ type: "input_text" | "output_text"; text: string } | { type: "input_file"; file_id: string })[];
}
type RawRequest = Body<Method<"/v1/responses", "post">>;
/** A question in the knowledge protocol: `input` is the question, or the conversation with the question as the last message. */
export type ResponseRequest = Omit<RawRequest, "input" | "messages" | "stream"> & { input: string | InputMessage[] };
type RawResponse = Reply<Method<"/v1/responses/{id}", "get">>;
type RawItem = RawResponse["output"][number];
type Own = "role" | "content" | "summary" | "queries" | "document_id"; // required fields of some types
type ItemOf<T extends RawItem["type"], Has extends Own> = Omit<RawItem, "type" | Own> & { type: T } & Required<Pick<RawItem, Has>>;
export type MessageItem = ItemOf<"message", "role" | "content">;
export type ReasoningItem = ItemOf<"reasoning", "summary">;
export type SearchItem = ItemOf<"file_search_call" | "web_search_call" | "list_documents_call", "queries">;
export type PageReaderItem = ItemOf<"page_reader_call", "document_id">;
/** An output item, discriminated by `type`: a tool call, reasoning or the message. */
export type OutputItem = MessageItem | ReasoningItem | SearchItem | PageReaderItem;
/** The complete state of an answer. */
export type Response = Omit<RawResponse, "output"> & { output: OutputItem[] };
/** A cited passage. */
export type Annotation = MessageItem["content"][number]["annotations"][number];
export type ResponseList = Reply<Method<"/v1/responses", "get">>;
export type ResponseSummary = ResponseList["data"][number];
export type ModelList = Reply<Method<"/v1/models", "get">>;
/** The status of the server. */
export type ServerStatus = Reply<Method<"/v1/serverstatus", "get">>;

/** A conversation. */
export type Session = Reply<Method<"/v1/rag/sessions/{id}", "get">>;
export type SessionRequest = Body<Method<"/v1/rag/sessions", "post">>;
export type SessionUpdate = Body<Method<"/v1/rag/sessions/{id}", "patch">>;
/** A page of sessions, the last used one first. */
export type SessionList = Reply<Method<"/v1/rag/sessions", "get">>;
export type SessionListQuery = Query<Method<"/v1/rag/sessions", "get">>;
/** A page of messages of a branch, in the order of the conversation. */
export type MessageList = Reply<Method<"/v1/rag/sessions/{id}/messages", "get">>;
export type MessageListQuery = Query<Method<"/v1/rag/sessions/{id}/messages", "get">>;
/** A question or an answer of a session. */
export type SessionMessage = MessageList["messages"][number];
/** The rating of an answer. */
export type Feedback = Reply<Method<"/v1/rag/sessions/{id}/messages/{message}/feedback", "put">>;
/** A question in a session. */
export type TurnRequest = Body<Method<"/v1/rag/sessions/{id}/messages/stream", "post">>;
type TurnEvent = Lines<Method<"/v1/rag/sessions/{id}/messages/stream", "post">>;
/** A search of a turn that started, completed or failed. */
export type TurnSearch = Extract<TurnEvent, { type: "search" }>;
/** The grades of what the searches of an iteration found. */
export type TurnReview = Extract<TurnEvent, { type: "review" }>;
/** The end of the stream of a turn. */
export type TurnTrailer = Exclude<TurnEvent, { type: string }>;
