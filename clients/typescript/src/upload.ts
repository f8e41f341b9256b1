import type { Uploadable } from "./files.js";
import type { BodyOf } from "./http.js";

/** The progress of an upload. */
export interface UploadProgress {
  /** Bytes sent, including the form around the file. */
  loaded: number;
  /** Total bytes; undefined if the length of a stream is unknown. */
  total: number | undefined;
}

/** The body of an upload request. */
export interface UploadForm {
  type: string;
  body: () => BodyOf;
  /** Whether the body can be created again for a retry. */
  again: boolean;
}

/** Creates the form of an upload (RFC 7578), with the fields before the file. */
export async function formOf(data: Uploadable, name: string | undefined, type: string | undefined, fields: Record<string, string>,
  onProgress?: (p: UploadProgress) => void): Promise<UploadForm> {
  if (data instanceof ReadableStream && !streams()) data = await new Response(data).blob();
  name ??= typeof File !== "undefined" && data instanceof File ? data.name : "file";
  type ??= (data instanceof Blob && data.type) || "application/octet-stream";
  const boundary = "sluice-" + crypto.getRandomValues(new Uint32Array(4)).join("-");
  let head = "";
  for (const [field, value] of Object.entries(fields)) head += `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`;
  // Percent-encoded like aiohttp, so that any name is ASCII. Lone surrogates are replaced.
  const filename = encodeURIComponent(new TextDecoder().decode(new TextEncoder().encode(name))).replace(/['()*!]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
  head += `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: ${type.replace(/[\r\n]/g, " ")}\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  const form = { type: `multipart/form-data; boundary=${boundary}` };
  if (data instanceof ReadableStream) {
    const source = data;
    return { ...form, again: false, body: () => counted(joined(head, source, tail), undefined, onProgress) };
  }
  const whole = new Blob([head, data as BlobPart, tail]);
  const stream = onProgress && streams();
  return { ...form, again: true, body: () => (stream ? counted(whole.stream(), whole.size, onProgress) : whole) };
}

/**
 * Reports whether a request body can be a stream. Browsers support this only over HTTP/2, which is unknown before the request,
 * so it is not used in browsers.
 */
function streams(): boolean {
  if (typeof XMLHttpRequest !== "undefined" || "ServiceWorkerGlobalScope" in globalThis) return false;
  let asked = false;
  const init = {
    method: "POST",
    body: new ReadableStream(),
    get duplex() {
      asked = true;
      return "half";
    },
  };
  return !new Request("http://localhost", init).headers.has("content-type") && asked;
}

function joined(head: string, body: ReadableStream<Uint8Array>, tail: string): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const encoder = new TextEncoder();
  return new ReadableStream({
    start: (c) => c.enqueue(encoder.encode(head)),
    async pull(c) {
      const { done, value } = await reader.read();
      if (!done) return c.enqueue(value);
      c.enqueue(encoder.encode(tail));
      c.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function counted(body: ReadableStream<Uint8Array>, total: number | undefined, tell?: (p: UploadProgress) => void): ReadableStream<Uint8Array> {
  if (!tell) return body;
  let loaded = 0;
  return body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, c) {
      c.enqueue(piece);
      loaded += piece.length;
      tell({ loaded, total });
    },
  }));
}

/** A fetch by XMLHttpRequest, which reports the progress of uploads in browsers. */
export function xhr(tell: (p: UploadProgress) => void) {
  return (url: string, init: RequestInit = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const x = new XMLHttpRequest();
      const signal = init.signal;
      const stop = () => {
        x.abort();
        reject(signal?.reason);
      };
      if (signal?.aborted) return stop();
      signal?.addEventListener("abort", stop, { once: true });
      x.open(init.method ?? "GET", url);
      new Headers(init.headers).forEach((value, name) => x.setRequestHeader(name, value));
      x.upload.onprogress = (e) => tell({ loaded: e.loaded, total: e.lengthComputable ? e.total : undefined });
      x.onerror = () => reject(new TypeError("the connection failed"));
      x.onloadend = () => signal?.removeEventListener("abort", stop);
      x.onload = () => {
        const headers = new Headers();
        for (const line of x.getAllResponseHeaders().trim().split(/\r?\n/)) {
          const colon = line.indexOf(":");
          if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
        }
        resolve(new Response(x.responseText || null, { status: x.status, headers }));
      };
      x.send(init.body as XMLHttpRequestBodyInit);
    });
}
