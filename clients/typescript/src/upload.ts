import type { Uploadable } from "./files.js";
import type { BodyOf } from "./http.js";

/** How much of an upload was sent. */
export interface UploadProgress {
  /** Bytes, of the file and the form around it. */
  loaded: number;
  /** Undefined where the length of a stream is not known. */
  total: number | undefined;
}

/** An upload as the body of a request. */
export interface UploadForm {
  type: string;
  body: () => BodyOf;
  /** Whether the body can be made a second time. */
  again: boolean;
}

/** Makes the form of an upload (RFC 7578), its fields before the file. */
export async function formOf(data: Uploadable, name: string | undefined, type: string | undefined, fields: Record<string, string>,
  onProgress?: (p: UploadProgress) => void): Promise<UploadForm> {
  if (data instanceof ReadableStream && !streams()) data = await new Response(data).blob();
  name ??= typeof File !== "undefined" && data instanceof File ? data.name : "file";
  type ??= (data instanceof Blob && data.type) || "application/octet-stream";
  const boundary = "sluice-" + crypto.getRandomValues(new Uint32Array(4)).join("-");
  let head = "";
  for (const [field, value] of Object.entries(fields)) head += `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`;
  // Percent-encoded as aiohttp does it, so that any name is one of plain letters. Half characters are replaced.
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
 * Whether a request's body can be a stream. Browsers can not, or only over HTTP/2, which cannot be known beforehand: they are
 * told by what only they have.
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

/** A fetch by XMLHttpRequest, which is what in browsers can tell how much of a body was sent. */
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
