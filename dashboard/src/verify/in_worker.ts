// Starts the worker. The page's policy lets a worker come from one constant address alone, through
// a named trusted type; the single-file verifier carries the worker's source in itself.
import { urlOf } from "../prefix";
import type { Job, Message } from "./job";

declare const WORKER_SOURCE: string | undefined;
const ADDRESS = urlOf("/assets/worker.js");
interface Policy {
  createScriptURL(text: string): string;
}
let policy: Policy | undefined;

function start(): Worker {
  if (typeof WORKER_SOURCE === "string")
    return new Worker(URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" })));
  const types = (
    globalThis as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }
  ).trustedTypes;
  policy ??= types?.createPolicy("dpledger-worker", {
    createScriptURL: (text) => {
      if (text !== ADDRESS) throw new TypeError("no such worker");
      return text;
    },
  });
  return new Worker(policy ? policy.createScriptURL(ADDRESS) : ADDRESS, { type: "module" });
}

export function run(
  job: Job,
  heard: (message: Message) => void,
  broken: (why: string) => void,
): () => void {
  const worker = start();
  worker.onmessage = (event: MessageEvent<Message>) => {
    heard(event.data);
    if (event.data.type === "end") worker.terminate();
  };
  worker.onerror = (event) => broken(event.message || "the worker did not start");
  worker.postMessage(job);
  return () => worker.terminate();
}
