/** The server refused a request, or failed to process it. */
export class SluiceError extends Error {
  override readonly name = "SluiceError";

  constructor(
    message: string,
    /** The HTTP status, or 0 if the error is not from an HTTP status. */
    readonly status: number,
    /** The error code of the server, such as NOT_FOUND. */
    readonly code: string,
    /** The invalid field of the request, if the server names one. */
    readonly field?: string,
    /** Milliseconds after which the request can be repeated. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/**
 * The connection failed, or was lost and could not be restored. If `run` is set, the run may still be active:
 * `runs.stream(run, { after: lastEventId })` resumes its stream.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";

  constructor(
    message: string,
    readonly run?: string,
    readonly lastEventId?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The run failed or was cancelled. */
export class RunError extends Error {
  override readonly name = "RunError";

  constructor(
    message: string,
    /** The code of the failure, such as TIMEOUT. */
    readonly code: string,
    readonly run: string | undefined,
    /** The final state, with the answer so far. */
    readonly state: unknown,
  ) {
    super(message);
  }
}

/** The server sent an invalid reply. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Converts a response of status 300 or higher to an error. The body can have any format; only its begin is read. */
export async function refusal(res: Response): Promise<SluiceError> {
  let body: unknown;
  try {
    body = JSON.parse(await head(res, 64 << 10));
  } catch {
    body = undefined;
  }
  const outer = object(body);
  const inner = object(outer?.["error"]) ?? outer; // some formats nest the error
  const text = (key: string) => {
    const value = inner?.[key] ?? outer?.[key];
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  };
  const detail = object(outer?.["detail"]);
  const field = text("field") ?? text("param") ?? (typeof detail?.["field"] === "string" ? detail["field"] : undefined);
  const named = typeof outer?.["error"] === "string" ? outer["error"].toUpperCase() : undefined; // the turns protocol
  const code = typeof detail?.["code"] === "string" ? detail["code"] : (text("code") ?? named);
  return new SluiceError(text("message") ?? `the server answered ${res.status}`, res.status, code ?? "HTTP_" + res.status, field, retryAfter(res));
}

/** Returns the delay of Retry-After, seconds or a date, in milliseconds from now. */
export function retryAfter(res: Response): number | undefined {
  const value = res.headers.get("retry-after")?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function object(v: unknown): Record<string, unknown> | undefined {
  return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : undefined;
}

async function head(res: Response, max: number): Promise<string> {
  if (!res.body) return "";
  const reader = res.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || text.length > max) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
