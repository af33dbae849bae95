// The checks, beside the page: a million hashes must not stop its scrolling.
import { check } from "./check";
import type { Job } from "./job";
import type { Verify } from "./note";

// Only where the browser has no Ed25519 (or no secure context) is this loaded.
const fallback = async (): Promise<Verify> => {
  const { ed25519 } = await import("@noble/curves/ed25519");
  return async (key, message, signature) => {
    try {
      return ed25519.verify(signature, message, key, { zip215: false });
    } catch {
      return false;
    }
  };
};
const scope = self as unknown as {
  onmessage: (event: MessageEvent<Job>) => void;
  postMessage: (message: unknown) => void;
};
scope.onmessage = (event) =>
  void check(event.data, (message) => scope.postMessage(message), fallback);
