// Calls by the Connect protocol in JSON: docs/http.md. The token stays in this module: it is gone on reload, and is in
// no URL, storage or log.
import { signal } from "@preact/signals";
import type { Methods } from "./types";

export type MethodName = keyof Methods;
export type Request<M extends MethodName> = Methods[M][0];
export type Response<M extends MethodName> = Methods[M][1];

const PREFIX = "/dpledger.v1.";
const MOST_BYTES = 32 << 20;
const TIMEOUT_MS = 60_000;

let token = "";
export const signedIn = signal(false);
// Counts refusals of credentials, so that the page asks for a token once for each.
export const refusals = signal(0);
export function signIn(secret: string) {
  token = secret.trim();
  signedIn.value = token !== "";
}

export class CallError extends Error {
  constructor(readonly code: string, message: string, readonly reason = "", readonly status = 0) {
    super(message);
  }
}

export const headers = (): Record<string, string> => (token ? { authorization: `Bearer ${token}` } : {});

function timeout(signal: AbortSignal | undefined, ms: number): { signal: AbortSignal; done: () => void; late: () => boolean } {
  const own = new AbortController();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    own.abort();
  }, ms);
  const abort = () => own.abort();
  signal?.addEventListener("abort", abort);
  return {
    signal: own.signal,
    late: () => late,
    done: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    },
  };
}

// Bytes of an answer, at most so many: a server that never ends must not fill the reader's memory.
export async function bounded(answer: globalThis.Response, most = MOST_BYTES): Promise<Uint8Array<ArrayBuffer>> {
  const reader = answer.body?.getReader();
  if (!reader) return new Uint8Array(await answer.arrayBuffer());
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new CallError("too_large", `the answer is larger than ${most >> 20} MiB`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

interface ErrorJson { code?: string; message?: string; details?: { type?: string; debug?: { reason?: string }; value?: string }[] }
// ErrorInfo's first field is the reason; its bytes stand in `value` where `debug` is left out.
function reasonOf(error: ErrorJson): string {
  for (const detail of error.details ?? []) {
    if (!detail.type?.endsWith("ErrorInfo")) continue;
    if (detail.debug?.reason) return detail.debug.reason;
    const bytes = atob((detail.value ?? "").replace(/-/g, "+").replace(/_/g, "/"));
    if (bytes.charCodeAt(0) === 10) return bytes.slice(2, 2 + bytes.charCodeAt(1));
  }
  return "";
}
function errorOf(error: ErrorJson, status: number): CallError {
  const code = error.code ?? "unknown";
  if (code === "unauthenticated") refusals.value++;
  return new CallError(code, error.message ?? "", reasonOf(error), status);
}

async function post(method: string, body: BodyInit, type: string, signal: AbortSignal): Promise<globalThis.Response> {
  return fetch(PREFIX + method, {
    method: "POST",
    headers: { "content-type": type, "connect-protocol-version": "1", ...headers() },
    body,
    signal,
    credentials: "same-origin",
    cache: "no-store",
  });
}
function failure(error: unknown, late: boolean, signal?: AbortSignal): unknown {
  if (error instanceof CallError) return error;
  if (signal?.aborted) return new CallError("canceled", "given up");
  if (late) return new CallError("deadline_exceeded", `the server did not answer within ${TIMEOUT_MS / 1000} s`);
  return new CallError("unavailable", "the server cannot be reached");
}

export async function call<M extends MethodName>(method: M, request: Request<M>, signal?: AbortSignal): Promise<Response<M>> {
  const limit = timeout(signal, TIMEOUT_MS);
  try {
    const answer = await post(method, JSON.stringify(request), "application/json", limit.signal);
    const text = new TextDecoder().decode(await bounded(answer));
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      throw new CallError("unknown", `the server answered ${answer.status} with something that is not JSON`, "", answer.status);
    }
    if (!answer.ok) throw errorOf(json as ErrorJson, answer.status);
    return json as Response<M>;
  } catch (error) {
    throw failure(error, limit.late(), signal);
  } finally {
    limit.done();
  }
}

// Messages of a stream as they come: a flag, the length in 4 bytes, and so much JSON; flag 2 ends it.
export async function* stream<M extends MethodName>(method: M, request: Request<M>, signal: AbortSignal): AsyncGenerator<Response<M>> {
  const json = new TextEncoder().encode(JSON.stringify(request));
  const framed = new Uint8Array(5 + json.length);
  new DataView(framed.buffer).setUint32(1, json.length);
  framed.set(json, 5);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    const answer = await post(method, framed, "application/connect+json", signal);
    if (!answer.ok || !answer.body) {
      let error: ErrorJson = { code: answer.status === 404 ? "unimplemented" : "unavailable", message: `the server answered ${answer.status}` };
      try {
        error = await answer.json();
      } catch { /* the status says it */ }
      throw errorOf(error, answer.status);
    }
    reader = answer.body.getReader();
    let rest = new Uint8Array(0);
    for (;;) {
      while (rest.length >= 5) {
        const size = new DataView(rest.buffer, rest.byteOffset).getUint32(1);
        if (size > MOST_BYTES) throw new CallError("too_large", "a message of the stream is too large");
        if (rest.length < 5 + size) break;
        const message = JSON.parse(new TextDecoder().decode(rest.subarray(5, 5 + size)));
        const end = (rest[0] & 2) !== 0;
        rest = rest.slice(5 + size);
        if (!end) yield message as Response<M>;
        else if (message.error) throw errorOf(message.error, 200);
        else return;
      }
      const { done, value } = await reader.read();
      if (done) throw new CallError("unavailable", "the server ended the stream in the middle");
      const joined = new Uint8Array(rest.length + value.length);
      joined.set(rest);
      joined.set(value, rest.length);
      rest = joined;
    }
  } catch (error) {
    throw failure(error, false, signal);
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

// The address under which a browser or curl gets the same answer (calls that change nothing).
export function jsonAddress<M extends MethodName>(method: M, request: Request<M>): string {
  const query = new URLSearchParams({ connect: "v1", encoding: "json", message: JSON.stringify(request) });
  return `${PREFIX}${method}?${query}`;
}
