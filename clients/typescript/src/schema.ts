// Made from the OpenAPI document of the server by "npm run types". Do not edit.

export interface paths {
    "/.well-known/agent-card.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Describe the server to agents */
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
                        "application/json": components["schemas"]["A2ACard"];
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
    "/a2a": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Call a method of the Agent2Agent protocol
         * @description Needs the scope ask to send a message, read to show or stream a task, or write to cancel one. With ask alone, a key can use the tasks of its account.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Version of the protocol, 1.0. */
                    "A2A-Version"?: string;
                    /** @description With SubscribeToTask: continue after this event. */
                    "Last-Event-ID"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["A2ACall"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2AResponse"];
                        "text/event-stream": components["schemas"]["A2aEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ARefusal"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ARefusal"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ARefusal"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ARefusal"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ARefusal"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ARefusal"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["A2ARefusal"];
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
    "/agui": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["AguiRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["AguiEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
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
    "/agui/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel the answer in progress in a session
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["ServerStopRequest"];
                };
            };
            responses: {
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
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
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
    "/agui/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the answer in progress in a session
         * @description Needs the scope ask.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["AguiEvent"];
                    };
                };
                /** @description No Content */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AguiFault"];
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
    "/anthropic/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: {
                    /** @description For the protocol anthropic: whether the message has the reasoning of models. */
                    thinking?: boolean;
                };
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["AnthropicRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicMessage"];
                        "text/event-stream": components["schemas"]["AnthropicEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Internal Server Error */
                500: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Bad Gateway */
                502: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Gateway Timeout */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
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
    "/anthropic/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List models, for clients of Anthropic */
        get: {
            parameters: {
                query?: {
                    /** @description The page begins after this model. */
                    after_id?: string;
                    /** @description The page ends before this model. */
                    before_id?: string;
                    /** @description Most models of the page. */
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
                        "application/json": components["schemas"]["AnthropicModelList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
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
    "/anthropic/v1/models/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a model, for clients of Anthropic */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the model. */
                    model: string;
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
                        "application/json": components["schemas"]["AnthropicModel"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AnthropicError"];
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
    "/api/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the balance of an account */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Name of the account. */
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
                        "application/json": components["schemas"]["AccountsAccount"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
    "/api/accounts/{id}/statement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the entries of an account, newest first, as JSON or CSV */
        get: {
            parameters: {
                query?: {
                    /** @description Cursor. The list continues after it. */
                    before?: string;
                    /** @description The default is what Accept prefers, or else json. */
                    format?: "json" | "csv";
                    limit?: number;
                };
                header?: never;
                path: {
                    /** @description Name of the account. */
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
                        "application/json": components["schemas"]["AccountsStatement"];
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
                /** @description Unauthorized */
                401: {
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
    "/api/admin/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the accounts with their balances
         * @description Needs the scope admin.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Name of an account. The list continues after it. */
                    after?: string;
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
                        "application/json": components["schemas"]["AdminAccountList"];
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
                /** @description Unauthorized */
                401: {
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
    "/api/admin/evaluations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the results of evaluations
         * @description Needs the scope admin.
         */
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
                        "application/json": components["schemas"]["AdminEvaluationList"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
    "/api/admin/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys of the tenant
         * @description Needs the scope admin.
         */
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
                        "application/json": components["schemas"]["AdminKeyList"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
            };
        };
        put?: never;
        /**
         * Add a key
         * @description Needs the scope admin.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["AdminKeyRequest"];
                };
            };
            responses: {
                /** @description Created */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AdminSecret"];
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
                /** @description Unauthorized */
                401: {
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
                /** @description Insufficient Storage */
                507: {
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
    "/api/admin/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End a key and its logins for ever
         * @description Needs the scope admin.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Public id of the key. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description No Content */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description Unauthorized */
                401: {
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
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a key a new secret
         * @description Needs the scope admin.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Public id of the key. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["AdminRotateRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AdminSecret"];
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
                /** @description Unauthorized */
                401: {
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
                /** @description Insufficient Storage */
                507: {
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
    "/api/admin/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what answers cost
         * @description Needs the scope admin.
         */
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
                        "application/json": components["schemas"]["AdminPriceList"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
    "/api/admin/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all tenants
         * @description Needs the scope tenants.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Name of a tenant. The list continues after it. */
                    after?: string;
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
                        "application/json": components["schemas"]["AdminTenantList"];
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
                /** @description Unauthorized */
                401: {
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
            };
        };
        put?: never;
        /**
         * Create a tenant with its first key
         * @description Needs the scope tenants.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["AdminTenantRequest"];
                };
            };
            responses: {
                /** @description Created */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AdminSecret"];
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
                /** @description Unauthorized */
                401: {
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
                /** @description Insufficient Storage */
                507: {
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
    "/api/admin/tenants/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a tenant
         * @description Needs the scope tenants.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Name of the tenant. */
                    name: string;
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
                        "application/json": components["schemas"]["AdminTenant"];
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
                /** @description Unauthorized */
                401: {
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
            };
        };
        put?: never;
        post?: never;
        /**
         * Revoke the keys of a tenant and delete all its data
         * @description Needs the scope tenants.
         */
        delete: {
            parameters: {
                query: {
                    /** @description The name again, because all data of the tenant is deleted. */
                    confirm: string;
                };
                header?: never;
                path: {
                    /** @description Name of the tenant. */
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
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
                /** @description Unauthorized */
                401: {
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
                /** @description Conflict */
                409: {
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
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ai/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["UistreamRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["UistreamEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
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
    "/api/ai/chat/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel the answer in progress in a session
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["ServerStopRequest"];
                };
            };
            responses: {
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
                        "text/plain": string;
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
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
    "/api/ai/chat/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the answer in progress in a session
         * @description Needs the scope ask.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["UistreamEvent"];
                    };
                };
                /** @description No Content */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
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
    "/api/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all documents: uploaded files and those of folders
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Vector store or collection of folders. The default is all documents. */
                    collection?: string;
                    limit?: number;
                    offset?: number;
                    /** @description The default is desc for added and size, otherwise asc. */
                    order?: "asc" | "desc";
                    /** @description Words in the name, the title or the path. */
                    q?: string;
                    sort?: "name" | "title" | "size" | "added" | "status";
                    status?: "waiting" | "reading" | "ready" | "failed";
                    /** @description Media type. */
                    type?: string;
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
                        "application/json": components["schemas"]["DocumentsDocumentList"];
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
                /** @description Unauthorized */
                401: {
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
    "/api/documents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a document with its outline
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["DocumentsDocumentView"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
    "/api/documents/{id}/original": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download the file of a document
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/octet-stream": string;
                    };
                };
                /** @description Unauthorized */
                401: {
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
                /** @description Conflict */
                409: {
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
    "/api/documents/{id}/passages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the text of a document as it is indexed
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Id of a chunk of any level, such as that of a source. The reply begins shortly before it, and from is ignored. */
                    chunk?: string;
                    /** @description First passage. */
                    from?: number;
                    limit?: number;
                };
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["DocumentsDocumentText"];
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
                /** @description Unauthorized */
                401: {
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
    "/api/documents/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read a file that failed again
         * @description Needs the scope write.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["DocumentsListedDocument"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
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
    "/api/ingestions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ingest files and folders on the machine of the server, in the background
         * @description Needs the scope tenants.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["IngestionsRequest"];
                };
            };
            responses: {
                /** @description Accepted */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["IngestionsAccepted"];
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
                /** @description Unauthorized */
                401: {
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
                /** @description Insufficient Storage */
                507: {
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
    "/api/ingestions/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the progress of an ingestion, with the files that failed
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Id of the last event that was received. The stream continues after it. */
                    "Last-Event-ID"?: string;
                };
                path: {
                    /** @description Id of an ingestion: that of a sync, as sources show it, that of an ingestion of paths, or that of the task of an uploaded file. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["IngestionsEvent"];
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
                /** @description Unauthorized */
                401: {
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
    "/api/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question with one object
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
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
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Payment Required */
                402: {
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
                        "application/json": components["schemas"]["ForgeAnswer"] | components["schemas"]["ForgeError"];
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
                        "application/json": components["schemas"]["ForgeAnswer"] | components["schemas"]["ForgeError"];
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
                /** @description Insufficient Storage */
                507: {
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
    "/api/query/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
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
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
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
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
                /** @description Payment Required */
                402: {
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
                /** @description Conflict */
                409: {
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
                /** @description Unprocessable Entity */
                422: {
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
                /** @description Insufficient Storage */
                507: {
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
        /**
         * List runs, newest first
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Id of a run. The list continues after it. */
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
                /** @description Unauthorized */
                401: {
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
        /**
         * Show a run with its answer so far
         * @description Needs the scope read, or ask for a run of the key's account.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the run. */
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
                /** @description Unauthorized */
                401: {
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
    "/api/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sources of documents
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Also list files and folders that are no sources. */
                    paths?: boolean;
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
                        "application/json": components["schemas"]["SourcesSourceList"];
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
                /** @description Unauthorized */
                401: {
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
            };
        };
        put?: never;
        /**
         * Add a source of documents and sync it; a folder needs a key of the scope tenants or is in one that the server shares
         * @description Needs the scope write.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["SourcesSourceRequest"];
                };
            };
            responses: {
                /** @description Created */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SourcesSourceView"];
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
                /** @description Unauthorized */
                401: {
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
                /** @description Insufficient Storage */
                507: {
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
    "/api/sources/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a source with its progress and its last sync
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["SourcesSourceView"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
            };
        };
        put?: never;
        post?: never;
        /**
         * Remove a source with its documents, in the background
         * @description Needs the scope write.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["SourcesSourceView"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        /**
         * Change the schedule, the watch or the metadata of a source
         * @description Needs the scope write.
         */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["SourcesChangeRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SourcesSourceView"];
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
                /** @description Unauthorized */
                401: {
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
                /** @description Conflict */
                409: {
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
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForgeError"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/api/sources/{id}/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sync a source in the background
         * @description Needs the scope write.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["SourcesSyncRequest"];
                };
            };
            responses: {
                /** @description Accepted */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SourcesSourceView"];
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
                /** @description Unauthorized */
                401: {
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
                /** @description Conflict */
                409: {
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
                /** @description Insufficient Storage */
                507: {
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
    "/api/suggestions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Suggest questions that the documents answer
         * @description Needs the scope ask.
         */
        get: {
            parameters: {
                query?: {
                    /** @description As in questions. */
                    collection?: string;
                    /** @description Code of ISO 639-1. Questions in this language come first. */
                    language?: string;
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
                        "application/json": components["schemas"]["DocumentsSuggestions"];
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
                /** @description Unauthorized */
                401: {
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
    "/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sum runs, tokens and fees by day, model and collection */
        get: {
            parameters: {
                query?: {
                    /** @description Account that paid. The default is that of the key; for a key with the scope admin, all accounts. */
                    account?: string;
                    /** @description What to group by: day, model and collection, separated by commas. */
                    by?: string;
                    /** @description First day, such as 2026-01-31 in UTC, or a time of RFC 3339. */
                    from?: string;
                    /** @description First day or time after the report. */
                    to?: string;
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
                        "application/json": components["schemas"]["AccountsUsageList"];
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
                /** @description Unauthorized */
                401: {
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
    "/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a key for a session cookie */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["AccessLogin"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AccessSessionInfo"];
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
                /** @description Unauthorized */
                401: {
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
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the session of the cookie */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description No Content */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description Unauthorized */
                401: {
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
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/methods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show how people can log in */
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
                        "application/json": components["schemas"]["AccessMethods"];
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
    "/auth/oidc/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Come back from the OpenID provider, and get a session cookie */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description See Other */
                303: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
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
    "/auth/oidc/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Go to the OpenID provider to log out there, and come back */
        get: {
            parameters: {
                query?: {
                    /** @description What the server sent to the provider. */
                    state?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description See Other */
                303: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
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
    "/auth/oidc/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Go to the OpenID provider to log in */
        get: {
            parameters: {
                query?: {
                    /** @description Path of the page to which the browser returns after the login. The default is /. */
                    to?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description See Other */
                303: {
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
    "/auth/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show who sends the request */
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
                        "application/json": components["schemas"]["AccessSessionInfo"];
                    };
                };
                /** @description Unauthorized */
                401: {
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
    "/forrst": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Call a function, with a stream if the call asks for one
         * @description Needs the scope ask, read or write, depending on the function. The system functions need none.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume, instead of a call. Only the id of the body is used. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["ForrstCall"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                        "text/event-stream": components["schemas"]["ForrstEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Request Timeout */
                408: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                499: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Internal Server Error */
                500: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Bad Gateway */
                502: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ForrstDocument"];
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
    "/functions/v1/rag": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                    /** @description A key of Anthropic, instead. */
                    "x-anthropic-key"?: string;
                    /** @description A key of OpenAI. It pays the model of this question only, and is not stored. */
                    "x-openai-key"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["RageventsRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsAnswer"];
                        "text/event-stream": components["schemas"]["RageventsEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsAnswer"] | components["schemas"]["RageventsError"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Internal Server Error */
                500: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsAnswer"];
                    };
                };
                /** @description Bad Gateway */
                502: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsAnswer"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
                    };
                };
                /** @description Gateway Timeout */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsAnswer"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RageventsError"];
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
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Report whether the process runs */
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
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Open or resume a stream of a session of the Model Context Protocol
         * @description Needs the scope ask or read, depending on the tool.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["McpEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Send a message of the Model Context Protocol
         * @description Needs the scope ask or read, depending on the tool.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["McpMessage"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["McpEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
            };
        };
        /**
         * End a session of the Model Context Protocol
         * @description Needs the scope ask or read, depending on the tool.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
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
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpRefusal"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openai/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: {
                    /** @description For the protocol openai-chat: whether a chunk with the usage precedes the end of the stream. */
                    include_usage?: boolean;
                };
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["OpenaiChatRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiCompletion"];
                        "text/event-stream": components["schemas"]["OpenaiChatEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Internal Server Error */
                500: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Bad Gateway */
                502: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Gateway Timeout */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
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
    "/openai/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Embed texts, for clients of OpenAI
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["OpenaiEmbeddingRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiEmbeddingList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Bad Gateway */
                502: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
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
    "/openai/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List models, for clients of OpenAI */
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
                        "application/json": components["schemas"]["OpenaiModelList"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
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
    "/openai/v1/models/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a model, for clients of OpenAI */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the model. */
                    model: string;
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
                        "application/json": components["schemas"]["OpenaiModel"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
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
    "/openai/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: {
                    /** @description For the protocol openai-responses: whether searches have their results. include[] is the same. */
                    include?: "file_search_call.results";
                };
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["OpenaiResponseRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiResponse"];
                        "text/event-stream": components["schemas"]["OpenaiResponsesEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
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
    "/openai/v1/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a stored response, or stream it
         * @description Needs the scope read, or ask for a run of the key's account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description The last event received, to resume a stream: its id, or its sequence_number if events have one. */
                    starting_after?: string;
                    /** @description Whether the reply is a stream. */
                    stream?: boolean;
                };
                header?: {
                    /** @description Id of the last event received, to resume a stream. */
                    "Last-Event-ID"?: string;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiResponse"];
                        "text/event-stream": components["schemas"]["OpenaiResponseEvent"] | components["schemas"]["OpenaiItemEvent"] | components["schemas"]["OpenaiCallEvent"] | components["schemas"]["OpenaiPartEvent"] | components["schemas"]["OpenaiTextDelta"] | components["schemas"]["OpenaiTextDone"] | components["schemas"]["OpenaiAnnotationAdded"] | components["schemas"]["OpenaiSummaryPart"] | components["schemas"]["OpenaiSummaryDelta"] | components["schemas"]["OpenaiSummaryDone"];
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
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /**
         * Delete a stored response
         * @description Needs the scope write.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["OpenaiDeleted"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openai/v1/responses/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a response
         * @description Needs the scope write, or ask for a run of the key's account.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["OpenaiResponse"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
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
    "/openai/v1/responses/{id}/input_items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the messages that a response was given
         * @description Needs the scope read, or ask for a run of the key's account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Id of an item. The list continues after it. */
                    after?: string;
                    limit?: number;
                    /** @description asc: the oldest item first. */
                    order?: "asc" | "desc";
                };
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["OpenaiInputItemList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OpenaiError"];
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
        /** Report whether the server accepts questions */
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
        /**
         * Cancel a run
         * @description Needs the scope write, or ask for a run of the key's account.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the run. */
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
                /** @description Unauthorized */
                401: {
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
        /**
         * Stream a live or finished run from any event on
         * @description Needs the scope read, or ask for a run of the key's account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description For the protocol turns: whether citations also follow the text that they refer to. */
                    citations?: "trailer" | "inline";
                    /** @description For the protocol openai-responses: whether searches have their results. include[] is the same. */
                    include?: "file_search_call.results";
                    /** @description For the protocol openai-chat: whether a chunk with the usage precedes the end of the stream. */
                    include_usage?: boolean;
                    /** @description For the protocol knowledge: whether each event has the whole response, or text is sent as deltas. */
                    mode?: "snapshot" | "delta";
                    /** @description For the protocol turns: number of bytes of the stream that were received, without compression. The stream continues after them. With POST, only together with Sluice-Run-Id. */
                    offset?: number;
                    /** @description Protocol of the stream. The default is the first one of the server. */
                    protocol?: string;
                    /** @description For the protocol knowledge: maximum rate of snapshots that only add text. */
                    snapshots_per_second?: number;
                    /** @description For the protocol anthropic: whether the message has the reasoning of models. */
                    thinking?: boolean;
                };
                header?: {
                    /** @description Id of the last event received. */
                    "Last-Event-ID"?: string;
                };
                path: {
                    /** @description Id of the run. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["ForgeEvent"] | components["schemas"]["KnowledgeEvent"] | components["schemas"]["RageventsEvent"] | components["schemas"]["OpenaiChatEvent"] | components["schemas"]["OpenaiResponsesEvent"] | components["schemas"]["UistreamEvent"] | components["schemas"]["AnthropicEvent"] | components["schemas"]["AguiEvent"] | components["schemas"]["A2aEvent"] | components["schemas"]["ForrstEvent"] | components["schemas"]["EventsEvent"];
                        "text/plain": components["schemas"]["TurnsEvent"];
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
                /** @description Unauthorized */
                401: {
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
    "/v1/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List files
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Id of an entry. The list continues after it. */
                    after?: string;
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
                        "application/json": components["schemas"]["KnowledgeFileList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Upload a file, or fetch it from a URL
         * @description Needs the scope write.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "multipart/form-data": components["schemas"]["FormDataKnowledgeUploadForm"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFile"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/files/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a file
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeFile"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /**
         * Delete a file
         * @description Needs the scope write.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeDeleted"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/{id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a file with its text
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Number of segments. */
                    limit?: number;
                    /** @description First segment, from 0. */
                    start_segment?: number;
                };
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeDocument"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Set fields of a file
         * @description Needs the scope write.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["KnowledgeUpdateRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeDocument"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/files/{id}/pages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show pages of a file's text
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Last page. 0 means the first page. */
                    end_page?: number;
                    /** @description First page, from 1. 0 means the first page too. */
                    start_page?: number;
                };
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgePages"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the models that a question may request; the first is the default */
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
                        "application/json": components["schemas"]["KnowledgeModelList"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/rag/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions, the last used one first
         * @description Needs the scope ask for sessions of the key's account, or read for sessions of any account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Account of the sessions; * lists those of all accounts. The default is the account of the key. */
                    account?: string;
                    /** @description Value of next of the previous page. */
                    after?: string;
                    archived?: "false" | "true" | "all";
                    limit?: number;
                    /** @description Words. The list has the sessions with all of them in the title or in one message. The last one may be the beginning of a word. */
                    q?: string;
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
                        "application/json": components["schemas"]["SessionsList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Create a session
         * @description Needs the scope ask. Sessions of other accounts are unknown.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["SessionsCreateRequest"];
                };
            };
            responses: {
                /** @description Created */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionsSession"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
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
    "/v1/rag/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a session
         * @description Needs the scope ask for sessions of the key's account, or read for sessions of any account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Account of the session. The default is the account of the key. */
                    account?: string;
                };
                header?: never;
                path: {
                    /** @description Id of the session. */
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
                        "application/json": components["schemas"]["SessionsSession"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /**
         * Delete a session, and its runs
         * @description Needs the scope ask for sessions of the key's account, or write for sessions of any account.
         */
        delete: {
            parameters: {
                query?: {
                    /** @description Account of the session. The default is the account of the key. */
                    account?: string;
                    /** @description What happens to the runs of the session. */
                    runs?: "delete" | "keep";
                };
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
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
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        /**
         * Rename or archive a session, or select its active branch
         * @description Needs the scope ask. Sessions of other accounts are unknown.
         */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["SessionsChangeRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionsSession"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/v1/rag/sessions/{id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a session as Markdown or JSON
         * @description Needs the scope ask for sessions of the key's account, or read for sessions of any account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Account of the session. The default is the account of the key. */
                    account?: string;
                    /** @description markdown: the active branch. json: all branches. */
                    format?: "markdown" | "json";
                };
                header?: never;
                path: {
                    /** @description Id of the session. */
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
                        "application/json": components["schemas"]["SessionsExport"];
                        "text/markdown": string;
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
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
    "/v1/rag/sessions/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the newest messages of a branch, the oldest of them first
         * @description Needs the scope ask for sessions of the key's account, or read for sessions of any account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Account of the session. The default is the account of the key. */
                    account?: string;
                    /** @description Id of a message. The page ends before it. */
                    before?: string;
                    /** @description Id of the last message of a branch. The default is the head of the session. */
                    last?: string;
                    limit?: number;
                };
                header?: never;
                path: {
                    /** @description Id of the session. */
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
                        "application/json": components["schemas"]["SessionsMessages"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Answer a question with one object
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                };
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["TurnsRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsAnswer"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Internal Server Error */
                500: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsAnswer"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
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
    "/v1/rag/sessions/{id}/messages/{message}/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Rate an answer
         * @description Needs the scope ask. Sessions of other accounts are unknown.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                    /** @description Id of an answer. */
                    message: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["SessionsRateRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionsFeedback"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
            };
        };
        post?: never;
        /**
         * Remove the rating of an answer
         * @description Needs the scope ask. Sessions of other accounts are unknown.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description Id of the session. */
                    id: string;
                    /** @description Id of an answer. */
                    message: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description No Content */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rag/sessions/{id}/messages/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: {
                    /** @description For the protocol turns: whether citations also follow the text that they refer to. */
                    citations?: "trailer" | "inline";
                    /** @description For the protocol turns: number of bytes of the stream that were received, without compression. The stream continues after them. With POST, only together with Sluice-Run-Id. */
                    offset?: number;
                };
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                };
                path: {
                    /** @description Id of the session. */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["TurnsRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": components["schemas"]["TurnsEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Internal Server Error */
                500: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsAnswer"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TurnsFault"];
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
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List stored responses, newest first
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Id of an entry. The list continues after it. */
                    after?: string;
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
                        "application/json": components["schemas"]["KnowledgeResponseList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Answer a question and stream every step
         * @description Needs the scope ask.
         */
        post: {
            parameters: {
                query?: {
                    /** @description For the protocol knowledge: whether each event has the whole response, or text is sent as deltas. */
                    mode?: "snapshot" | "delta";
                    /** @description For the protocol knowledge: maximum rate of snapshots that only add text. */
                    snapshots_per_second?: number;
                };
                header?: {
                    /** @description A random text. Requests of one sender with the same value, path and body within 24 hours have one run. */
                    "Idempotency-Key"?: string;
                    /** @description With Sluice-Run-Id: continue after this event. */
                    "Last-Event-ID"?: string;
                    /** @description Run to resume. Only the streaming options of the body are used. */
                    "Sluice-Run-Id"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["KnowledgeRequest"];
                };
            };
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeResponse"];
                        "text/event-stream": components["schemas"]["KnowledgeEvent"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Payment Required */
                402: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unprocessable Entity */
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Too Many Requests */
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a stored response, or stream it
         * @description Needs the scope read, or ask for a run of the key's account.
         */
        get: {
            parameters: {
                query?: {
                    /** @description The last event received, to resume a stream: its id, or its sequence_number if events have one. */
                    starting_after?: string;
                    /** @description Whether the reply is a stream. */
                    stream?: boolean;
                };
                header?: {
                    /** @description Id of the last event received, to resume a stream. */
                    "Last-Event-ID"?: string;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeResponse"];
                        "text/event-stream": components["schemas"]["KnowledgeResponse"] | components["schemas"]["KnowledgeTextDelta"] | components["schemas"]["KnowledgeReasoningDelta"] | components["schemas"]["KnowledgeAnnotationAdded"] | components["schemas"]["KnowledgeDone"];
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
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /**
         * Delete a stored response
         * @description Needs the scope write.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeDeleted"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a response
         * @description Needs the scope write, or ask for a run of the key's account.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeResponse"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/serverstatus": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the status of the server */
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
                        "application/json": components["schemas"]["KnowledgeServerStatus"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/serverstatus/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Report whether the server is healthy */
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
                        "application/json": components["schemas"]["KnowledgeServerHealth"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Service Unavailable */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a background task
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeTask"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/vector_stores": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List vector stores
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Id of an entry. The list continues after it. */
                    after?: string;
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
                        "application/json": components["schemas"]["KnowledgeVectorStoreList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Create a vector store
         * @description Needs the scope write.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["KnowledgeVectorStoreRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeVectorStore"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Conflict */
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/vector_stores/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a vector store
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeVectorStore"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Change a vector store, and add or remove files
         * @description Needs the scope write.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["KnowledgeStoreUpdate"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeVectorStore"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        /**
         * Delete a vector store, but not its files
         * @description Needs the scope write.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeDeleted"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Insufficient Storage */
                507: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vector_stores/{id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the files of a vector store
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Id of an entry. The list continues after it. */
                    after?: string;
                    limit?: number;
                };
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeFileList"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/vector_stores/{id}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search a vector store
         * @description Needs the scope read.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["KnowledgeSearchRequest"];
                };
            };
            responses: {
                /** @description OK */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeSearchPage"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Request Entity Too Large */
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unsupported Media Type */
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
    "/v1/vector_stores/{id}/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Summarize a vector store
         * @description Needs the scope read.
         */
        get: {
            parameters: {
                query?: {
                    max_tokens?: number;
                    /** @description Ignored. The summary consists of sentences of the documents. */
                    model?: string;
                };
                header?: never;
                path: {
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
                        "application/json": components["schemas"]["KnowledgeVectorStoreSummary"];
                    };
                };
                /** @description Bad Request */
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Unauthorized */
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Forbidden */
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
                    };
                };
                /** @description Not Found */
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KnowledgeFault"];
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
        A2AArtifact: {
            /** @enum {string} */
            artifactId: "answer";
            name?: string;
            parts: components["schemas"]["A2APart"][];
        };
        A2AArtifactUpdate: {
            append?: boolean;
            artifact: components["schemas"]["A2AArtifact"];
            contextId: string;
            lastChunk?: boolean;
            taskId: string;
        };
        A2ACall: {
            /** @description A string or a number. */
            id?: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
            /** @enum {string} */
            method: "SendMessage" | "SendStreamingMessage" | "GetTask" | "CancelTask" | "SubscribeToTask";
            /** @description An object: the message of the protocol whose name is that of the method with Request. */
            params?: unknown;
        };
        A2ACapabilities: {
            extendedAgentCard: boolean;
            pushNotifications: boolean;
            streaming: boolean;
        };
        A2ACard: {
            capabilities: components["schemas"]["A2ACapabilities"];
            defaultInputModes: string[];
            defaultOutputModes: string[];
            description: string;
            name: string;
            securityRequirements?: components["schemas"]["A2ARequirement"][];
            /** @description If requests need a key. */
            securitySchemes?: {
                [key: string]: components["schemas"]["A2ASecurityScheme"];
            };
            skills: components["schemas"]["A2ASkill"][];
            supportedInterfaces: components["schemas"]["A2AInterface"][];
            version: string;
        };
        A2ADetail: {
            "@type": string;
            /** @enum {string} */
            domain: "a2a-protocol.org" | "sluice";
            /** @description field is the part of the request that is invalid. */
            metadata?: {
                [key: string]: string;
            };
            /** @description A code of the protocol, or one of the server. */
            reason: string;
        };
        A2AErrorObject: {
            code: number;
            data?: components["schemas"]["A2ADetail"][];
            message: string;
        };
        A2aEvent: components["schemas"]["A2AFrame"];
        A2AFrame: {
            /** @description That of the request, or null if the stream has none of this protocol. */
            id: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
            result: components["schemas"]["A2AStreamResponse"];
        };
        A2AHTTPScheme: {
            description: string;
            /** @enum {string} */
            scheme: "Bearer";
        };
        A2AInterface: {
            /** @enum {string} */
            protocolBinding: "JSONRPC";
            /** @enum {string} */
            protocolVersion: "1.0";
            url: string;
        };
        A2AMessage: {
            contextId: string;
            messageId: string;
            parts: components["schemas"]["A2APart"][];
            /** @enum {string} */
            role: "ROLE_AGENT";
            taskId: string;
        };
        A2AMetadata: {
            sluice: components["schemas"]["A2AOutcome"];
        };
        A2AOutcome: {
            /** @description Balance of the account after it. */
            balanceMicroCredits?: number;
            /** @description Requests to models. */
            calls?: number;
            /** @description Code of the error. */
            code?: string;
            /** @description A provider did not report the tokens of some calls. */
            estimated?: boolean;
            /** @description What the account was charged, in millionths of a credit. */
            feeMicroCredits?: number;
            inputTokens?: number;
            models?: string[];
            outputTokens?: number;
            /** @description Why the text of the answer ended: stop, length, filtered or incomplete. */
            stop?: string;
        };
        A2APart: {
            /** @description What supports the answer, or what a step has found. */
            data?: unknown;
            mediaType?: string;
            text?: string;
        };
        A2ARefusal: {
            error: components["schemas"]["A2AErrorObject"] | null;
            /** @description null */
            id: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
        };
        A2ARequirement: {
            schemes: {
                [key: string]: components["schemas"]["A2AScopes"];
            };
        };
        A2AResponse: {
            error?: components["schemas"]["A2AErrorObject"];
            id: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
            /** @description The task, for SendMessage in an object as its member task. */
            result?: unknown;
        };
        A2AScopes: {
            list?: string[];
        };
        A2ASecurityScheme: {
            httpAuthSecurityScheme: components["schemas"]["A2AHTTPScheme"];
        };
        A2ASkill: {
            description: string;
            examples: string[];
            id: string;
            name: string;
            tags: string[];
        };
        A2AStatus: {
            /** @description The step that begins or has ended, or why the task failed. */
            message?: components["schemas"]["A2AMessage"];
            /** @enum {string} */
            state: "TASK_STATE_WORKING" | "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" | "TASK_STATE_CANCELED";
            timestamp: string;
        };
        A2AStatusUpdate: {
            contextId: string;
            metadata?: components["schemas"]["A2AMetadata"];
            status: components["schemas"]["A2AStatus"];
            taskId: string;
        };
        A2AStreamResponse: {
            artifactUpdate?: components["schemas"]["A2AArtifactUpdate"];
            statusUpdate?: components["schemas"]["A2AStatusUpdate"];
            task?: components["schemas"]["A2ATask"];
        };
        A2ATask: {
            /** @description The answer, once it has begun. */
            artifacts?: components["schemas"]["A2AArtifact"][];
            /** @description Id of the session; that of the run if it has no session. */
            contextId: string;
            /** @description Id of the run. It can be read in any protocol. */
            id: string;
            metadata?: components["schemas"]["A2AMetadata"];
            status: components["schemas"]["A2AStatus"];
        };
        AccessLogin: {
            /** @description An API key. */
            key: string;
        };
        AccessMethods: {
            /** @description Whether somebody can log in with a key: the server has one. */
            key: boolean;
            /** @description The OpenID provider. It is missing if there is none. */
            oidc?: components["schemas"]["AccessOIDCInfo"];
        };
        AccessOIDCInfo: {
            /** @description Name of the provider, for people. */
            name: string;
        };
        AccessSessionInfo: {
            account: string;
            /** @description The collections that questions may search. It is missing if they may search all. */
            collections?: string[];
            /** @description Public id of the key, or oidc- and an id of the settings for a login without one. It is missing while the server needs no login. */
            key?: string;
            /** @description What the key permits. The scope admin includes the others. */
            scopes: string[];
            tenant: string;
        };
        AccountsAccount: {
            account: string;
            /** @description The balance without what is held. */
            available: string;
            /** @description Credits, as a decimal with at most 6 decimals. */
            balance: string;
            /** @description Part of the balance that runs in progress may cost. */
            held: string;
        };
        AccountsEntry: {
            /** @description Credits added to the balance; below zero if the account paid. */
            amount: string;
            /** @description After the entry. */
            balance: string;
            /** @description Credits added to what is held. */
            held: string;
            /** @enum {string} */
            kind: "credit" | "transfer" | "hold" | "charge" | "void" | "refund";
            note?: string;
            run_id?: string;
            /** Format: date-time */
            time: string;
            /** @description Id of the transfer. */
            transfer: string;
        };
        AccountsStatement: {
            account: string;
            entries: components["schemas"]["AccountsEntry"][];
            /** @description Value of the parameter before for the next page. */
            next?: string;
        };
        AccountsUsage: {
            /**
             * Format: int64
             * @description Part of runs that was answered from the cache.
             */
            cached_runs: number;
            collection?: string;
            /** @description In UTC. */
            day?: string;
            /** @description Part of the fee that contributors earned. */
            distributed: string;
            /** Format: int64 */
            duration_ms: number;
            /** @description Credits that the account paid. */
            fee: string;
            /** Format: int64 */
            input_tokens: number;
            model?: string;
            /** Format: int64 */
            output_tokens: number;
            /** Format: int64 */
            runs: number;
        };
        AccountsUsageList: {
            usage: components["schemas"]["AccountsUsage"][];
        };
        AdminAccount: {
            account: string;
            available: string;
            balance: string;
            /** @description Part of the balance that runs in progress may cost. */
            held: string;
        };
        AdminAccountList: {
            accounts: components["schemas"]["AdminAccount"][];
            /** @description Value of the parameter after for the next page. */
            next?: string;
        };
        AdminEvaluationList: {
            evaluations: components["schemas"]["SummaryEvaluation"][];
        };
        AdminKeyList: {
            keys: components["schemas"]["AuthKey"][];
        };
        AdminKeyRequest: {
            /** @description Account that asks and pays. The default is that of the sender. A key with collections needs another one. */
            account?: string;
            /** @description Collections that questions with the key may search, for a key that can be public. The default is all. */
            collections?: string[];
            /**
             * Format: date-time
             * @description When the key ends. The default is never.
             */
            expires?: string;
            /** @description What the key is for. */
            name?: string;
            /** @description Origins of web pages on other hosts that may use the key. */
            origins?: string[];
            /** @description Limit of questions, such as 1000/day. */
            quota?: string;
            /** @description Limit of requests, such as 60/m. */
            rate?: string;
            /**
             * @description What the key permits. The sender needs these scopes.
             * @enum {array}
             */
            scopes: "ask" | "read" | "write" | "admin" | "tenants";
        };
        AdminPrice: {
            /** @description For an answer. */
            base: string;
            /** @description For a million input tokens. */
            input: string;
            /** @description Name of the model, in which * stands for any text; or default, cached or byok. */
            name: string;
            /** @description For a million output tokens. */
            output: string;
            /** @description For a second. */
            second: string;
        };
        AdminPriceList: {
            /** @description Share of a fee that the contributors of the documents earn. */
            distributed_percent: number;
            /** @description Empty: answers are free. */
            prices: components["schemas"]["AdminPrice"][];
        };
        AdminRotateRequest: {
            /**
             * Format: int64
             * @description How long the old secret stays valid. The default is 0.
             */
            overlap_seconds?: number;
        };
        AdminSecret: {
            account: string;
            collections?: string[];
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires?: string;
            id: string;
            /** @description The key as it is sent by clients. It is shown only once. */
            key: string;
            name?: string;
            origins?: string[];
            quota?: components["schemas"]["AuthLimit"];
            rate?: components["schemas"]["AuthLimit"];
            /** Format: date-time */
            revoked?: string;
            scopes: string[];
            tenant: string;
            /** Format: date-time */
            used?: string;
        };
        AdminTenant: {
            /**
             * Format: int64
             * @description Size of its files.
             */
            bytes: number;
            /**
             * Format: date-time
             * @description When its folder or its first key was made, if that is known.
             */
            created?: string;
            /** @description Valid keys. */
            keys: number;
            /** @description Questions that are being answered. */
            live_runs: number;
            /** @description The server has its data open. */
            open: boolean;
            /** @description The sender belongs to it, so it cannot be deleted. */
            own?: boolean;
            tenant: string;
            /**
             * Format: date-time
             * @description When one of its keys was used last, to the minute.
             */
            used?: string;
        };
        AdminTenantList: {
            /** @description Value of the parameter after for the next page. */
            next?: string;
            tenants: components["schemas"]["AdminTenant"][];
        };
        AdminTenantRequest: {
            /** @description Account of the first key. The default is owner. */
            account?: string;
            /**
             * Format: date-time
             * @description When the first key ends. The default is never.
             */
            expires?: string;
            /**
             * @description What the first key permits. The default is admin.
             * @enum {array}
             */
            scopes?: "ask" | "read" | "write" | "admin";
            /** @description 1 to 64 lower-case letters, digits and dashes that begin with a letter or digit. */
            tenant: string;
        };
        AguiActivityDelta: {
            /** @enum {string} */
            activityType: "grading";
            messageId: string;
            patch: components["schemas"]["AguiOperation"][];
            /** @enum {string} */
            type: "ACTIVITY_DELTA";
        };
        AguiActivitySnapshot: {
            /** @enum {string} */
            activityType: "grading" | "reranking" | "verification";
            /** @description Grading, Reranking or Verification, by the type. */
            content: unknown;
            messageId: string;
            /** @enum {string} */
            type: "ACTIVITY_SNAPSHOT";
        };
        AguiCitation: {
            /** @description End of the part. */
            end: number;
            /** @description Number of the source. */
            n: number;
            /** @description Start of the part in the text, in UTF-16 code units: an index of a string of JavaScript. */
            start: number;
        };
        AguiContext: {
            description: string;
            value: string;
        };
        AguiEvent: components["schemas"]["AguiRunStarted"] | components["schemas"]["AguiRunFinished"] | components["schemas"]["AguiRunError"] | components["schemas"]["AguiStep"] | components["schemas"]["AguiTextStart"] | components["schemas"]["AguiTextContent"] | components["schemas"]["AguiTextEnd"] | components["schemas"]["AguiReasoningStart"] | components["schemas"]["AguiReasoning"] | components["schemas"]["AguiReasoningContent"] | components["schemas"]["AguiToolCallStart"] | components["schemas"]["AguiToolCallArgs"] | components["schemas"]["AguiToolCallEnd"] | components["schemas"]["AguiToolCallResult"] | components["schemas"]["AguiStateSnapshot"] | components["schemas"]["AguiStateDelta"] | components["schemas"]["AguiActivitySnapshot"] | components["schemas"]["AguiActivityDelta"];
        AguiFault: {
            code: string;
            field?: string;
            message: string;
            /** @enum {string} */
            type: "RUN_ERROR";
        };
        AguiMessage: {
            /** @description A string, or a list of parts for the role user. The question only has parts with the type text. */
            content?: unknown;
            /** @enum {string} */
            role: "developer" | "system" | "assistant" | "user" | "tool" | "activity" | "reasoning";
        };
        AguiOperation: {
            /** @enum {string} */
            op: "add" | "replace";
            /** @description A JSON Pointer (RFC 6901). */
            path: string;
            value: unknown;
        };
        AguiOutcome: {
            /** @enum {string} */
            type: "success";
        };
        AguiProps: {
            /** @description Collection to search, or another scope. */
            collection?: string;
            /**
             * @description Method of answering.
             * @default agentic
             * @enum {string}
             */
            mode?: "agentic" | "direct";
            /** @description Model that writes the answer. An unknown name selects the default model. */
            model?: string;
            /** @description The answer does not come from the cache. */
            noCache?: boolean;
        };
        AguiReasoning: {
            messageId: string;
            /** @enum {string} */
            type: "REASONING_START" | "REASONING_MESSAGE_END" | "REASONING_END";
        };
        AguiReasoningContent: {
            delta: string;
            messageId: string;
            /** @enum {string} */
            type: "REASONING_MESSAGE_CONTENT";
        };
        AguiReasoningStart: {
            messageId: string;
            /** @enum {string} */
            role: "reasoning";
            /** @enum {string} */
            type: "REASONING_MESSAGE_START";
        };
        AguiRequest: {
            /** @description Instructions, after those of the messages. */
            context?: components["schemas"]["AguiContext"][];
            forwardedProps?: components["schemas"]["AguiProps"];
            /** @description The last message with the role user is the question, and earlier ones are the history. Messages with the roles system and developer are instructions. */
            messages: components["schemas"]["AguiMessage"][];
            /** @description Must be empty: runs are not interrupted. */
            resume?: unknown[];
            /** @description Ignored: the server gives the run an id of its own, which is in RUN_STARTED. */
            runId?: unknown;
            /** @description Ignored: each run begins with a state of its own. */
            state?: unknown;
            /** @description Id of the thread. It is the session of the question, and resumes the stream. */
            threadId?: string;
            /** @description Ignored: the server calls no tools of the client. */
            tools?: unknown;
        };
        AguiResult: {
            /**
             * @description Why the text ended.
             * @enum {string}
             */
            finishReason: "stop" | "length" | "content-filter" | "other";
            /** @description Id of the answer, also in its session. */
            messageId: string;
        };
        AguiRunError: {
            code: string;
            message: string;
            /** Format: int64 */
            timestamp: number;
            /** @enum {string} */
            type: "RUN_ERROR";
            usage?: components["schemas"]["AguiTokenUsage"][];
        };
        AguiRunFinished: {
            outcome: components["schemas"]["AguiOutcome"];
            result: components["schemas"]["AguiResult"];
            runId: string;
            threadId: string;
            /** Format: int64 */
            timestamp: number;
            /** @enum {string} */
            type: "RUN_FINISHED";
            /** @description Of each model that was called. */
            usage?: components["schemas"]["AguiTokenUsage"][];
        };
        AguiRunStarted: {
            /** @enum {string} */
            protocolVersion: "1.0";
            /** @description Id that the server gave the run. The run can be read in any protocol by it. */
            runId: string;
            /** @description The session of the question; the id of the run if it has none. */
            threadId: string;
            /** Format: int64 */
            timestamp: number;
            /** @enum {string} */
            type: "RUN_STARTED";
        };
        AguiSource: {
            chunkId: string;
            documentId: string;
            heading?: string;
            /** @description Number of the source, from 1. */
            n: number;
            /** @description Name of the file. */
            name?: string;
            pages?: number[];
            /** @description The sentence that supports the first citation, or the beginning of the passage. */
            quote?: string;
            /**
             * Format: double
             * @description Relevance to the question, 0 to 1.
             */
            score: number;
            title: string;
            /** @description Where a browser can open the document. */
            url?: string;
        };
        AguiState: {
            /** @description In the order of the text. */
            citations: components["schemas"]["AguiCitation"][];
            confidence?: components["schemas"]["WireConfidence"];
            /** @description Left out if no model was called and nothing was charged. */
            cost?: components["schemas"]["WireCost"];
            runId: string;
            /** @description The cited sources, in the order of their first citations. */
            sources: components["schemas"]["AguiSource"][];
            /** @enum {string} */
            stage: "analyze" | "retrieve" | "generate" | "verify" | "finished" | "failed" | "cancelled";
        };
        AguiStateDelta: {
            delta: components["schemas"]["AguiOperation"][];
            /** @enum {string} */
            type: "STATE_DELTA";
        };
        AguiStateSnapshot: {
            snapshot: components["schemas"]["AguiState"];
            /** @enum {string} */
            type: "STATE_SNAPSHOT";
        };
        AguiStep: {
            /** @enum {string} */
            stepName: "analyze" | "retrieve" | "generate" | "verify";
            /** @enum {string} */
            type: "STEP_STARTED" | "STEP_FINISHED";
        };
        AguiTextContent: {
            delta: string;
            messageId: string;
            /** @enum {string} */
            type: "TEXT_MESSAGE_CONTENT";
        };
        AguiTextEnd: {
            messageId: string;
            /** @enum {string} */
            type: "TEXT_MESSAGE_END";
        };
        AguiTextStart: {
            /** @description Id of the answer, also in its session. */
            messageId: string;
            /** @enum {string} */
            role: "assistant";
            /** @enum {string} */
            type: "TEXT_MESSAGE_START";
        };
        AguiTokenUsage: {
            inputTokens: number;
            model: string;
            outputTokens: number;
            totalTokens: number;
        };
        AguiToolCallArgs: {
            /** @description The whole input, as the JSON text of an object. */
            delta: string;
            toolCallId: string;
            /** @enum {string} */
            type: "TOOL_CALL_ARGS";
        };
        AguiToolCallEnd: {
            toolCallId: string;
            /** @enum {string} */
            type: "TOOL_CALL_END";
        };
        AguiToolCallResult: {
            /** @description The JSON text of an object: the passages of a search, the result of another tool, or an error. */
            content: string;
            messageId: string;
            /** @enum {string} */
            role: "tool";
            toolCallId: string;
            /** @enum {string} */
            type: "TOOL_CALL_RESULT";
        };
        AguiToolCallStart: {
            /** @description The message with all tool calls of the run. */
            parentMessageId: string;
            toolCallId: string;
            toolCallName: string;
            /** @enum {string} */
            type: "TOOL_CALL_START";
        };
        AnthropicBlockStop: {
            index: number;
            /** @enum {string} */
            type: "content_block_stop";
        };
        AnthropicCitation: {
            /** @description The sentence, or the passage if the sentence is not known. */
            cited_text: string;
            /** @description start_block_index + 1 */
            end_block_index: number;
            /** @description Number of the source, from 0. */
            search_result_index: number;
            /** @description URL of the document, or else the path of its file, or its id. */
            source: string;
            /** @description Number of the sentence among those of the source that the answer cites, from 0, in the order of their first citations. */
            start_block_index: number;
            title: string;
            /** @enum {string} */
            type: "search_result_location";
        };
        AnthropicCitationsDelta: {
            delta: {
                citation: components["schemas"]["AnthropicCitation"];
                /** @enum {string} */
                type: "citations_delta";
            };
            index: number;
            /** @enum {string} */
            type: "content_block_delta";
        };
        AnthropicCounts: {
            /** @description Always null. */
            cache_creation_input_tokens: null | number;
            cache_read_input_tokens: null | number;
            /** @description Without those that were read from the cache of a provider. */
            input_tokens: number;
            output_tokens: number;
            output_tokens_details: components["schemas"]["AnthropicOutputDetails"] | null;
            /** @description Always null. */
            server_tool_use: Record<string, never> | null;
        };
        AnthropicError: {
            error: components["schemas"]["AnthropicErrorBody"];
            /** @description Id of the run; null if none was started. */
            request_id: null | string;
            /** @enum {string} */
            type: "error";
        };
        AnthropicErrorBody: {
            /** @description Begins with the path of the invalid field, such as messages.1.content.0.type. */
            message: string;
            /** @enum {string} */
            type: "invalid_request_error" | "authentication_error" | "billing_error" | "permission_error" | "not_found_error" | "rate_limit_error" | "timeout_error" | "overloaded_error" | "api_error";
        };
        AnthropicEvent: components["schemas"]["AnthropicMessageStart"] | components["schemas"]["AnthropicTextStart"] | components["schemas"]["AnthropicThinkingStart"] | components["schemas"]["AnthropicTextDelta"] | components["schemas"]["AnthropicThinkingDelta"] | components["schemas"]["AnthropicCitationsDelta"] | components["schemas"]["AnthropicBlockStop"] | components["schemas"]["AnthropicMessageDelta"] | components["schemas"]["AnthropicMessageStop"] | components["schemas"]["AnthropicPing"] | components["schemas"]["AnthropicError"];
        AnthropicInputMessage: {
            /** @description Text, or a list of content blocks with type. The question only has blocks with text; other blocks are left out of the history. */
            content: unknown;
            /** @enum {string} */
            role: "user" | "assistant" | "system";
        };
        AnthropicMessage: {
            container: Record<string, never> | null;
            /** @description TextBlock, and ThinkingBlock if the request enables thinking. The texts joined without a separator are the answer. */
            content: unknown[];
            diagnostics: Record<string, never> | null;
            /** @description Id of the run. */
            id: string;
            /** @description As requested. */
            model: string;
            /** @enum {string} */
            role: "assistant";
            stop_details: Record<string, never> | null;
            /** @description end_turn, max_tokens or refusal; null at the beginning of a stream. */
            stop_reason: null | string;
            /** @description Always null, as container, diagnostics and stop_details. */
            stop_sequence: null | string;
            /** @enum {string} */
            type: "message";
            usage: components["schemas"]["AnthropicUsage"];
        };
        AnthropicMessageDelta: {
            delta: components["schemas"]["AnthropicStop"];
            /** @enum {string} */
            type: "message_delta";
            usage: components["schemas"]["AnthropicCounts"];
        };
        AnthropicMessageStart: {
            message: components["schemas"]["AnthropicMessage"];
            /** @enum {string} */
            type: "message_start";
        };
        AnthropicMessageStop: {
            /** @enum {string} */
            type: "message_stop";
        };
        AnthropicModel: {
            capabilities: Record<string, never> | null;
            /**
             * Format: date-time
             * @description Always 1970-01-01T00:00:00Z: it is not known.
             */
            created_at: string;
            deprecated_at: null | string;
            display_name: string;
            /** @description Value of model in a request. */
            id: string;
            /** @enum {string} */
            lifecycle: "active";
            line: null | string;
            max_input_tokens: null | number;
            max_tokens: null | number;
            retires_at: null | string;
            /** @enum {string} */
            type: "model";
        };
        AnthropicModelList: {
            data: components["schemas"]["AnthropicModel"][];
            first_id: null | string;
            has_more: boolean;
            last_id: null | string;
        };
        AnthropicOutputConfig: {
            /** @description Not supported: the answer is text. */
            format?: Record<string, never>;
        };
        AnthropicOutputDetails: {
            thinking_tokens: number;
        };
        AnthropicPing: {
            /** @enum {string} */
            type: "ping";
        };
        AnthropicRequest: {
            /** @description Collection to search, or another scope. Not a field of Anthropic. */
            collection?: string;
            /** @description Limit of the answer; default: that of the model. Rules, which answer without a model, ignore it. */
            max_tokens?: number;
            /** @description The last message is the question and has the role user. The messages before it are the history. Messages with the role system are instructions. */
            messages: components["schemas"]["AnthropicInputMessage"][];
            /** @description sluice, sluice-agentic or sluice-direct, with a collection after a slash if wanted, such as sluice-direct/manuals; or the name of a model that writes the answer. An unknown name selects the default model. */
            model?: string;
            output_config?: components["schemas"]["AnthropicOutputConfig"];
            /** @description Whether the reply is a stream. */
            stream?: boolean;
            /** @description Instructions: text, or a list of text blocks. */
            system?: unknown;
            temperature?: number;
            thinking?: components["schemas"]["AnthropicThinking"];
            tool_choice?: components["schemas"]["AnthropicToolChoice"];
        };
        AnthropicStop: {
            container: Record<string, never> | null;
            stop_details: Record<string, never> | null;
            /** @enum {string} */
            stop_reason: "end_turn" | "max_tokens" | "refusal";
            /** @description Always null, as stop_details and container. */
            stop_sequence: null | string;
        };
        AnthropicTextBlock: {
            citations: components["schemas"]["AnthropicCitation"][];
            text: string;
            /** @enum {string} */
            type: "text";
        };
        AnthropicTextDelta: {
            delta: {
                text: string;
                /** @enum {string} */
                type: "text_delta";
            };
            index: number;
            /** @enum {string} */
            type: "content_block_delta";
        };
        AnthropicTextStart: {
            content_block: components["schemas"]["AnthropicTextBlock"];
            index: number;
            /** @enum {string} */
            type: "content_block_start";
        };
        AnthropicThinking: {
            /** @description omitted: it has not. */
            display?: string;
            /** @description enabled and adaptive: it has; other types: it has not. */
            type: string;
        };
        AnthropicThinkingBlock: {
            /** @description Always empty. */
            signature: string;
            thinking: string;
            /** @enum {string} */
            type: "thinking";
        };
        AnthropicThinkingDelta: {
            delta: {
                thinking: string;
                /** @enum {string} */
                type: "thinking_delta";
            };
            index: number;
            /** @enum {string} */
            type: "content_block_delta";
        };
        AnthropicThinkingStart: {
            content_block: components["schemas"]["AnthropicThinkingBlock"];
            index: number;
            /** @enum {string} */
            type: "content_block_start";
        };
        AnthropicToolChoice: {
            /** @enum {string} */
            type: "auto" | "none";
        };
        AnthropicUsage: {
            cache_creation: Record<string, never> | null;
            /** @description Always null. */
            cache_creation_input_tokens: null | number;
            cache_read_input_tokens: null | number;
            inference_geo: null | string;
            /** @description Without those that were read from the cache of a provider. */
            input_tokens: number;
            output_tokens: number;
            output_tokens_details: components["schemas"]["AnthropicOutputDetails"] | null;
            /** @description Always null. */
            server_tool_use: Record<string, never> | null;
            service_tier: null | string;
            speed: null | string;
        };
        AuthKey: {
            account: string;
            collections?: string[];
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires?: string;
            id: string;
            name?: string;
            origins?: string[];
            quota?: components["schemas"]["AuthLimit"];
            rate?: components["schemas"]["AuthLimit"];
            /** Format: date-time */
            revoked?: string;
            scopes: string[];
            tenant: string;
            /** Format: date-time */
            used?: string;
        };
        AuthLimit: Record<string, never>;
        DocumentsDocumentList: {
            documents: components["schemas"]["DocumentsListedDocument"][];
            /** @description Documents by status, without the filter of the status. */
            statuses: {
                [key: string]: number;
            };
            /** @description Documents on all pages. */
            total: number;
            /** @description Documents by media type, without the filter of the type. */
            types: {
                [key: string]: number;
            };
        };
        DocumentsDocumentPassage: {
            chunk_id: string;
            end: number;
            /** @description The headings above it, outermost first. */
            headings: string[];
            /** @description From 0. */
            number: number;
            pages?: number[];
            /** @description Byte offsets into the document's extracted text. */
            start: number;
            text: string;
        };
        DocumentsDocumentSection: {
            /** @description Of the text under the heading. */
            chunk_id: string;
            /** @description From 1. */
            depth: number;
            heading: string;
            /** @description Where it begins. */
            page?: number;
        };
        DocumentsDocumentText: {
            end: number;
            /** @description Number of the first passage. */
            from: number;
            /** @description There are more passages. */
            more: boolean;
            passages: components["schemas"]["DocumentsDocumentPassage"][];
            /** @description Where the requested chunk begins and ends: byte offsets into the document's extracted text. Both are 0 without one. */
            start: number;
        };
        DocumentsDocumentView: {
            /** Format: date-time */
            added: string;
            /** Format: int64 */
            bytes: number;
            /** @description Vector stores that the document is in, or its folder's collection. */
            collections: string[];
            /** @description What users set and, where that is empty, what the file states. */
            dublin_core?: components["schemas"]["WireDublinCore"];
            /** @description Why the file could not be read. */
            error?: string;
            /** @description Collection of a document from a folder of the server, which can only be changed there. */
            folder?: string;
            /** @description The part of it that users set. */
            given?: components["schemas"]["WireDublinCore"];
            id: string;
            /** @description Attributes that users set for the source of the document. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Name of the file. */
            name: string;
            /** @description The bytes of the file can be downloaded, unless they have changed in its folder. */
            original: boolean;
            /** @description The headings in their order; at most 2,000. */
            outline: components["schemas"]["DocumentsDocumentSection"][];
            pages?: number;
            /** @description Path of a document from a folder of the server. */
            path?: string;
            /** @enum {string} */
            status: "waiting" | "reading" | "ready" | "failed";
            title: string;
            /** @description Media type. */
            type: string;
        };
        DocumentsListedDocument: {
            /** Format: date-time */
            added: string;
            /** Format: int64 */
            bytes: number;
            /** @description Why the file could not be read. */
            error?: string;
            /** @description Collection of a document from a folder of the server, which can only be changed there. */
            folder?: string;
            id: string;
            /** @description Name of the file. */
            name: string;
            pages?: number;
            /** @description Path of a document from a folder of the server. */
            path?: string;
            /** @enum {string} */
            status: "waiting" | "reading" | "ready" | "failed";
            title: string;
            /** @description Media type. */
            type: string;
        };
        DocumentsSuggestions: {
            /** @description At most 6. Empty if no question is answered well. */
            questions: string[];
        };
        /** Format: int64 */
        EventMillis: number;
        EventsEvent: {
            /** Format: date-time */
            at: string;
            body: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            kind: "run_started" | "history_summarized" | "query_analyzed" | "cache_checked" | "tool_called" | "tool_returned" | "retrieval_started" | "retrieval_finished" | "graded" | "reranked" | "generation_started" | "reasoned" | "token" | "cited" | "generation_finished" | "verified" | "attributed" | "settled" | "model_used" | "warned" | "run_finished" | "run_failed";
            seq: number;
        };
        FilterFilter: {
            /** @description For and and or: the filters that are joined. */
            filters?: components["schemas"]["FilterFilter"][];
            /** @description Attribute that is compared. */
            key?: string;
            /**
             * @description Comparison, or and, or.
             * @enum {string}
             */
            type: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "nin" | "contains" | "starts_with" | "and" | "or";
            /** @description A text, a number or a truth value; for in and nin a list of these. */
            value?: unknown;
        };
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
            usage?: components["schemas"]["WireUsage"];
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
            abstained?: boolean;
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
            usage?: components["schemas"]["WireUsage"];
        };
        ForgeError: {
            /** @enum {string} */
            code: "LLM_ERROR" | "VECTOR_DB_ERROR" | "TIMEOUT" | "NO_DOCUMENTS" | "CANCELLED" | "INTERNAL" | "INVALID_REQUEST" | "NOT_FOUND" | "CONFLICT" | "TOO_LARGE" | "OVERLOADED" | "UNAVAILABLE" | "INSUFFICIENT_STORAGE" | "UNAUTHENTICATED" | "FORBIDDEN" | "QUOTA_EXCEEDED";
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
            standalone_query?: string;
            summarized_turns?: number;
            /** @enum {string} */
            type: "query_analysis";
        };
        ForgeRequest: {
            /** @description Collection to search. Default: that of the server, and all uploaded files. */
            collection?: string;
            /** @description Limits the documents that are read to those whose attributes match: a comparison, or filters joined by and or or. */
            filter?: components["schemas"]["FilterFilter"];
            /**
             * @description What is searched: vectors alone; words and vectors, among the documents that meet the conditions of the question; or words and vectors.
             * @default hybrid
             * @enum {string}
             */
            method?: "similarity" | "self_query" | "hybrid";
            /**
             * @description Method of answering.
             * @default agentic
             * @enum {string}
             */
            mode?: "agentic" | "direct";
            /** @description Model that writes the answer: a name of GET /v1/models. An unknown name selects the default model. */
            model?: string;
            /** @description Do not use the cache, and do not share the run. */
            no_cache?: boolean;
            /** @description The question, in any language. */
            query: string;
            /** @description Conversation of the question. */
            session_id?: string;
            /** @description Number of passages for the generator. 0 or left out: 5. */
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
            call_id: number;
            chunks: components["schemas"]["ForgeChunkScore"][];
            chunks_found: number;
            corrected?: {
                [key: string]: string[];
            };
            duration_ms: components["schemas"]["EventMillis"];
            iteration: number;
            levels: {
                [key: string]: number;
            };
            query: string;
            tool: string;
            /** Format: double */
            top_score: number;
            /** @enum {string} */
            type: "retrieval_result";
        };
        ForgeRetrievalStart: {
            call_id: number;
            iteration: number;
            query: string;
            reason?: string;
            tool: string;
            /** @enum {string} */
            type: "retrieval_start";
        };
        ForgeSource: {
            also_in?: string[];
            attributes?: {
                [key: string]: unknown;
            };
            chunk_id: string;
            cited: boolean;
            document_id: string;
            dublin_core?: components["schemas"]["WireDublinCore"];
            file?: string;
            heading: string;
            /** @enum {string} */
            level: "L1" | "L2" | "L3";
            page_numbers: number[];
            path?: string[];
            quote?: string;
            /** Format: double */
            score: number;
            text: string;
            title: string;
            truncated?: boolean;
            url?: string;
            /** Format: double */
            weight: number;
        };
        ForgeSources: {
            sources: components["schemas"]["ForgeSource"][];
            /** @enum {string} */
            type: "sources";
        };
        ForgeToken: {
            citation?: number;
            content: string;
            /** @enum {string} */
            type: "token";
        };
        ForgeToolCall: {
            call_id: number;
            input: unknown;
            iteration: number;
            query: string;
            reason?: string;
            tool: string;
            /** @enum {string} */
            type: "tool_call";
        };
        ForgeToolResult: {
            call_id: number;
            duration_ms: components["schemas"]["EventMillis"];
            iteration: number;
            query: string;
            result: unknown;
            tool: string;
            /** @enum {string} */
            type: "tool_result";
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
        FormDataKnowledgeUploadForm: {
            /** @description Account that earns a share of the answers that use the file. By default that of the key. */
            contributor?: string;
            dc_creator?: string;
            dc_date?: string;
            dc_description?: string;
            dc_identifier?: string;
            dc_language?: string;
            dc_publisher?: string;
            dc_rights?: string;
            dc_source?: string;
            dc_subject?: string;
            /** @description Dublin Core; this and the next fields take precedence over what the file states. */
            dc_title?: string;
            file?: components["schemas"]["MultipartFileHeader"];
            /** @description Media type of the file. */
            file_type?: string;
            /** @description Id of the file. */
            id?: string;
            /** @description Expected MD5: 32 hexadecimal digits. */
            md5?: string;
            /** @description Name of the file of the URL. */
            name?: string;
            /** @description A JSON object. Stored with the file. */
            parse_options?: string;
            /** @default general */
            purpose?: string;
            request_id?: string;
            /** @description If a file with the same bytes exists, the reply is that file. */
            skip_exists?: boolean;
            /** @description http or https URL to fetch in the background, instead of the part "file". */
            url?: string;
        };
        ForrstAnswer: {
            abstained?: boolean;
            cache?: components["schemas"]["ForrstCache"];
            cached: boolean;
            citations: components["schemas"]["ForrstCitation"][];
            /** Format: double */
            claim_support: number;
            /** Format: double */
            confidence: number;
            content: string;
            cost?: components["schemas"]["ForrstCost"];
            duration_ms: components["schemas"]["EventMillis"];
            incomplete?: boolean;
            iterations: number;
            message_id: string;
            /** @enum {string} */
            mode: "agentic" | "direct";
            run_id: string;
            session_id?: string;
            sources: components["schemas"]["ForrstSource"][];
            standalone_query?: string;
            tools_used: string[];
            usage?: components["schemas"]["WireUsage"];
            verification?: components["schemas"]["ForrstVerification"];
        };
        ForrstAsked: {
            options?: {
                [key: string]: unknown;
            };
            urn: string;
        };
        ForrstCache: {
            /** Format: date-time */
            cached_at: string;
            original_query: string;
            /** Format: double */
            similarity: number;
        };
        ForrstCall: {
            call: {
                arguments?: {
                    [key: string]: unknown;
                };
                function: string;
                /** @description A version of the function, complete or short, such as 1. The newest stable one if it is left out. */
                version?: string;
            };
            /** @description Metadata that the caller propagates. */
            context?: {
                [key: string]: unknown;
            };
            extensions?: components["schemas"]["ForrstAsked"][];
            /** @description The reply repeats it. */
            id: string;
            protocol: components["schemas"]["ForrstVersion"];
        };
        ForrstCitation: {
            end: number;
            index: number;
            start: number;
        };
        ForrstCited: {
            chunk_id: string;
            document_id: string;
            file?: string;
            heading?: string;
            index: number;
            page_numbers: number[];
            quote?: string;
            title: string;
        };
        ForrstClaim: {
            text: string;
            /** @enum {string} */
            verdict: "SUPPORTED" | "PARTIALLY_SUPPORTED" | "UNSUPPORTED";
        };
        ForrstContent: {
            citation?: components["schemas"]["ForrstCited"];
            content: string;
        };
        ForrstCost: {
            balance_after: string;
            fee: string;
            transaction: string;
        };
        ForrstDetails: {
            code: string;
            field?: string;
        };
        ForrstDocument: {
            errors?: components["schemas"]["ForrstError"][];
            extensions?: components["schemas"]["ForrstExtension"][];
            id: null | string;
            protocol: components["schemas"]["ForrstVersion"];
            result: unknown;
        };
        ForrstError: {
            code: string;
            details?: components["schemas"]["ForrstDetails"];
            message: string;
        };
        ForrstEvent: components["schemas"]["ForrstGreeting"] | components["schemas"]["ForrstContent"] | components["schemas"]["ForrstProgress"] | components["schemas"]["ForrstAnswer"] | components["schemas"]["ForrstFailure"] | components["schemas"]["ForrstDocument"];
        ForrstExtension: {
            data?: unknown;
            urn: string;
        };
        ForrstFailure: {
            code: string;
            details: components["schemas"]["ForrstDetails"] | null;
            message: string;
        };
        ForrstGreeting: {
            /** @enum {string} */
            status: "connected";
        };
        ForrstProgress: {
            current: number;
            message: string;
            percent: number;
            total: number;
        };
        ForrstSource: {
            chunk_id: string;
            cited: boolean;
            document_id: string;
            file?: string;
            heading?: string;
            index: number;
            page_numbers: number[];
            quote?: string;
            /** Format: double */
            score: number;
            text: string;
            title: string;
            /** Format: double */
            weight: number;
        };
        ForrstVerification: {
            claims: components["schemas"]["ForrstClaim"][];
            claims_checked: number;
            claims_partially_supported: number;
            claims_supported: number;
            claims_unsupported: number;
            flagged?: boolean;
        };
        ForrstVersion: {
            /** @enum {string} */
            name: "forrst";
            version: string;
        };
        IngestFailure: {
            path: string;
            reason: string;
        };
        IngestionsAccepted: {
            collection: string;
            id: string;
            /** @description Path of the stream of its progress. */
            stream: string;
        };
        IngestionsEvent: components["schemas"]["IngestionsStarted"] | components["schemas"]["IngestionsProgress"] | components["schemas"]["IngestionsFileFailed"] | components["schemas"]["IngestionsFinished"];
        IngestionsFileFailed: {
            path: string;
            reason: string;
            /** @enum {string} */
            type: "file_failed";
        };
        IngestionsFinished: {
            result: components["schemas"]["SourceResult"];
            /** @enum {string} */
            type: "ingestion_finished";
        };
        IngestionsProgress: {
            /**
             * Format: int64
             * @description Size of the documents that were read.
             */
            bytes?: number;
            /** @description The document that was finished last. */
            current?: string;
            /** @description Number of finished documents; for an upload, a percentage. */
            done: number;
            /**
             * @description Of an upload.
             * @enum {string}
             */
            stage?: "fetching" | "reading" | "parsing" | "embedding" | "indexing";
            total: number;
            /** @enum {string} */
            type: "ingestion_progress";
        };
        IngestionsRequest: {
            /** @description Remove all documents of the folders that have vanished. Without it, they are kept if a folder is empty and had at least 3, or has less than half as many as before and at least 20 fewer. */
            allow_removal?: boolean;
            /** @description Collection of the documents. The default is that of the server. */
            collection?: string;
            /** @description Absolute paths of files and folders on the machine of the server. Documents of a folder that have vanished are removed. */
            paths: string[];
            /** @description Remove the documents of the paths from the collection, whether their files exist or not. Nothing is read. */
            remove?: boolean;
            /** @description Retry documents that exceeded the memory or time limit before. */
            retry?: boolean;
        };
        IngestionsStarted: {
            /** @description 1, and one more after each restart of the server. */
            attempt: number;
            collection: string;
            ingestion: string;
            /** @description Id of the source. Missing if paths or a file were given. */
            source?: string;
            /** Format: date-time */
            started: string;
            /** @enum {string} */
            type: "ingestion_started";
        };
        KnowledgeAnnotation: {
            /** @description Attributes of the document that its source sets: texts, numbers and truth values. */
            attributes?: {
                [key: string]: unknown;
            };
            /** @description Set while nothing else is known about the passage. */
            chunk_id?: string;
            /** @description Metadata of the document, each element shortened. */
            dublin_core?: components["schemas"]["WireDublinCore"];
            file_id: string;
            filename: string;
            heading?: string;
            /** @description Index of the segment in the file, from 0. */
            index: number;
            /** @description The first page of the cited text. */
            page?: number;
            /** @description All pages of the cited text if there are several; at most 20. */
            pages?: number[];
            /** @description Path of the file below the indexed folder, with the name of the folder. */
            path?: string;
            /** @description The cited sentence, at most 400 characters; fewer if many passages are cited. */
            quote?: string;
            /** Format: double */
            score?: number;
            /** @description At most 400 characters; fewer if many passages are cited. */
            snippet?: string;
            truncated?: boolean;
            /** @enum {string} */
            type: "file_citation";
            /** @description URL of the document, if it is from the web. */
            url?: string;
        };
        KnowledgeAnnotationAdded: {
            annotation: components["schemas"]["KnowledgeAnnotation"];
            annotation_index: number;
            content_index: number;
            item_id: string;
            output_index: number;
        };
        KnowledgeContent: {
            abstract: string;
            contexts: string[];
            encoding: string;
            file_type: string;
            /** @description There are more segments. */
            has_more: boolean;
            /** @description MD5 of the file. */
            id: string;
            images: string[];
            keywords: string[];
            language: string;
            metadata: unknown;
            /** @description Value of start_segment for the next segments. */
            next_segment?: number;
            /** @description The headings, one per line. */
            outline: string;
            page_count: number;
            segments: components["schemas"]["KnowledgeSegment"][];
            status: string;
            summary: string;
            url: string;
            vector_store_ids: string[];
        };
        KnowledgeConversation: {
            id: string;
        };
        KnowledgeDeleted: {
            deleted: boolean;
            id: string;
            object: string;
            task_id?: string;
        };
        KnowledgeDocument: {
            author: string;
            bookmarks: number[];
            /** Format: int64 */
            bytes: number;
            /** @description Set when the file is indexed. */
            content?: components["schemas"]["KnowledgeContent"];
            content_type: string;
            /** @description Account that earns a share of the answers that use the file; empty: that of the server. */
            contributor?: string;
            /** @description ISO 8601 in UTC, with microseconds and without a time zone. */
            created_at: string;
            /** @description What users set and, where that is empty, what the file states. */
            dublin_core?: components["schemas"]["WireDublinCore"];
            filename: string;
            highlights: string[];
            id: string;
            is_delete: boolean;
            is_favorite: boolean;
            last_read_at?: string;
            md5: string;
            md5sum: string;
            metadata: unknown;
            mime_type: string;
            notes: string[];
            /** @enum {string} */
            object: "file";
            owner: string;
            permissions: string[];
            processing_error_message?: string;
            purpose: string;
            /** Format: double */
            read_progress: number;
            related_docs: string[];
            /** Format: int64 */
            size: number;
            /** @enum {string} */
            status: "uploaded" | "processing" | "processed" | "error" | "cancelled";
            task_id: string;
            title: string;
            updated_at: string;
            url: string;
            vector_store_ids: string[];
        };
        KnowledgeDone: Record<string, never>;
        KnowledgeEvent: components["schemas"]["KnowledgeResponse"] | components["schemas"]["KnowledgeTextDelta"] | components["schemas"]["KnowledgeReasoningDelta"] | components["schemas"]["KnowledgeAnnotationAdded"] | components["schemas"]["KnowledgeDone"];
        KnowledgeFault: {
            /** @enum {string} */
            code: "LLM_ERROR" | "VECTOR_DB_ERROR" | "TIMEOUT" | "NO_DOCUMENTS" | "CANCELLED" | "INTERNAL" | "INVALID_REQUEST" | "NOT_FOUND" | "CONFLICT" | "TOO_LARGE" | "OVERLOADED" | "UNAVAILABLE" | "INSUFFICIENT_STORAGE" | "UNAUTHENTICATED" | "FORBIDDEN" | "QUOTA_EXCEEDED";
            detail: components["schemas"]["KnowledgeFaultDetail"];
            message: string;
        };
        KnowledgeFaultDetail: {
            /** @description Path of the field, such as input[2].content[0].type. */
            field?: string;
        };
        KnowledgeFile: {
            /**
             * Format: int64
             * @description 0 until a file was fetched from its URL.
             */
            bytes: number;
            content_type: string;
            /** @description Account that earns a share of the answers that use the file. */
            contributor?: string;
            /**
             * Format: int64
             * @description Unix seconds.
             */
            created_at: number;
            /** @description Metadata that users set. A reply about one indexed file also has what the file states. */
            dublin_core?: components["schemas"]["WireDublinCore"];
            filename: string;
            id: string;
            md5: string;
            metadata: unknown;
            /** @enum {string} */
            object: "file";
            processing_error_message?: string;
            purpose: string;
            /** @enum {string} */
            status: "uploaded" | "processing" | "processed" | "error" | "cancelled";
            /** @description "upload-" followed by the id of the file. */
            task_id: string;
            /** Format: int64 */
            updated_at: number;
            /** @description URL from which it was fetched. */
            url?: string;
        };
        KnowledgeFileCounts: {
            cancelled: number;
            completed: number;
            failed: number;
            in_progress: number;
            total: number;
        };
        KnowledgeFileList: {
            data: components["schemas"]["KnowledgeFile"][];
            first_id?: string;
            has_more: boolean;
            /** @description Value of after for the next page. */
            last_id?: string;
            /** @enum {string} */
            object: "list";
        };
        KnowledgeIncompleteDetails: {
            /** @enum {string} */
            reason: "max_output_tokens" | "content_filter";
        };
        KnowledgeInputDetails: {
            cached_tokens: number;
        };
        KnowledgeItem: {
            content?: components["schemas"]["KnowledgePart"][];
            /** @description Maximum number of documents. */
            count?: number;
            document_id?: string;
            document_title?: string;
            duration_ms?: components["schemas"]["EventMillis"];
            end_page?: number;
            /** @description Lines of text. */
            execution_trace?: string;
            id: string;
            iteration?: number;
            progress?: number;
            queries?: string[];
            result_count?: number;
            /** @description The best ten passages; fewer if there are many calls. result_count is the number of passages found. */
            results?: components["schemas"]["KnowledgeResult"][];
            /** @enum {string} */
            role?: "assistant";
            start_page?: number;
            /** @enum {string} */
            status: "in_progress" | "searching" | "completed" | "incomplete" | "failed";
            summary?: components["schemas"]["KnowledgeSummary"][];
            /** @description Name of the tool in the events of the run. */
            tool?: string;
            /** @enum {string} */
            type: "message" | "reasoning" | "file_search_call" | "web_search_call" | "list_documents_call" | "page_reader_call";
        };
        KnowledgeMessage: {
            /** @description Text, or a list of parts: input_text and output_text with text, input_file with file_id. */
            content: unknown;
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "developer";
        };
        KnowledgeModel: {
            /**
             * Format: int64
             * @description Always 0.
             */
            created: number;
            /** @description Value of model in a request. */
            id: string;
            /** @enum {string} */
            object: "model";
            owned_by: string;
        };
        KnowledgeModelList: {
            data: components["schemas"]["KnowledgeModel"][];
            /** @enum {string} */
            object: "list";
        };
        KnowledgeOutputDetails: {
            reasoning_tokens: number;
        };
        KnowledgePage: {
            content: string;
            /** @description From 1. */
            page_number: number;
        };
        KnowledgePages: {
            file_id: string;
            /** @description There are more pages. */
            has_more: boolean;
            /** @description Value of start_page for the next pages. */
            next_page?: number;
            /** @enum {string} */
            object: "list";
            pages: components["schemas"]["KnowledgePage"][];
        };
        KnowledgePart: {
            annotations: components["schemas"]["KnowledgeAnnotation"][];
            text: string;
            truncated?: boolean;
            /** @enum {string} */
            type: "output_text";
        };
        KnowledgeReasoning: {
            /** @enum {string} */
            effort?: "low" | "medium" | "high";
            /** @enum {string} */
            summary?: "auto" | "concise" | "detailed";
        };
        KnowledgeReasoningDelta: {
            delta: string;
            item_id: string;
            output_index: number;
            summary_index: number;
        };
        KnowledgeRequest: {
            /** @description Session of the question: its id, or an object with the id. It is created if it does not exist. */
            conversation?: unknown;
            /**
             * @description How much work is done to find an answer.
             * @default medium
             * @enum {string}
             */
            effort?: "low" | "medium" | "high" | "dev";
            /** @description The question, or a list of messages; the last message with the role user is the question. The reply is a stream unless stream is false. */
            input?: unknown;
            /** @description Instructions to the model. */
            instructions?: string;
            /** @description Limit of the answer. max_tokens is an alias. */
            max_output_tokens?: number;
            max_tokens?: number;
            /** @description Alias of input for a list. The reply is one JSON object unless stream is true. */
            messages?: components["schemas"]["KnowledgeMessage"][];
            /** @description At most 16 pairs. Repeated in the response. */
            metadata?: {
                [key: string]: string;
            };
            /** @description The requested model. An unknown name selects the default model. */
            model?: string;
            /** @description Do not use the cache. */
            no_cache?: boolean;
            /** @description Repeated in the response. No effect. */
            parallel_tool_calls?: boolean;
            /** @description The previous response of the conversation. Its question and answer precede the input. */
            previous_response_id?: string;
            /** @description Its effort is used if there is no effort. */
            reasoning?: components["schemas"]["KnowledgeReasoning"];
            /**
             * @description Repeated in the response. No effect.
             * @enum {string}
             */
            service_tier?: "auto" | "default" | "flex";
            /**
             * Format: double
             * @description Maximum rate of snapshots that only add text.
             * @default 10
             */
            snapshots_per_second?: number;
            /**
             * @description If false, the response is deleted after it was read.
             * @default true
             */
            store?: boolean;
            /** @description Whether the reply is a stream. */
            stream?: boolean;
            stream_options?: components["schemas"]["KnowledgeStreamOptions"];
            temperature?: number;
            /** @description Repeated in the response. json_object and json_schema are treated as text. */
            text?: components["schemas"]["KnowledgeTextFormat"];
            /** @description Repeated in the response. No effect. */
            tool_choice?: unknown;
            /** @description Tools, and the vector stores to search. Tools of other types are ignored. */
            tools?: components["schemas"]["KnowledgeTool"][];
            /** @description Repeated in the response. No effect. */
            top_p?: number;
            /**
             * @description Repeated in the response. No effect.
             * @enum {string}
             */
            truncation?: "auto" | "disabled";
            /** @description Repeated in the response. */
            user?: string;
        };
        KnowledgeResponse: {
            /** @description The documents do not hold an answer. */
            abstained?: boolean;
            /** @description The model that wrote the answer. It may differ from the requested model. */
            answered_by?: string;
            /** @description The answer comes from the cache. */
            cached?: boolean;
            /** @description Share of the claims in the answer that the sources support. Set after the verification. */
            claim_support?: number;
            /** @description Estimated probability that the answer is right; 0 for an abstention. Set at the end. */
            confidence?: number;
            /** @description Session of the question. */
            conversation?: components["schemas"]["KnowledgeConversation"];
            /**
             * Format: int64
             * @description Unix seconds.
             */
            created_at: number;
            duration_ms?: components["schemas"]["EventMillis"];
            /** @enum {string} */
            effort?: "low" | "medium" | "high" | "dev";
            error?: components["schemas"]["KnowledgeResponseError"];
            /** @description Id of the run. */
            id: string;
            incomplete_details?: components["schemas"]["KnowledgeIncompleteDetails"];
            max_output_tokens?: number;
            metadata?: {
                [key: string]: string;
            };
            /** @description The requested model. */
            model: string;
            /** @enum {string} */
            object: "response";
            output: components["schemas"]["KnowledgeItem"][];
            parallel_tool_calls: boolean;
            previous_response_id?: string;
            reasoning?: components["schemas"]["KnowledgeReasoning"];
            run_id: string;
            /** @enum {string} */
            service_tier?: "auto" | "default" | "flex";
            /** @description The question as it is searched for, if it was rewritten with the help of the conversation. */
            standalone_query?: string;
            /** @enum {string} */
            status: "in_progress" | "completed" | "failed" | "incomplete";
            store?: boolean;
            /** @description Number of earlier messages that a summary replaces. */
            summarized_turns?: number;
            temperature?: number;
            text?: components["schemas"]["KnowledgeTextFormat"];
            /** @description none, auto, required, or an object with a type. */
            tool_choice: unknown;
            /** @description Tools of supported types. */
            tools: components["schemas"]["KnowledgeTool"][];
            top_p?: number;
            /** @enum {string} */
            truncation?: "auto" | "disabled";
            /** @description Tokens of the steps that have ended. */
            usage?: components["schemas"]["KnowledgeUsage"];
            user?: string;
            verification?: components["schemas"]["KnowledgeVerification"];
            /** @description At most 8. */
            warnings?: components["schemas"]["KnowledgeWarning"][];
        };
        KnowledgeResponseError: {
            /** @enum {string} */
            code: "server_error" | "rate_limit_exceeded" | "invalid_prompt";
            message: string;
            reason: string;
        };
        KnowledgeResponseList: {
            data: components["schemas"]["KnowledgeResponseSummary"][];
            first_id?: string;
            has_more: boolean;
            /** @description Value of after for the next page. */
            last_id?: string;
            /** @enum {string} */
            object: "list";
        };
        KnowledgeResponseSummary: {
            collection: string;
            /**
             * Format: int64
             * @description Unix seconds.
             */
            created_at: number;
            id: string;
            /** @description The requested model. */
            model: string;
            /** @enum {string} */
            object: "response";
            previous_response_id?: string;
            /** @description Protocol of the request. */
            protocol: string;
            query: string;
            /** @enum {string} */
            status: "in_progress" | "completed" | "failed" | "incomplete";
        };
        KnowledgeResult: {
            /** @description chunk_id and level of the passage, and the attributes that the source of the document sets: at most 16 texts, numbers and truth values, and fewer if they are long. */
            attributes: {
                [key: string]: unknown;
            };
            file_id: string;
            filename: string;
            /**
             * Format: double
             * @description Relevance of the passage. Scores of different questions are comparable.
             */
            score: number;
        };
        KnowledgeSearchAttributes: {
            chunk_id: string;
            content_type: string;
            file_id: string;
            filename: string;
            heading?: string;
            /** @description The first page of the passage. */
            page?: number;
            segment_index: number;
            title: string;
        };
        KnowledgeSearchPage: {
            /** @description Best first, followed by the first passages of other documents with score 0. */
            data: components["schemas"]["KnowledgeSearchRow"][];
            has_more: boolean;
            next_page: null | string;
            /** @enum {string} */
            object: "vector_store.search_results.page";
            request_id: string;
            search_query: string;
        };
        KnowledgeSearchRequest: {
            /** @description A comparison with an attribute, or filters joined by and or or. */
            filters?: unknown;
            max_num_results?: number;
            query: string;
            /** @default 10 */
            top_k?: number;
        };
        KnowledgeSearchRow: {
            attributes: components["schemas"]["KnowledgeSearchAttributes"];
            content: components["schemas"]["KnowledgeSearchText"][];
            file_id: string;
            filename: string;
            /** Format: double */
            score: number;
        };
        KnowledgeSearchText: {
            text: string;
            /** @enum {string} */
            type: "text";
        };
        KnowledgeSegment: {
            content: string;
            id: string;
            /** @description From 0. */
            index: number;
            metadata: components["schemas"]["KnowledgeSegmentMetadata"];
            url: string;
        };
        KnowledgeSegmentMetadata: {
            chunk_id: string;
            end: number;
            heading?: string;
            pages?: number[];
            /** @description Byte offsets into the document's extracted text. */
            start: number;
        };
        KnowledgeServerHealth: {
            issues?: string[];
            /** @enum {string} */
            status: "healthy" | "degraded" | "unhealthy";
            /**
             * Format: int64
             * @description Unix seconds.
             */
            timestamp: number;
        };
        KnowledgeServerStatus: {
            features: {
                [key: string]: boolean;
            };
            metrics: {
                [key: string]: number;
            };
            services: {
                [key: string]: string;
            };
            /** @enum {string} */
            status: "healthy" | "degraded" | "unhealthy";
            /**
             * Format: int64
             * @description Unix seconds.
             */
            timestamp: number;
            /**
             * Format: int64
             * @description Seconds.
             */
            uptime: number;
            version: string;
        };
        KnowledgeStoreUpdate: {
            description?: string;
            /** @description Seconds from now; 0: never. */
            expires_after?: number;
            join_file_ids?: string[];
            left_file_ids?: string[];
            /** @description An object, which takes the place of the one before. */
            metadata?: unknown;
            name?: string;
        };
        KnowledgeStreamOptions: {
            /**
             * @description In the mode delta, text is sent as deltas, and snapshots only when items begin and end.
             * @default snapshot
             * @enum {string}
             */
            mode?: "snapshot" | "delta";
            /** Format: double */
            snapshots_per_second?: number;
        };
        KnowledgeSummary: {
            /** @description At most 8 KiB. */
            text: string;
            /** @enum {string} */
            type: "summary_text";
        };
        KnowledgeTask: {
            /**
             * Format: int64
             * @description Unix seconds.
             */
            created_at: number;
            data: unknown;
            /** @description The same as failure_reason. */
            error_message?: string;
            failure_reason?: string;
            id: string;
            /** @enum {string} */
            object: "task";
            /** Format: double */
            progress: number;
            resource_id: string;
            /** @enum {string} */
            status: "pending" | "in_progress" | "completed" | "failed" | "cancelled";
            type: string;
            /** Format: int64 */
            updated_at: number;
        };
        KnowledgeTextDelta: {
            content_index: number;
            delta: string;
            item_id: string;
            output_index: number;
        };
        KnowledgeTextFormat: {
            format: {
                /** @enum {string} */
                type: "text";
            };
        };
        KnowledgeTool: {
            /** @description Limits the documents that are read to those whose attributes match. All tools of a request must have the same one. */
            filters?: components["schemas"]["FilterFilter"];
            max_num_results?: number;
            /** @enum {string} */
            type: "file_search" | "list_documents" | "page_reader" | "file_reader" | "web_search";
            vector_store_ids?: string[];
        };
        KnowledgeUpdateRequest: {
            author?: string;
            bookmarks?: number[];
            /** @description Only the present contributor and administrators can change it. */
            contributor?: string;
            /** @description Metadata that takes precedence over what the file states. It replaces what was set before. */
            dublin_core?: components["schemas"]["WireDublinCore"];
            highlights?: string[];
            is_favorite?: boolean;
            /** @description An object. It replaces the previous one. */
            metadata?: unknown;
            notes?: string[];
            owner?: string;
            permissions?: string[];
            read_progress?: number;
            related_docs?: string[];
            title?: string;
            /** @description The vector stores that the file is to belong to. */
            vector_store_ids?: string[];
        };
        KnowledgeUsage: {
            input_tokens: number;
            input_tokens_details: components["schemas"]["KnowledgeInputDetails"];
            output_tokens: number;
            output_tokens_details: components["schemas"]["KnowledgeOutputDetails"];
            total_tokens: number;
        };
        KnowledgeVectorStore: {
            /** Format: int64 */
            bytes: number;
            /**
             * Format: int64
             * @description Unix seconds.
             */
            created_at: number;
            description: string;
            /** Format: int64 */
            expires_at?: number;
            file_counts: components["schemas"]["KnowledgeFileCounts"];
            /** @description At most 10,000; GET …/files lists them all. */
            file_ids: string[];
            id: string;
            metadata: unknown;
            name: string;
            /** @enum {string} */
            object: "vector_store";
            /** @enum {string} */
            status: "in_progress" | "completed";
            /** @description Task of the creation or the change. */
            task_id?: string;
            /** Format: int64 */
            updated_at: number;
        };
        KnowledgeVectorStoreList: {
            /** @description Without the ids of their files. */
            data: components["schemas"]["KnowledgeVectorStore"][];
            first_id?: string;
            has_more: boolean;
            /** @description Value of after for the next page. */
            last_id?: string;
            /** @enum {string} */
            object: "list";
        };
        KnowledgeVectorStoreRequest: {
            description?: string;
            /** @description Seconds from now; 0: never. */
            expires_after?: number;
            file_ids?: string[];
            /** @description Id of the vector store: letters, digits, dashes and underscores. */
            id?: string;
            /** @description An object. */
            metadata?: unknown;
            name?: string;
        };
        KnowledgeVectorStoreSummary: {
            /**
             * Format: int64
             * @description Unix seconds.
             */
            created_at: number;
            /** Format: int64 */
            duration_ms: number;
            model_used: string;
            summary_text: string;
            /** @description Estimated. */
            token_count: number;
            vector_store_id: string;
        };
        KnowledgeVerification: {
            claims: number;
            /** @description The sources do not support the answer. */
            flagged?: boolean;
            partially_supported: number;
            supported: number;
            unsupported: number;
        };
        KnowledgeWarning: {
            code: string;
            message: string;
        };
        McpErrorDetails: {
            /** @description A code of JSON-RPC or of MCP. */
            code: number;
            data?: unknown;
            message: string;
        };
        McpErrorMessage: {
            error: components["schemas"]["McpErrorDetails"];
            /** @description That of the request. Missing if the message could not be read. */
            id?: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
        };
        McpEvent: components["schemas"]["McpProgressMessage"] | components["schemas"]["McpResultMessage"] | components["schemas"]["McpErrorMessage"];
        McpMessage: {
            /** @description A string or a number. Notifications have none. */
            id?: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
            /** @description Responses have none. */
            method?: string;
            params?: {
                [key: string]: unknown;
            };
        };
        McpProgressMessage: {
            /** @enum {string} */
            jsonrpc: "2.0";
            /** @enum {string} */
            method: "notifications/progress";
            params: components["schemas"]["McpProgressParams"];
        };
        McpProgressParams: {
            /** @description A step, or the text of the answer so far. */
            message?: string;
            /**
             * Format: double
             * @description Increases with each notification.
             */
            progress: number;
            /** @description That of the request: a string or a number. */
            progressToken: unknown;
            /** Format: double */
            total?: number;
        };
        McpRefusal: {
            error: components["schemas"]["McpRefusalError"];
            /** @description That of the request: a string or a number. Missing if the message was not read. */
            id?: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
        };
        McpRefusalData: {
            code: string;
            /** @description Header or part of the request that is invalid. */
            field?: string;
        };
        McpRefusalError: {
            code: number;
            data: components["schemas"]["McpRefusalData"];
            message: string;
        };
        McpResultMessage: {
            /** @description That of the request: a string or a number. */
            id: unknown;
            /** @enum {string} */
            jsonrpc: "2.0";
            result: components["schemas"]["McpToolResult"];
        };
        McpToolContent: {
            /** @description Of the type text. */
            text?: string;
            /** @enum {string} */
            type: "text" | "image" | "audio" | "resource" | "resource_link";
        };
        McpToolResult: {
            content: components["schemas"]["McpToolContent"][];
            /** @description The tool has failed; the content says why. */
            isError?: boolean;
            /** @description The result of the tool, as in the schema that tools/list returns. */
            structuredContent?: {
                [key: string]: unknown;
            };
        };
        /** Format: binary */
        MultipartFileHeader: string;
        OpenaiAnnotationAdded: {
            annotation: components["schemas"]["OpenaiFileCitation"];
            annotation_index: number;
            content_index: number;
            item_id: string;
            output_index: number;
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            /** @enum {string} */
            type: "response.output_text.annotation.added";
        };
        OpenaiCallEvent: {
            item_id: string;
            output_index: number;
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            /** @enum {string} */
            type: "response.file_search_call.in_progress" | "response.file_search_call.searching" | "response.file_search_call.completed";
        };
        OpenaiChatEvent: components["schemas"]["OpenaiChunk"] | components["schemas"]["OpenaiError"];
        OpenaiChatMessage: {
            /** @description The citations of sources with URLs. */
            annotations: components["schemas"]["OpenaiURLAnnotation"][];
            /** @description A marker such as [2] follows text that a source with a URL supports. */
            content: string;
            refusal: null | string;
            /** @enum {string} */
            role: "assistant";
        };
        OpenaiChatOptions: {
            /** @description Whether a chunk with the usage precedes the end of the stream. */
            include_usage?: boolean;
        };
        OpenaiChatRequest: {
            /** @description Collection to search, or another scope. Not a field of OpenAI. */
            collection?: string;
            max_completion_tokens?: number;
            /** @description Limit of the answer. The same as max_completion_tokens. */
            max_tokens?: number;
            /** @description The last message with the role user is the question, and earlier ones are the history. Messages with the roles system and developer are instructions. */
            messages: components["schemas"]["OpenaiChatRequestItem"][];
            /** @description sluice, sluice-agentic or sluice-direct, with a collection after a slash if wanted, such as sluice-direct/manuals; or the name of a model that writes the answer. An unknown name selects the default model. */
            model?: string;
            /** @enum {integer} */
            n?: "1";
            /** @description Only text is supported. */
            response_format?: components["schemas"]["OpenaiFormat"];
            /**
             * @description If false, the run is deleted after it was read.
             * @default true
             */
            store?: boolean;
            /** @description Whether the reply is a stream. */
            stream?: boolean;
            stream_options?: components["schemas"]["OpenaiChatOptions"];
            temperature?: number;
            /** @description auto or none. Tools of the client are not called. */
            tool_choice?: unknown;
        };
        OpenaiChatRequestItem: {
            /** @description Text, or a list of parts with type and text. The question only has parts with text. */
            content: unknown;
            /** @enum {string} */
            role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
        };
        OpenaiChatUsage: {
            completion_tokens: number;
            completion_tokens_details: components["schemas"]["OpenaiCompletionDetails"];
            prompt_tokens: number;
            prompt_tokens_details: components["schemas"]["OpenaiPromptDetails"];
            total_tokens: number;
        };
        OpenaiChoice: {
            /** @enum {null|string} */
            finish_reason: "stop" | "length" | "content_filter" | null;
            index: number;
            logprobs: Record<string, never> | null;
            message: components["schemas"]["OpenaiChatMessage"];
        };
        OpenaiChunk: {
            /** @description One; none in the chunk with the usage. */
            choices: components["schemas"]["OpenaiChunkChoice"][];
            /**
             * Format: int64
             * @description Unix time in seconds of the start of the run.
             */
            created: number;
            /** @description Id of the run. */
            id: string;
            /** @description As requested. */
            model: string;
            /** @enum {string} */
            object: "chat.completion.chunk";
            /** @description Only if the usage was requested: null except in the last chunk. */
            usage?: components["schemas"]["OpenaiChatUsage"] | null;
        };
        OpenaiChunkChoice: {
            delta: components["schemas"]["OpenaiDelta"];
            /** @description stop, length or content_filter in the last chunk with a choice, and null before. */
            finish_reason: null | string;
            index: number;
        };
        OpenaiCompletion: {
            choices: components["schemas"]["OpenaiChoice"][];
            /**
             * Format: int64
             * @description Unix time in seconds.
             */
            created: number;
            /** @description Id of the run. */
            id: string;
            /** @description As requested. */
            model: string;
            /** @enum {string} */
            object: "chat.completion";
            usage: components["schemas"]["OpenaiChatUsage"];
        };
        OpenaiCompletionDetails: {
            reasoning_tokens: number;
        };
        OpenaiConversation: {
            id: string;
        };
        OpenaiDeleted: {
            deleted: boolean;
            id: string;
            /** @enum {string} */
            object: "response";
        };
        OpenaiDelta: {
            /** @description All citations of sources with URLs, in the chunk before the one with the reason. */
            annotations?: components["schemas"]["OpenaiURLAnnotation"][];
            content?: string;
            /** @enum {string} */
            role?: "assistant";
        };
        OpenaiEmbedding: {
            /** @description A list of numbers, or the base64 text of 32-bit floats, the least significant byte first. All zeros if the embedder knows no word of the text. */
            embedding: unknown;
            /** @description Number of the text, from 0. */
            index: number;
            /** @enum {string} */
            object: "embedding";
        };
        OpenaiEmbeddingList: {
            data: components["schemas"]["OpenaiEmbedding"][];
            model: string;
            /** @enum {string} */
            object: "list";
            usage: components["schemas"]["OpenaiEmbeddingUsage"];
        };
        OpenaiEmbeddingRequest: {
            /** @description Only the number of dimensions that the embedder has. */
            dimensions?: number;
            /**
             * @default float
             * @enum {string}
             */
            encoding_format?: "float" | "base64";
            /** @description A text, or a list of at most 2048 texts, each with at most 32 KiB. Lists of tokens are refused. */
            input: unknown;
            /** @description The reply repeats it. The embedder of the server is used, whatever it is. */
            model?: string;
        };
        OpenaiEmbeddingUsage: {
            /** @enum {integer} */
            prompt_tokens: "0";
            /** @enum {integer} */
            total_tokens: "0";
        };
        OpenaiError: {
            error: components["schemas"]["OpenaiErrorBody"];
        };
        OpenaiErrorBody: {
            /** @description invalid_api_key, insufficient_quota, rate_limit_exceeded, or a code of Sluice in lower case. */
            code: null | string;
            message: string;
            /** @description Path of the invalid field, such as messages[1].content. */
            param: null | string;
            /** @enum {string} */
            type: "invalid_request_error" | "permission_error" | "rate_limit_error" | "insufficient_quota" | "server_error";
        };
        OpenaiFileCitation: {
            file_id: string;
            filename: string;
            /** @description Position in the text, in Unicode code points, after the text that the document supports. */
            index: number;
            /** @enum {string} */
            type: "file_citation";
        };
        OpenaiFormat: {
            /** @enum {string} */
            type: "text";
        };
        OpenaiIncompleteDetails: {
            /** @enum {string} */
            reason?: "max_output_tokens" | "content_filter";
        };
        OpenaiInputDetails: {
            /** @description Always 0. */
            cache_write_tokens: number;
            cached_tokens: number;
        };
        OpenaiInputItem: {
            content: components["schemas"]["OpenaiInputPart"][];
            id: string;
            /** @enum {string} */
            role: "user" | "assistant";
            /** @enum {string} */
            status: "completed";
            /** @enum {string} */
            type: "message";
        };
        OpenaiInputItemList: {
            data: components["schemas"]["OpenaiInputItem"][];
            /** @description Empty if there are no items. */
            first_id: string;
            has_more: boolean;
            /** @description Empty if there are no items. */
            last_id: string;
            /** @enum {string} */
            object: "list";
        };
        OpenaiInputPart: {
            /** @description Of an answer; always empty. */
            annotations?: components["schemas"]["OpenaiFileCitation"][];
            text: string;
            /** @enum {string} */
            type: "input_text" | "output_text";
        };
        OpenaiItem: {
            /** @description Of a message. */
            content?: components["schemas"]["OpenaiPart"][];
            id: string;
            /** @description Of a search. */
            queries?: string[];
            /** @description Of a search, if include has file_search_call.results; best first. */
            results?: components["schemas"]["OpenaiResult"][];
            /**
             * @description Of a message.
             * @enum {string}
             */
            role?: "assistant";
            /** @enum {string} */
            status: "in_progress" | "searching" | "completed" | "incomplete" | "failed";
            /** @description Of reasoning. */
            summary?: components["schemas"]["OpenaiSummary"][];
            /** @enum {string} */
            type: "file_search_call" | "reasoning" | "message";
        };
        OpenaiItemEvent: {
            item: components["schemas"]["OpenaiItem"];
            output_index: number;
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            /** @enum {string} */
            type: "response.output_item.added" | "response.output_item.done";
        };
        OpenaiModel: {
            /**
             * Format: int64
             * @description Always 0.
             */
            created: number;
            /** @description Value of model in a request. */
            id: string;
            /** @enum {string} */
            object: "model";
            owned_by: string;
        };
        OpenaiModelList: {
            data: components["schemas"]["OpenaiModel"][];
            /** @enum {string} */
            object: "list";
        };
        OpenaiOutputDetails: {
            reasoning_tokens: number;
        };
        OpenaiPart: {
            annotations: components["schemas"]["OpenaiFileCitation"][];
            /** @description Always empty. */
            logprobs: Record<string, never>[];
            text: string;
            /** @enum {string} */
            type: "output_text";
        };
        OpenaiPartEvent: {
            content_index: number;
            item_id: string;
            output_index: number;
            part: components["schemas"]["OpenaiPart"];
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            /** @enum {string} */
            type: "response.content_part.added" | "response.content_part.done";
        };
        OpenaiPromptDetails: {
            cached_tokens: number;
        };
        OpenaiResponse: {
            background: boolean;
            /** @description Unix time in seconds; null unless the status is completed. */
            completed_at: null | number;
            conversation: components["schemas"]["OpenaiConversation"] | null;
            /**
             * Format: int64
             * @description Unix time in seconds.
             */
            created_at: number;
            error: components["schemas"]["OpenaiResponseError"] | null;
            /** @description Id of the run. */
            id: string;
            incomplete_details: components["schemas"]["OpenaiIncompleteDetails"] | null;
            /** @description Always null. */
            instructions: null | string;
            max_output_tokens: null | number;
            metadata: {
                [key: string]: string;
            };
            /** @description As requested. */
            model: string;
            /** @enum {string} */
            object: "response";
            output: components["schemas"]["OpenaiItem"][];
            parallel_tool_calls: boolean;
            previous_response_id: null | string;
            /** @enum {string} */
            status: "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
            temperature: null | number;
            text: components["schemas"]["OpenaiTextConfig"];
            /** @enum {string} */
            tool_choice: "auto";
            /** @description Those of the type file_search. */
            tools: components["schemas"]["OpenaiTool"][];
            top_p: null | number;
            /** @enum {string} */
            truncation: "disabled";
            /** @description Set when the run has ended. */
            usage?: components["schemas"]["OpenaiResponseUsage"];
        };
        OpenaiResponseError: {
            /** @enum {string} */
            code: "server_error" | "rate_limit_exceeded" | "invalid_prompt";
            message: string;
        };
        OpenaiResponseEvent: {
            response: components["schemas"]["OpenaiResponse"];
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            /** @enum {string} */
            type: "response.created" | "response.in_progress" | "response.completed" | "response.incomplete" | "response.failed";
        };
        OpenaiResponseRequest: {
            /** @enum {boolean} */
            background?: "false";
            /** @description Collection to search, or another scope, if no tool names vector stores. Not a field of OpenAI. */
            collection?: string;
            /** @description Session of the question: its id, or an object with the id. It is created if it does not exist. */
            conversation?: unknown;
            /** @description With file_search_call.results, searches have what they found. */
            include?: string[];
            /** @description The question, or a list of messages with role and content: the last message of the user is the question, and earlier ones are the history. */
            input: unknown;
            /** @description Instructions to the model. */
            instructions?: string;
            /** @description Limit of the answer. */
            max_output_tokens?: number;
            /** @description At most 16 pairs. Repeated in the response. */
            metadata?: {
                [key: string]: string;
            };
            /** @description As in chat completions. */
            model?: string;
            /** @description The previous response of the conversation. Its question and answer precede the input. */
            previous_response_id?: string;
            /** @description Not supported. */
            prompt?: unknown;
            /**
             * @description If false, the response is deleted after it was read.
             * @default true
             */
            store?: boolean;
            /** @description Whether the reply is a stream. */
            stream?: boolean;
            temperature?: number;
            /** @description Only text is supported. */
            text?: components["schemas"]["OpenaiTextConfig"];
            /** @description auto, none or file_search; required if all tools have the type file_search. */
            tool_choice?: unknown;
            /** @description Tools of the type file_search select what is searched. Others are ignored. */
            tools?: components["schemas"]["OpenaiTool"][];
        };
        OpenaiResponsesEvent: components["schemas"]["OpenaiResponseEvent"] | components["schemas"]["OpenaiItemEvent"] | components["schemas"]["OpenaiCallEvent"] | components["schemas"]["OpenaiPartEvent"] | components["schemas"]["OpenaiTextDelta"] | components["schemas"]["OpenaiTextDone"] | components["schemas"]["OpenaiAnnotationAdded"] | components["schemas"]["OpenaiSummaryPart"] | components["schemas"]["OpenaiSummaryDelta"] | components["schemas"]["OpenaiSummaryDone"];
        OpenaiResponseUsage: {
            input_tokens: number;
            input_tokens_details: components["schemas"]["OpenaiInputDetails"];
            output_tokens: number;
            output_tokens_details: components["schemas"]["OpenaiOutputDetails"];
            total_tokens: number;
        };
        OpenaiResult: {
            /** @description chunk_id and level of the passage, and the attributes that the source of the document sets: at most 16 texts, numbers and truth values. */
            attributes: {
                [key: string]: unknown;
            };
            file_id: string;
            filename: string;
            /**
             * Format: double
             * @description 0 to 1
             */
            score: number;
        };
        OpenaiSummary: {
            text: string;
            /** @enum {string} */
            type: "summary_text";
        };
        OpenaiSummaryDelta: {
            delta: string;
            item_id: string;
            output_index: number;
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            summary_index: number;
            /** @enum {string} */
            type: "response.reasoning_summary_text.delta";
        };
        OpenaiSummaryDone: {
            item_id: string;
            output_index: number;
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            summary_index: number;
            text: string;
            /** @enum {string} */
            type: "response.reasoning_summary_text.done";
        };
        OpenaiSummaryPart: {
            item_id: string;
            output_index: number;
            part: components["schemas"]["OpenaiSummary"];
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            summary_index: number;
            /** @enum {string} */
            type: "response.reasoning_summary_part.added" | "response.reasoning_summary_part.done";
        };
        OpenaiTextConfig: {
            format?: components["schemas"]["OpenaiFormat"];
        };
        OpenaiTextDelta: {
            content_index: number;
            delta: string;
            item_id: string;
            /** @description Always empty. */
            logprobs: Record<string, never>[];
            output_index: number;
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            /** @enum {string} */
            type: "response.output_text.delta";
        };
        OpenaiTextDone: {
            content_index: number;
            item_id: string;
            /** @description Always empty. */
            logprobs: Record<string, never>[];
            output_index: number;
            /** @description Number of the event in the stream, from 0. */
            sequence_number: number;
            text: string;
            /** @enum {string} */
            type: "response.output_text.done";
        };
        OpenaiTool: {
            /** @description Limits the documents that are read. Not repeated in responses. */
            filters?: unknown;
            /** @description Number of passages for the generator, 1 to 50. */
            max_num_results?: number;
            /** @enum {string} */
            type: "file_search";
            vector_store_ids: string[];
        };
        OpenaiURLAnnotation: {
            /** @enum {string} */
            type: "url_citation";
            url_citation: components["schemas"]["OpenaiURLCitation"];
        };
        OpenaiURLCitation: {
            /** @description End of the marker. */
            end_index: number;
            /** @description Position of the marker in the content, in Unicode code points from 0. */
            start_index: number;
            title: string;
            url: string;
        };
        RageventsAnswer: {
            answer: string;
            cached: boolean;
            confidence?: components["schemas"]["RageventsAnswerConfidence"];
            duration_ms: components["schemas"]["EventMillis"];
            error?: components["schemas"]["RageventsError"];
            message?: string;
            model: components["schemas"]["RageventsModelName"];
            question: string;
            run_id: string;
            sources: components["schemas"]["RageventsSource"][];
            transaction: components["schemas"]["RageventsTransaction"];
        };
        RageventsAnswerConfidence: {
            confidence: number;
            llmAssessmentConfidence: number;
            /** Format: double */
            probability: number;
            reasoning: string;
            sourcesContributed: boolean;
            sourcesFound: number;
        };
        RageventsChain: {
            data: components["schemas"]["RageventsChainData"];
            /** @enum {string} */
            event: "on_chain_start" | "on_chain_stream" | "on_chain_end";
            /** Format: date-time */
            timestamp: string;
            /** @enum {string} */
            type: "event";
        };
        RageventsChainChunk: {
            _pairs?: components["schemas"]["RageventsScoredChunk"][];
            answer?: string;
            chatHistory?: components["schemas"]["RageventsMessage"][];
            context?: components["schemas"]["RageventsDocument"][];
            sourceRelevance?: components["schemas"]["RageventsRelevance"];
        };
        RageventsChainData: {
            chunk?: components["schemas"]["RageventsChainChunk"];
            input?: components["schemas"]["RageventsChainInput"];
            output?: components["schemas"]["RageventsChainOutput"];
        };
        RageventsChainInput: {
            input: string;
        };
        RageventsChainOutput: {
            answer: string;
            chatHistory?: components["schemas"]["RageventsMessage"][];
            context: components["schemas"]["RageventsDocument"][];
            input: string;
            sourceRelevance: components["schemas"]["RageventsRelevance"];
        };
        RageventsCitedPassage: {
            chunk_id: string;
            cited: boolean;
            n: number;
            pages?: number[];
            quote?: string;
            /** Format: double */
            score: number;
        };
        /** Format: int64 */
        RageventsDecimal: number;
        RageventsDocument: {
            metadata: components["schemas"]["RageventsDocumentMetadata"];
            pageContent: string;
        };
        RageventsDocumentMetadata: {
            chunk_id: string;
            document_id?: string;
            pages?: number[];
            /** Format: double */
            score: number;
            source?: string;
            title?: string;
        };
        RageventsDublinCore: {
            dc_creator?: string;
            dc_date?: string;
            dc_description?: string;
            dc_identifier?: string;
            dc_publisher?: string;
            dc_rights?: string;
            dc_source?: string;
            dc_title?: string;
        };
        RageventsEncoded: {
            /** @description A JSON text. */
            chunk: string;
            /** Format: date-time */
            timestamp: string;
            /** @enum {string} */
            type: "events-sources-attention" | "events-sources-data" | "events-sources-no-contribution" | "events-sources-message" | "events-metadata-summary" | "events-answer-confidence" | "transaction-summary";
        };
        RageventsError: {
            code: string;
            field?: string;
            message: string;
            /** Format: date-time */
            timestamp?: string;
            /** @enum {string} */
            type: "error";
        };
        RageventsEvent: components["schemas"]["RageventsProgress"] | components["schemas"]["RageventsModelInfo"] | components["schemas"]["RageventsChain"] | components["schemas"]["RageventsResults"] | components["schemas"]["RageventsEncoded"] | components["schemas"]["RageventsHeartbeat"] | components["schemas"]["RageventsError"];
        RageventsHeartbeat: {
            /** Format: date-time */
            timestamp: string;
            /** @enum {string} */
            type: "heartbeat";
        };
        RageventsMessage: {
            content: string;
            /**
             * @description Who speaks. human and ai stand for user and assistant.
             * @enum {string}
             */
            role: "user" | "assistant" | "human" | "ai";
        };
        RageventsModelInfo: {
            /** @enum {string} */
            mode: "platform" | "byok";
            model: string;
            provider: string;
            /** Format: date-time */
            timestamp: string;
            /** @enum {string} */
            type: "model_info";
        };
        RageventsModelName: {
            /** @enum {string} */
            mode: "platform" | "byok";
            model: string;
            provider: string;
        };
        RageventsPaidSource: {
            chunks_used: number;
            contributor_id: string;
            contributor_name: null | string;
            dublin_core: components["schemas"]["RageventsDublinCore"] | null;
            portion: components["schemas"]["RageventsDecimal"];
            roc_earned: components["schemas"]["RageventsDecimal"] | null;
            source_title: null | string;
            source_url: string;
        };
        RageventsProgress: {
            detail: components["schemas"]["RageventsProgressDetail"];
            /** @enum {string} */
            phase: "first_event" | "stream_initializing" | "vectorstore_initializing" | "vectorstore_ready" | "starting_rag_chain" | "rag_chain_started" | "completed";
            /** Format: date-time */
            timestamp: string;
            /** @enum {string} */
            type: "progress";
        };
        RageventsProgressDetail: {
            duration_ms?: number;
            method?: string;
            ttf_ms?: number;
        };
        RageventsRelevance: {
            confidence: number;
            reasoning: string;
            sourcesContributed: boolean;
        };
        RageventsRequest: {
            /** @description Collection to search. Default: that of the server, and all uploaded files. */
            collection?: string;
            /** @description Limits the documents that are read to those whose attributes match: a comparison, or filters joined by and or or. */
            filter?: components["schemas"]["FilterFilter"];
            /** @description Earlier messages of the conversation, oldest first. */
            history?: components["schemas"]["RageventsMessage"][];
            /**
             * @description How passages are found.
             * @default SimilaritySearch
             * @enum {string}
             */
            method?: "SimilaritySearch" | "SelfQuery" | "HybridSearch";
            /** @description Model that answers, in requests with a key in x-openai-key or x-anthropic-key. Otherwise ignored: the model of the server answers. */
            model?: string;
            /** @description Do not use the cache, and do not share the run. */
            no_cache?: boolean;
            /** @description The question, in any language. */
            question: string;
            /** @description Conversation of the question. */
            session_id?: string;
            /**
             * @description false: the reply is one JSON object.
             * @default true
             */
            stream?: boolean;
            /** @description Number of passages for the generator. 0 or left out: 5. */
            top_k?: number;
        };
        RageventsResults: {
            chunk: string;
            citation?: number;
            /** Format: date-time */
            timestamp: string;
            /** @enum {string} */
            type: "results";
        };
        RageventsScoredChunk: {
            chunk_id: string;
            /** Format: double */
            score: number;
        };
        RageventsSource: {
            attributes?: {
                [key: string]: unknown;
            };
            chunks_used: number;
            cited: boolean;
            document_id: string;
            dublin_core: components["schemas"]["RageventsDublinCore"] | null;
            passages: components["schemas"]["RageventsCitedPassage"][];
            portion: components["schemas"]["RageventsDecimal"];
            source_title: null | string;
            source_url: string;
        };
        RageventsTransaction: {
            balance_after: components["schemas"]["RageventsDecimal"] | null;
            balance_before: components["schemas"]["RageventsDecimal"] | null;
            platform_fee: components["schemas"]["RageventsDecimal"];
            roc_credits_distributed: components["schemas"]["RageventsDecimal"];
            sources: components["schemas"]["RageventsPaidSource"][];
            transaction_id: null | string;
            transaction_type: string;
            usage_duration_seconds: components["schemas"]["RageventsDecimal"];
        };
        ServerCancelling: {
            run_id: string;
            /**
             * @description Status at the time of the request. A run in progress ends soon after.
             * @enum {string}
             */
            status: "running" | "finished" | "failed" | "cancelled";
        };
        ServerHealth: {
            instance: string;
            live_runs: number;
            parts?: {
                [key: string]: components["schemas"]["ServerPart"];
            };
            progress?: components["schemas"]["ServerProgress"];
            /** @enum {string} */
            status: "ok" | "draining" | "starting" | "failed";
            version: string;
        };
        ServerPart: {
            detail?: string;
            /** @enum {string} */
            status: "ok" | "starting" | "degraded" | "failed";
        };
        ServerProgress: {
            answering: boolean;
            files_done: number;
            /** @description As far as they have been found. */
            files_total: number;
            /** @enum {string} */
            phase: "opening" | "indexing";
        };
        ServerRunDetail: {
            /** @description In the form of the default protocol's reply without a stream. */
            answer: unknown;
            collection: string;
            duration_ms: components["schemas"]["EventMillis"];
            error_code?: string;
            events: number;
            /**
             * @description As requested.
             * @enum {string}
             */
            mode: "agentic" | "direct";
            /** @description Protocol in which it was started. It can be streamed in any protocol. */
            protocol: string;
            query: string;
            /** @description Reasoning of the models, which is not part of the answer. */
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
            /** @description Value of the parameter before for the next page. */
            next?: string;
            runs: components["schemas"]["ServerRunSummary"][];
        };
        ServerRunSummary: {
            collection: string;
            duration_ms: components["schemas"]["EventMillis"];
            error_code?: string;
            events: number;
            /**
             * @description As requested.
             * @enum {string}
             */
            mode: "agentic" | "direct";
            /** @description Protocol in which it was started. It can be streamed in any protocol. */
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
        ServerStopRequest: {
            /** @description Id of the run. If it is set, no other run is cancelled. */
            activeStreamId?: string;
        };
        SessionsChangeRequest: {
            archived?: boolean;
            /** @description Id of an answer. Its branch becomes the active one. */
            head?: string;
            /** @description 1 to 300 bytes. */
            title?: string;
        };
        SessionsCreateRequest: {
            /** @description At most 128 bytes without control characters. The default is made by the server. */
            session_id?: string;
            /** @description At most 300 bytes. The default is made from the first question. */
            title?: string;
        };
        SessionsExport: {
            messages: components["schemas"]["SessionsMessage"][];
            session: components["schemas"]["SessionsSession"];
        };
        SessionsFeedback: {
            /** Format: date-time */
            rated_at: string;
            /** @enum {string} */
            rating: "good" | "bad";
            reason?: string;
        };
        SessionsList: {
            /** @description Value of the parameter after for the next page. */
            next?: string;
            sessions: components["schemas"]["SessionsSession"][];
        };
        SessionsMessage: {
            /** @description The documents do not hold an answer. */
            abstained?: boolean;
            citations?: components["schemas"]["TurnsCitation"][];
            /** @description 0 to 1. Only a completed answer has it. */
            confidence?: number;
            /** @description The text. Citations are not marked in it. While the answer is in progress: the text so far. */
            content: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            ended_at?: string;
            /** @description Why the answer is not complete. */
            error?: components["schemas"]["SessionsRunError"];
            feedback?: components["schemas"]["SessionsFeedback"];
            id: string;
            /** @description Id of the message before it. Left out for the first message of a branch. */
            parent?: string;
            /** @description Protocol of the request. */
            protocol?: string;
            /** @enum {string} */
            role: "user" | "assistant";
            /** @description Run of an answer. Its stream can be read in any protocol until the run is deleted. */
            run_id?: string;
            /** @description Ids of the messages with the same parent and role, including this one, if there are several. */
            siblings?: string[];
            /** @description The question as it was searched for, if it was rewritten. */
            standalone_question?: string;
            /** @enum {string} */
            status: "queued" | "running" | "completed" | "failed" | "cancelled" | "deleted";
        };
        SessionsMessages: {
            messages: components["schemas"]["SessionsMessage"][];
            /** @description Value of the parameter before for the page of older messages. */
            next?: string;
        };
        SessionsRateRequest: {
            /** @enum {string} */
            rating: "good" | "bad";
            /** @description At most 4,096 bytes. */
            reason?: string;
        };
        SessionsRunError: {
            code: string;
            message: string;
        };
        SessionsSession: {
            /** @description Account that the session belongs to. */
            account?: string;
            archived: boolean;
            /** Format: date-time */
            created_at: string;
            /** @description Id of the last message of the active branch. */
            head?: string;
            session_id: string;
            title: string;
            /** @description Who made the title: user, rules or the name of a model. */
            title_by?: string;
            /** @description Number of answers in all branches. */
            turns: number;
            /**
             * Format: date-time
             * @description Time of the last question, or of the creation.
             */
            used_at: string;
        };
        SourceResult: {
            added: number;
            /** @description How often it was started: more than once after restarts of the server. */
            attempt?: number;
            /** @description Sections, passages and sentences of added and updated documents. */
            chunks?: number;
            /** @description Documents of the source that are searchable at the end of the sync. Missing if they are not known, such as of paths. */
            documents?: number;
            /** Format: date-time */
            ended: string;
            /** @description Why the sync did not complete. The next one goes on from what is done. */
            error?: string;
            /** @description Documents that could not be read. Their earlier text is kept; the next sync tries again. */
            failed: number;
            /** @description The first 100 of them. */
            failures?: components["schemas"]["IngestFailure"][];
            /** @description Files that are not documents, or that the patterns leave out. */
            ignored: number;
            /** @description Id of the ingestion that had this result. */
            ingestion?: string;
            /** @description Part of added: documents whose bytes were at another path before. */
            moved: number;
            /** @description Documents that have vanished and were kept, because the place is empty and had at least 3, or has less than half as many as before and at least 20 fewer: it may not be mounted or complete. A sync or an ingestion with allow_removal removes them. */
            not_removed?: number;
            /** @description Documents of the collection that are from elsewhere. It is only counted if paths were ingested. */
            other?: number;
            removed: number;
            /** Format: date-time */
            started: string;
            unchanged: number;
            updated: number;
            /** @description Set if documents are only found by their words, because the embedder failed. */
            warning?: string;
        };
        SourcesChangeRequest: {
            /** @description Account to set as the contributor of all documents. An empty text removes it. */
            contributor?: string;
            /** @description Elements of the Dublin Core to set on all documents, such as dc_creator. They replace all elements that were set before, and take precedence over those in the documents. {} removes them. */
            dublin_core?: {
                [key: string]: string;
            };
            /** @description Time between two syncs, from 1m to 8784h, such as 1h or 1h30m. 0 ends the schedule. */
            every?: string;
            /** @description Attributes to set on all documents, such as {"team":"legal","year":2024}: texts, numbers and truth values, which the filters of questions and searches compare. They replace all that were set before. {} removes them. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Watch the source, and index changes at once. Only folders can be watched. */
            watch?: boolean;
        };
        SourcesDocsResult: {
            failed: number;
            /** @description The first 100 of them. */
            failures: components["schemas"]["IngestFailure"][];
        };
        SourcesPath: {
            collection: string;
            /** @description How many of its documents are indexed. */
            documents: number;
            path: string;
        };
        SourcesSourceList: {
            /** @description Files of --docs that are not indexed. It is missing if all are. */
            docs?: components["schemas"]["SourcesDocsResult"];
            /** @description Folders of the server below which folders can be added without a key of the scope tenants. */
            folders?: string[];
            /** @description Files and folders whose documents are indexed and that are no sources: those of --docs and of sluice ingest. They are only listed if the request asks for them. */
            paths?: components["schemas"]["SourcesPath"][];
            sources: components["schemas"]["SourcesSourceView"][];
        };
        SourcesSourceProgress: {
            /** @description The document that was finished last. */
            current?: string;
            done: number;
            total: number;
        };
        SourcesSourceRequest: {
            /** @description Collection of the documents. The default is that of the server. Questions only search another one if they name it. */
            collection?: string;
            /** @description Account to set as the contributor of all documents. An empty text removes it. */
            contributor?: string;
            /** @description Names credentials of the server, which are never shown: env:SLUICE_SOURCE_NAME, a variable, or file:NAME, a file in the folder source-credentials of its data folder. This needs a key of the scope tenants. */
            credentials?: string;
            /** @description Elements of the Dublin Core to set on all documents, such as dc_creator. They replace all elements that were set before, and take precedence over those in the documents. {} removes them. */
            dublin_core?: {
                [key: string]: string;
            };
            /** @description Time between two syncs, from 1m to 8784h, such as 1h or 1h30m. 0 ends the schedule. */
            every?: string;
            /** @description Patterns. A document must match none of them. */
            exclude?: string[];
            /** @description Patterns, such as *.pdf or reports/**. A document must match one of them, if there are any. A pattern without a slash is for the name of the file. */
            include?: string[];
            /**
             * @description Kind of the source. Without it, the location selects the kind: a path is a folder; git+https://… and a URL that ends in .git are git; imaps://… is imap; s3://… is s3; webdavs://… is webdav; several URLs, one of a text file (.txt) or of a document such as .pdf are urls; any other URL is web, a website.
             * @enum {string}
             */
            kind?: "folder" | "git" | "imap" | "s3" | "urls" | "web" | "webdav";
            /** @description Absolute path of the folder on the machine of the server, or URL of the website: its pages have URLs that begin with it. For s3, s3://HOST/BUCKET/PREFIX, or s3+http:// without TLS. For git, git+https://HOST/PATH#BRANCH:FOLDER; the branch and the folder may be missing. For imap, imaps://HOST/FOLDER, or imap://HOST/FOLDER with STARTTLS. For webdav, webdavs://HOST/PATH. For urls, URLs with spaces between them: of documents, or of lists (.txt) with one URL in each line. */
            location: string;
            /** @description Attributes to set on all documents, such as {"team":"legal","year":2024}: texts, numbers and truth values, which the filters of questions and searches compare. They replace all that were set before. {} removes them. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Watch the source, and index changes at once. Only folders can be watched. */
            watch?: boolean;
        };
        SourcesSourceView: {
            /** Format: date-time */
            added: string;
            /** @description Collection of the documents. */
            collection: string;
            contributor?: string;
            dublin_core?: {
                [key: string]: string;
            };
            /** @description Time between two syncs. */
            every?: string;
            exclude?: string[];
            id: string;
            include?: string[];
            /** @description Id of the sync in progress, or of the last one. Its stream is /api/ingestions/{id}/stream. */
            ingestion?: string;
            kind: string;
            /** @description Missing until the first sync has ended. */
            last_sync?: components["schemas"]["SourceResult"];
            location: string;
            /** @description Attributes of all documents. */
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When the next sync is due.
             */
            next_sync?: string;
            /** @description Of the sync in progress. It is missing while the documents are being listed. */
            progress?: components["schemas"]["SourcesSourceProgress"];
            /** @enum {string} */
            state: "idle" | "syncing" | "removing";
            watch?: boolean;
            /** @description Why the source cannot be watched. Until it can be, it is synced by its schedule, or once a minute. */
            watch_error?: string;
        };
        SourcesSyncRequest: {
            /** @description Remove all documents that have vanished. Without it, they are kept if the place is empty and had at least 3, or has less than half as many as before and at least 20 fewer. If a sync is in progress, the reply is 409. */
            allow_removal?: boolean;
            /** @description Read all documents again, also those whose time and size have not changed. Unchanged bytes are still not indexed again. */
            full?: boolean;
        };
        SummaryEvaluation: {
            /** Format: date-time */
            at: string;
            rows: components["schemas"]["SummaryRow"][];
        };
        SummaryRow: {
            measures: {
                [key: string]: components["schemas"]["SummaryValue"];
            };
            mode: string;
            p50_ns: components["schemas"]["TimeDuration"];
            questions: number;
            set: string;
        };
        SummaryValue: {
            /** Format: double */
            high: number;
            /** Format: double */
            low: number;
            /** Format: double */
            mean: number;
        };
        /** Format: int64 */
        TimeDuration: number;
        TurnsAnswer: {
            abstained?: boolean;
            cached: boolean;
            citations: components["schemas"]["TurnsCitation"][];
            /** Format: double */
            claim_support: number;
            /** Format: double */
            confidence: number;
            content: string;
            /** @enum {string} */
            error?: "chat_failed";
            incomplete?: boolean;
            message?: string;
            message_id: string;
            run_id: string;
            session_id: string;
            standalone_question?: string;
            tools_used: string[];
            usage: components["schemas"]["WireUsage"];
        };
        TurnsCitation: {
            chunk_id: string;
            document_id: string;
            end: number;
            index: number;
            page_numbers: number[];
            snippet: string;
            start: number;
            title: string;
        };
        TurnsEvent: components["schemas"]["TurnsSearch"] | components["schemas"]["TurnsReview"] | components["schemas"]["TurnsTrailer"];
        TurnsFailure: {
            code: string;
            message: string;
        };
        TurnsFault: {
            error: string;
            field?: string;
            message: string;
        };
        TurnsRequest: {
            /**
             * @description inline: a citation such as [2] also follows the text that it refers to.
             * @default trailer
             * @enum {string}
             */
            citations?: "trailer" | "inline";
            /** @description Collection to search. Default: that of the server, and all uploaded files. */
            collection?: string;
            /** @description The question, in any language. Required unless regenerate is set. */
            content?: string;
            /** @description Id of the question that this question replaces. Both are kept, as branches of the session. */
            edit?: string;
            /** @description Limits the documents that are read to those whose attributes match: a comparison, or filters joined by and or or. */
            filter?: components["schemas"]["FilterFilter"];
            /**
             * @description What is searched: vectors alone; words and vectors, among the documents that meet the conditions of the question; or words and vectors.
             * @default hybrid
             * @enum {string}
             */
            method?: "similarity" | "self_query" | "hybrid";
            /**
             * @description Method of answering.
             * @default agentic
             * @enum {string}
             */
            mode?: "agentic" | "direct";
            /** @description Do not use the cache, and do not share the run. */
            no_cache?: boolean;
            /** @description Id of the answer that the question follows. If it is left out, the question follows the last answer of the active branch. */
            parent?: string;
            /** @description Id of a question or an answer. The question is asked again with its earlier parameters, without the cache. */
            regenerate?: string;
            /** @description Number of passages for the generator. 0 or left out: 5. */
            top_k?: number;
            /** @description Wait until the earlier questions of the session are answered. Without it, the reply is 409 while an answer is in progress. */
            wait?: boolean;
        };
        TurnsReview: {
            /** @enum {string} */
            action: "proceed" | "re-retrieve" | "expand";
            ambiguous: number;
            correct: number;
            incorrect: number;
            iteration: number;
            /** @enum {string} */
            status: "completed";
            /** @enum {string} */
            type: "review";
        };
        TurnsSearch: {
            duration_ms?: number;
            error?: string;
            iteration: number;
            query: string;
            results?: number;
            /** @enum {string} */
            status: "started" | "completed" | "failed";
            tool: string;
            top_score?: number;
            /** @enum {string} */
            type: "search";
        };
        TurnsTrailer: {
            abstained?: boolean;
            cached: boolean;
            citations: components["schemas"]["TurnsCitation"][];
            /** Format: double */
            claim_support: number;
            /** Format: double */
            confidence: number;
            error?: components["schemas"]["TurnsFailure"];
            incomplete?: boolean;
            message_id: string;
            run_id: string;
            session_id: string;
            standalone_question?: string;
            tools_used: string[];
            usage: components["schemas"]["WireUsage"];
        };
        UistreamAbort: {
            reason: string;
            /** @enum {string} */
            type: "abort";
        };
        UistreamCitation: {
            /** @description The sentence of the source that supports the part. */
            citedText?: string;
            /** @description End of the part. */
            endIndex: number;
            source: components["schemas"]["UistreamCitedSource"];
            /** @description Start of the part in the text, in UTF-16 code units: an index of a string of JavaScript. */
            startIndex: number;
        };
        UistreamCitedSource: {
            filename?: string;
            /** @description The sourceId of the source. */
            id: string;
            mediaType?: string;
            /** @enum {string} */
            sourceType: "url" | "document";
            title: string;
            /** @enum {string} */
            type: "source";
            url?: string;
        };
        UistreamConfidencePart: {
            data: components["schemas"]["WireConfidence"];
            id: string;
            /** @enum {string} */
            type: "data-confidence";
        };
        UistreamCostPart: {
            data: components["schemas"]["WireCost"];
            id: string;
            /** @enum {string} */
            type: "data-cost";
        };
        UistreamError: {
            errorText: string;
            /** @enum {string} */
            type: "error";
        };
        UistreamEvent: components["schemas"]["UistreamStart"] | components["schemas"]["UistreamStep"] | components["schemas"]["UistreamTextStart"] | components["schemas"]["UistreamTextDelta"] | components["schemas"]["UistreamTextEnd"] | components["schemas"]["UistreamReasoning"] | components["schemas"]["UistreamReasoningDelta"] | components["schemas"]["UistreamToolInput"] | components["schemas"]["UistreamToolOutput"] | components["schemas"]["UistreamToolError"] | components["schemas"]["UistreamSourceURL"] | components["schemas"]["UistreamSourceDocument"] | components["schemas"]["UistreamConfidencePart"] | components["schemas"]["UistreamCostPart"] | components["schemas"]["UistreamFinish"] | components["schemas"]["UistreamError"] | components["schemas"]["UistreamAbort"];
        UistreamFinish: {
            /** @enum {string} */
            finishReason: "stop" | "length" | "content-filter" | "other";
            /** @enum {string} */
            type: "finish";
        };
        UistreamMessage: {
            parts: components["schemas"]["UistreamPart"][];
            /** @enum {string} */
            role: "system" | "user" | "assistant";
        };
        UistreamMetadata: {
            /** @description Id of the run. It can be read in any protocol. */
            runId: string;
        };
        UistreamPart: {
            /** @description A string, if the type is text. */
            text?: unknown;
            /** @description text, or another type. The question only has texts and data. */
            type: string;
        };
        UistreamPassage: {
            chunkId: string;
            documentId: string;
            heading?: string;
            /** @description Number of the source, from 1. */
            n: number;
            pages?: number[];
            /** @description The sentence that supports the first citation, or the beginning of the passage. */
            quote?: string;
            /**
             * Format: double
             * @description Relevance to the question, 0 to 1.
             */
            score: number;
        };
        UistreamReasoning: {
            id: string;
            /** @enum {string} */
            type: "reasoning-start" | "reasoning-end";
        };
        UistreamReasoningDelta: {
            delta: string;
            id: string;
            /** @enum {string} */
            type: "reasoning-delta";
        };
        UistreamRequest: {
            /** @description Collection to search, or another scope. */
            collection?: string;
            /** @description Id of the chat. It is the session of the question, and resumes the stream. */
            id?: string;
            /** @description Id of the message that was edited or is answered again. It is not used: messages has what precedes it. */
            messageId?: string;
            /** @description The last message with the role user is the question, and earlier ones are the history. Messages with the role system are instructions. */
            messages: components["schemas"]["UistreamMessage"][];
            /**
             * @description Method of answering.
             * @default agentic
             * @enum {string}
             */
            mode?: "agentic" | "direct";
            /** @description Model that writes the answer. An unknown name selects the default model. */
            model?: string;
            /**
             * @description regenerate-message: the question is answered again, without the cache.
             * @enum {string}
             */
            trigger?: "submit-message" | "regenerate-message";
        };
        UistreamSourceDocument: {
            filename?: string;
            mediaType: string;
            providerMetadata: components["schemas"]["UistreamSourceMetadata"];
            sourceId: string;
            title: string;
            /** @enum {string} */
            type: "source-document";
        };
        UistreamSourceMetadata: {
            sluice: components["schemas"]["UistreamPassage"];
        };
        UistreamSourceURL: {
            providerMetadata: components["schemas"]["UistreamSourceMetadata"];
            sourceId: string;
            title: string;
            /** @enum {string} */
            type: "source-url";
            url: string;
        };
        UistreamStart: {
            /** @description Id of the answer, also in its session. */
            messageId: string;
            messageMetadata: components["schemas"]["UistreamMetadata"];
            /** @enum {string} */
            type: "start";
        };
        UistreamStep: {
            /** @enum {string} */
            type: "start-step" | "finish-step";
        };
        UistreamTextDelta: {
            delta: string;
            id: string;
            /** @enum {string} */
            type: "text-delta";
        };
        UistreamTextEnd: {
            /** @description In the order of the text. Version 7 of the client keeps them. */
            citations?: components["schemas"]["UistreamCitation"][];
            id: string;
            /** @enum {string} */
            type: "text-end";
        };
        UistreamTextStart: {
            id: string;
            /** @enum {string} */
            type: "text-start";
        };
        UistreamToolError: {
            dynamic: boolean;
            errorText: string;
            providerExecuted: boolean;
            toolCallId: string;
            /** @enum {string} */
            type: "tool-output-error";
        };
        UistreamToolInput: {
            dynamic: boolean;
            input: unknown;
            providerExecuted: boolean;
            toolCallId: string;
            /** @description A search or another tool, grade_passages, or rerank_colbert. */
            toolName: string;
            /** @enum {string} */
            type: "tool-input-available";
        };
        UistreamToolOutput: {
            dynamic: boolean;
            /** @description Found, Result, Grades or Ranking, by the kind of the tool. */
            output: unknown;
            providerExecuted: boolean;
            toolCallId: string;
            /** @enum {string} */
            type: "tool-output-available";
        };
        WireConfidence: {
            /** @description The documents do not hold an answer. */
            abstained: boolean;
            cached: boolean;
            /**
             * Format: double
             * @description Share of the claims in the answer that the sources support, 0 to 1.
             */
            claimSupport: number;
            /** @description The sources do not support the answer. */
            flagged: boolean;
            /**
             * Format: double
             * @description Estimated probability that the answer is right, 0 to 1; 0 for an abstention.
             */
            probability: number;
        };
        WireCost: {
            /** @description Balance of the account after it. */
            balanceMicroCredits?: number;
            /** @description Requests to models. */
            calls: number;
            /** @description A provider did not report the tokens of some calls. */
            estimated: boolean;
            /** @description What the account was charged, in millionths of a credit. */
            feeMicroCredits?: number;
            inputTokens: number;
            models: string[];
            outputTokens: number;
        };
        WireDublinCore: {
            dc_creator?: string;
            dc_date?: string;
            dc_description?: string;
            /** @description Such as a DOI or ISBN. */
            dc_identifier?: string;
            dc_language?: string;
            dc_publisher?: string;
            dc_rights?: string;
            /** @description The resource that the document is derived from, such as its original URL. */
            dc_source?: string;
            dc_subject?: string;
            dc_title?: string;
        };
        WireUsage: {
            calls: number;
            estimated?: boolean;
            input_tokens: number;
            models: string[];
            output_tokens: number;
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
