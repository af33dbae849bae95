// Calls by the Connect protocol in JSON: docs/http.md. The token stays in this module: it is gone
// on reload, and is in no URL, storage or log.
import { signal } from "@preact/signals";
import { urlOf } from "../prefix";
import { joined } from "./bytes";
import type { Methods } from "./types";

export type MethodName = keyof Methods;
export type Request<M extends MethodName> = Methods[M][0];
export type Response<M extends MethodName> = Methods[M][1];

const urlOfMethod = (method: MethodName) => urlOf(`/dpledger.v1.${method}`);
const MOST_BYTES = 32 << 20;
const TIMEOUT_MS = 60_000;

let token = "";
let times = 0; // that this page has signed in or out
export const signedIn = signal(false);
// Counts refusals of credentials, so that the page asks for a token once for each.
export const refusals = signal(0);
// What was denied or refused: it is not asked again with every view and change, since the server
// records each refusal; until the reader signs in or asks again.
const denied = new Map<string, CallError>();
export const forgetDenied = () => denied.clear();
// The first call of whom the page is now, until it is refused. The others wait for it, so that of a
// view that is refused as a whole one refusal is on record; not for ever, as it may be about much.
// (A server takes a second to refuse a caller that it does not know.)
let first: Promise<CallError | undefined> | undefined;
const FIRST_MS = 3000;
const later = (ms: number) => new Promise<undefined>((done) => setTimeout(done, ms));
export function signIn(secret: string) {
  times++;
  first = undefined;
  forgetDenied();
  token = secret.trim();
  signedIn.value = token !== "";
}

export class CallError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly reason = "",
  ) {
    super(message);
  }
}

export const headers = (): Record<string, string> =>
  token ? { authorization: `Bearer ${token}` } : {};

function timeout(signal: AbortSignal | undefined, ms: number) {
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
async function bounded(answer: globalThis.Response): Promise<Uint8Array> {
  const reader = answer.body?.getReader();
  if (!reader) return new Uint8Array(await answer.arrayBuffer());
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(...parts);
    size += value.length;
    if (size > MOST_BYTES) {
      await reader.cancel();
      throw new CallError("too_large", `the answer is larger than ${MOST_BYTES >> 20} MiB`);
    }
    parts.push(value);
  }
}

interface ErrorJson {
  code?: string;
  message?: string;
  details?: { type?: string; value?: string }[];
}
// `asked`: the times when the call was made. A refusal of who the page was before is late, and none
// of who it is: without a token it may be nobody, and then whom the cookie names.
function errorOf(
  { code = "unknown", message = "", details = [] }: ErrorJson,
  asked: number,
): CallError {
  if (code === "unauthenticated" && asked === times) refusals.value++;
  // ErrorInfo's first field is the reason.
  const info = details.find((detail) => detail.type?.endsWith("ErrorInfo"))?.value ?? "";
  const bytes = atob(info.replace(/-/g, "+").replace(/_/g, "/"));
  const reason = bytes.charCodeAt(0) === 10 ? bytes.slice(2, 2 + bytes.charCodeAt(1)) : "";
  return new CallError(code, message, reason);
}

const post = (method: MethodName, body: BodyInit, type: string, signal: AbortSignal) =>
  fetch(urlOfMethod(method), {
    method: "POST",
    headers: { "content-type": type, "connect-protocol-version": "1", ...headers() },
    body,
    signal,
    credentials: "same-origin",
    cache: "no-store",
  });

function failure(error: unknown, late: boolean, signal?: AbortSignal): unknown {
  if (error instanceof CallError) return error;
  if (signal?.aborted) return new CallError("canceled", "given up");
  const seconds = TIMEOUT_MS / 1000;
  if (late) return new CallError("deadline_exceeded", `the server did not answer in ${seconds} s`);
  return new CallError("unavailable", "the server cannot be reached");
}

const notJson = (status: number) =>
  new CallError("unknown", `the server answered ${status} with something that is not JSON`);

