import type { Bodies } from "../run/event.js";

/** The protocols in which the server streams a run: see docs/protocols. */
export const protocols = ["forge", "knowledge", "ragevents", "turns", "forrst", "events"] as const;
export type Protocol = (typeof protocols)[number];

/** A request to the server. */
export interface Request {
  method: "GET" | "POST";
  /** With {session} in it, a session is created first. */
  path: string;
  body?: unknown;
}

export type Question = Pick<Bodies["run_started"], "query" | "mode" | "collection" | "top_k" | "filter"> & { model?: string | undefined };

/** Returns the request that streams a run in a protocol. */
export const readRequest = (run: string, protocol: Protocol): Request => ({ method: "GET", path: `/runs/${encodeURIComponent(run)}/stream?protocol=${protocol}` });

/** Returns the request that asks a question in a protocol and streams its answer; undefined for the protocol in which runs are only read. */
export function askRequest(protocol: Protocol, { query, mode, collection, top_k, filter, model }: Question): Request | undefined {
  const post = (path: string, body: unknown): Request => ({ method: "POST", path, body });
  const limited = filter && { filter };
  switch (protocol) {
    case "forge":
      return post("/api/query/stream", { query, mode, collection, top_k, ...limited, ...(model && { model }) });
    case "knowledge":
      return post("/v1/responses", { input: query, stream: true, tools: [{ type: "file_search", vector_store_ids: collection.split(","), max_num_results: top_k, ...(filter && { filters: filter }) }], ...(model && { model }) });
    case "ragevents":
      return post("/functions/v1/rag", { question: query, collection, top_k, ...limited });
    case "turns":
      return post("/v1/rag/sessions/{session}/messages/stream", { content: query, mode, collection, top_k, ...limited });
    case "forrst":
      return post("/forrst", {
        protocol: { name: "forrst", version: "0.1.0" }, id: "1", call: { function: "rag.ask", version: "1.0.0", arguments: { query, mode, collection, top_k, ...limited } },
        extensions: [{ urn: "urn:forrst:ext:stream", options: { accept: true } }],
      });
    case "events":
      return undefined;
  }
}
