// Made from openapi.json by "npm run types". Do not edit.

export interface paths {
    "/api/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a question with one object */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["ForgeRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeAnswer"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeAnswer"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeAnswer"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Internal Server Error */
                500: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeAnswer"];
                    };
                };
                /** @description Bad Gateway */
                502: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeAnswer"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Gateway Timeout */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeAnswer"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/query/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a question and stream every step */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description With Sluice-Run-Id: go on behind this event. */
                    "Last-Event-ID"?: string;
                    /** @description The run to go on with; the body is then ignored. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["ForgeRequest"];
                };
            };
            responses: {
                /** @description Server-sent events. Each has an id that resumes the stream, and data of one of these forms. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["ForgeEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List runs, the newest first */
        get: {
            parameters: {
                query?: {
                    /** @description A run's id: the list goes on behind it. */
                    before?: string;
                    limit?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ServerRunList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a run with its answer so far */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description The run's id. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ServerRunDetail"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tell whether the process lives */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ServerHealth"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tell whether it takes questions */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ServerHealth"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ServerHealth"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a run */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description The run's id. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Accepted */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ServerCancelling"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stream a run, live or finished, from any event on */
        get: {
            parameters: {
                query?: {
                    /** @description The protocol to read it in; the default one if it is left out. */
                    protocol?: string;
                };
                header?: {
                    /** @description The id of the last event received. */
                    "Last-Event-ID"?: string;
                };
                path: {
                    /** @description The run's id. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Server-sent events. Each has an id that resumes the stream, and data of one of these forms. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["ForgeEvent"];
                    };
                };
                /** @description No Content */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** Format: int64 */
        EventMillis: number;
        ForgeAnswer: {
            answer: string;
            cached: boolean;
            /** Format: double */
            confidence: number;
            error?: components["schemas"]["ForgeError"];
            incomplete?: boolean;
            iterations: number;
            /** @enum {string} */
            mode: "agentic" | "direct";
            query: string;
            run_id: string;
            sources: components["schemas"]["ForgeSource"][];
            tokens_generated: number;
            tools_used: string[];
            total_time_ms: components["schemas"]["EventMillis"];
            usage?: components["schemas"]["ForgeUsage"];
            verification?: components["schemas"]["ForgeVerification"];
        };
        ForgeCacheHit: {
            /** Format: date-time */
            cached_at: string;
            original_query: string;
            /** Format: double */
            similarity: number;
            /** @enum {string} */
            type: "cache_hit";
        };
        ForgeCacheMiss: {
            /** @enum {string} */
            type: "cache_miss";
        };
        ForgeChunkScore: {
            chunk_id: string;
            /** @enum {string} */
            level: "L1" | "L2" | "L3";
            /** Format: double */
            score: number;
        };
        ForgeClaimDetail: {
            claim: string;
            /** @enum {string} */
            verdict: "SUPPORTED" | "PARTIALLY_SUPPORTED" | "UNSUPPORTED";
        };
        ForgeCRAGDetail: {
            chunk_id: string;
            /** @enum {string} */
            classification: "CORRECT" | "AMBIGUOUS" | "INCORRECT";
            expanded?: boolean;
            new_score?: number;
            /** Format: double */
            score: number;
        };
        ForgeCRAGEvaluation: {
            /** @enum {string} */
            action: "proceed" | "re-retrieve" | "expand";
            ambiguous: number;
            correct: number;
            details: components["schemas"]["ForgeCRAGDetail"][];
            expanded: number;
            incorrect: number;
            /** @enum {string} */
            type: "crag_evaluation";
        };
        ForgeDone: {
            cached: boolean;
            /** Format: double */
            confidence: number;
            incomplete?: boolean;
            iterations: number;
            /** @enum {string} */
            mode: "agentic" | "direct";
            sources_count: number;
            tokens_generated: number;
            tools_used: string[];
            total_time_ms: components["schemas"]["EventMillis"];
            /** @enum {string} */
            type: "done";
            usage?: components["schemas"]["ForgeUsage"];
        };
        ForgeError: {
            /** @enum {string} */
            code: "LLM_ERROR" | "VECTOR_DB_ERROR" | "TIMEOUT" | "NO_DOCUMENTS" | "CANCELLED" | "INTERNAL" | "INVALID_REQUEST" | "NOT_FOUND" | "CONFLICT" | "TOO_LARGE" | "OVERLOADED" | "UNAVAILABLE";
            field?: string;
            message: string;
            recoverable: boolean;
            /** @enum {string} */
            type: "error";
        };
        ForgeEvent: components["schemas"]["ForgeQueryAnalysis"] | components["schemas"]["ForgeCacheHit"] | components["schemas"]["ForgeCacheMiss"] | components["schemas"]["ForgeRetrievalStart"] | components["schemas"]["ForgeRetrievalResult"] | components["schemas"]["ForgeToolCall"] | components["schemas"]["ForgeToolResult"] | components["schemas"]["ForgeCRAGEvaluation"] | components["schemas"]["ForgeRerankResult"] | components["schemas"]["ForgeGenerationStart"] | components["schemas"]["ForgeToken"] | components["schemas"]["ForgeVerification"] | components["schemas"]["ForgeSources"] | components["schemas"]["ForgeDone"] | components["schemas"]["ForgeError"];
        ForgeGenerationStart: {
            context_chunks: number;
            model: string;
            total_context_tokens: number;
            /** @enum {string} */
            type: "generation_start";
        };
        ForgeQueryAnalysis: {
            /** @enum {string} */
            complexity: "simple" | "moderate" | "complex";
            decomposed: boolean;
            /** @enum {string} */
            estimated_mode: "agentic" | "direct";
            query: string;
            /** @enum {string} */
            type: "query_analysis";
        };
        ForgeRequest: {
            /** @description Where to look; the default collection if it is left out. */
            collection?: string;
            /**
             * @description How it is answered.
             * @default agentic
             * @enum {string}
             */
            mode?: "agentic" | "direct";
            /** @description Answer anew: nothing is taken from the cache or kept in it, and the run is not shared. */
            no_cache?: boolean;
            /** @description The question, in any language. */
            query: string;
            /** @description The conversation that the question belongs to. */
            session_id?: string;
            /** @description Passages given to the generator; 0 or left out: 5. */
            top_k?: number;
        };
        ForgeRerankResult: {
            duration_ms: components["schemas"]["EventMillis"];
            input_count: number;
            method: string;
            output_count: number;
            /** Format: double */
            top_score: number;
            /** @enum {string} */
            type: "rerank_result";
        };
        ForgeRetrievalResult: {
            chunks: components["schemas"]["ForgeChunkScore"][];
            chunks_found: number;
            duration_ms: components["schemas"]["EventMillis"];
            levels: {
                [key: string]: number;
            };
            tool: string;
            /** Format: double */
            top_score: number;
            /** @enum {string} */
            type: "retrieval_result";
        };
        ForgeRetrievalStart: {
            iteration: number;
            query: string;
            reason?: string;
            tool: string;
            /** @enum {string} */
            type: "retrieval_start";
        };
        ForgeSource: {
            chunk_id: string;
            cited: boolean;
            document_id: string;
            heading: string;
            /** @enum {string} */
            level: "L1" | "L2" | "L3";
            page_numbers: number[];
            path?: string[];
            /** Format: double */
            score: number;
            text: string;
            title: string;
            /** Format: double */
            weight: number;
        };
        ForgeSources: {
            sources: components["schemas"]["ForgeSource"][];
            /** @enum {string} */
            type: "sources";
        };
        ForgeToken: {
            content: string;
            /** @enum {string} */
            type: "token";
        };
        ForgeToolCall: {
            input: unknown;
            iteration: number;
            reason?: string;
            tool: string;
            /** @enum {string} */
            type: "tool_call";
        };
        ForgeToolResult: {
            duration_ms: components["schemas"]["EventMillis"];
            result: unknown;
            tool: string;
            /** @enum {string} */
            type: "tool_result";
        };
        ForgeUsage: {
            calls: number;
            estimated?: boolean;
            input_tokens: number;
            models: string[];
            output_tokens: number;
        };
        ForgeVerification: {
            claims_checked: number;
            claims_partially_supported: number;
            claims_supported: number;
            claims_unsupported: number;
            /** Format: double */
            confidence: number;
            details: components["schemas"]["ForgeClaimDetail"][];
            flagged?: boolean;
            /** @enum {string} */
            type: "verification";
        };
        ServerCancelling: {
            run_id: string;
            /**
             * @description When the command was taken; a running run ends soon after.
             * @enum {string}
             */
            status: "running" | "finished" | "failed" | "cancelled";
        };
        ServerHealth: {
            instance: string;
            live_runs: number;
            /** @enum {string} */
            status: "ok" | "draining";
            version: string;
        };
        ServerRunDetail: {
            /** @description As the default protocol answers a request that is not streamed. */
            answer: unknown;
            collection: string;
            duration_ms: components["schemas"]["EventMillis"];
            error_code?: string;
            events: number;
            /**
             * @description As asked for.
             * @enum {string}
             */
            mode: "agentic" | "direct";
            /** @description That it was started in; it can be read in any. */
            protocol: string;
            query: string;
            /** @description What models thought and did not say. */
            reasoning?: string;
            run_id: string;
            /** Format: date-time */
            started_at: string;
            /** @enum {string} */
            status: "running" | "finished" | "failed" | "cancelled";
            /** Format: date-time */
            updated_at: string;
        };
        ServerRunList: {
            /** @description Give it as before to get the next page. */
            next?: string;
            runs: components["schemas"]["ServerRunSummary"][];
        };
        ServerRunSummary: {
            collection: string;
            duration_ms: components["schemas"]["EventMillis"];
            error_code?: string;
            events: number;
            /**
             * @description As asked for.
             * @enum {string}
             */
            mode: "agentic" | "direct";
            /** @description That it was started in; it can be read in any. */
            protocol: string;
            query: string;
            run_id: string;
            /** Format: date-time */
            started_at: string;
            /** @enum {string} */
            status: "running" | "finished" | "failed" | "cancelled";
            /** Format: date-time */
            updated_at: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