function noteRefusal(key: string, error: CallError) {
  if (["permission_denied", "unauthenticated"].includes(error.code)) denied.set(key, error);
}
export async function call<M extends MethodName>(
  method: M,
  request: Request<M>,
  signal?: AbortSignal,
): Promise<Response<M>> {
  const key = method + JSON.stringify(request);
  const before = denied.get(key);
  if (before) throw before;
  if (first) {
    const refused = await Promise.race([first, later(FIRST_MS)]);
    if (refused) {
      noteRefusal(key, refused);
      throw refused;
    }
    return ask(method, request, signal);
  }
  const answer = ask(method, request, signal);
  const own = (first = answer.then(
    () => undefined,
    (error: CallError) => {
      if (first === own) first = undefined; // the next call is as good
      return error.code === "unauthenticated" ? error : undefined;
    },
  ));
  return answer;
}
async function ask<M extends MethodName>(
  method: M,
  request: Request<M>,
  signal?: AbortSignal,
): Promise<Response<M>> {
  const asked = times;
  const body = JSON.stringify(request);
  const limit = timeout(signal, TIMEOUT_MS);
  try {
    const answer = await post(method, body, "application/json", limit.signal);
    const text = new TextDecoder().decode(await bounded(answer));
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      throw notJson(answer.status);
    }
    if (!answer.ok) {
      const error = errorOf(json as ErrorJson, asked);
      if (asked === times) noteRefusal(method + body, error);
      throw error;
    }
    return json as Response<M>;
  } catch (error) {
    throw failure(error, limit.late(), signal);
  } finally {
    limit.done();
  }
}

// The answers of a list, a page after the other, until there are no more or `take` returns false.
type Listing = { [M in MethodName]: Response<M> extends { nextPageToken?: string } ? M : never };
export async function everyPage<M extends Listing[MethodName]>(
  method: M,
  request: Request<M>,
  take: (answer: Response<M>) => unknown,
  signal?: AbortSignal,
) {
  for (let pageToken: string | undefined = ""; pageToken !== undefined;) {
    const answer: Response<M> = await call(method, { ...request, pageToken }, signal);
    if (take(answer) === false) return;
    pageToken = (answer as { nextPageToken?: string }).nextPageToken || undefined;
  }
}

// Messages of a stream as they come: a flag, the length in 4 bytes, and so much JSON; flag 2 ends
// it. It is never the first call: a proxy may hold its answer back.
export async function* stream<M extends MethodName>(
  method: M,
  request: Request<M>,
  signal: AbortSignal,
): AsyncGenerator<Response<M>> {
  for (let waited = 0; !first && waited < 500; waited += 50) await later(50);
  const refused = first && (await Promise.race([first, later(FIRST_MS)]));
  const key = method + JSON.stringify(request);
  if (refused) noteRefusal(key, refused);
  const before = denied.get(key);
  if (before) throw before;
  const json = new TextEncoder().encode(JSON.stringify(request));
  const head = new Uint8Array(5);
  new DataView(head.buffer).setUint32(1, json.length);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const asked = times;
  try {
    const answer = await post(method, joined(head, json), "application/connect+json", signal);
    if (!answer.ok || !answer.body) {
      const json = await answer.json().catch(() => {
        throw notJson(answer.status);
      });
      throw errorOf(json, asked);
    }
    reader = answer.body.getReader();
    let rest = new Uint8Array(0);
    for (;;) {
      while (rest.length >= 5) {
        const size = new DataView(rest.buffer, rest.byteOffset).getUint32(1);
        if (size > MOST_BYTES) throw new CallError("too_large", "a message is too large");
        if (rest.length < 5 + size) break;
        const message = JSON.parse(new TextDecoder().decode(rest.subarray(5, 5 + size)));
        const end = (rest[0] & 2) !== 0;
        rest = rest.slice(5 + size);
        if (!end) yield message as Response<M>;
        else if (message.error) throw errorOf(message.error, asked);
        else return;
      }
      const { done, value } = await reader.read();
      if (done) throw new CallError("unavailable", "the server ended the stream in the middle");
      rest = joined(rest, value);
    }
  } catch (error) {
    if (error instanceof CallError && asked === times) noteRefusal(key, error);
    throw failure(error, false, signal);
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

// The URL under which a browser or curl gets the same answer (calls that change nothing).
export function jsonAddress<M extends MethodName>(method: M, request: Request<M>): string {
  const message = JSON.stringify(request);
  const query = new URLSearchParams({ connect: "v1", encoding: "json", message });
  return `${urlOfMethod(method)}?${query}`;
}
