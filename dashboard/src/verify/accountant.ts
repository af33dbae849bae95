// The accountant itself as WebAssembly (wasm/), for the checks. Whatever keeps it from an answer is
// a reason that they give, and no failure.
import { fromBase64 } from "../api/bytes";
// Of wasm/npm, beside which build.mjs puts this.
import { Instance } from "./instance.js";

declare const WITH_ACCOUNTANT: boolean | undefined;

async function packed(inside: string | undefined): Promise<ReadableStream<BufferSource>> {
  if (typeof WITH_ACCOUNTANT !== "boolean" || !WITH_ACCOUNTANT)
    throw new Error("no accounting is in this page, which was built without it");
  if (inside !== undefined) return new Blob([fromBase64(inside)]).stream();
  const answer = await fetch(new URL("accountant.wasm.gz", self.location.href)).catch(() => {
    throw new Error("the accountant could not be fetched");
  });
  if (!answer.ok) throw new Error(`the accountant was not there (${answer.status})`);
  return answer.body!;
}

const POLICY = /content security|CSP|unsafe-eval|disallowed by embedder/i;
async function compiled(inside: string | undefined): Promise<WebAssembly.Module> {
  if (typeof WebAssembly !== "object") throw new Error("this browser has no WebAssembly");
  const stream = await packed(inside);
  try {
    const whole = new Response(stream.pipeThrough(new DecompressionStream("gzip")));
    return await WebAssembly.compile(await whole.arrayBuffer());
  } catch (error) {
    const { message } = error as Error;
    const why = "a policy of this browser or page does not let WebAssembly run";
    throw new Error(POLICY.test(message) ? why : `the accountant cannot be read: ${message}`);
  }
}

// One for all files of a check.
let module: Promise<WebAssembly.Module> | undefined;

export class Accountant {
  private instance: Instance | undefined;
  failure: Error | undefined; // the first

  // `inside`: the module in base 64, compressed, where nothing can be fetched.
  static async start(inside: string | undefined): Promise<Accountant> {
    const accountant = new Accountant();
    try {
      accountant.instance = await Instance.start(await (module ??= compiled(inside)));
    } catch (error) {
      accountant.failure = error as Error;
    }
    return accountant;
  }

  // Undefined: see `failure`. After one it is asked nothing more.
  ask<Answer>(question: (instance: Instance) => Answer): Answer | undefined {
    if (!this.instance) return undefined;
    try {
      return question(this.instance);
    } catch (error) {
      this.failure = error as Error;
      this.instance = undefined;
      return undefined;
    }
  }
}
