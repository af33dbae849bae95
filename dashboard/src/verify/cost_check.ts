// Recomputes ε from a ledger's entries, by the accountant itself as WebAssembly (wasm/), and holds
// against it what somebody said. Whatever keeps it from an answer is a reason, and no failure.
import { fromBase64 } from "../api/bytes";
import type { ComputeEpsilonRequest, ComputeEpsilonResponse, Interval } from "../api/types";
import { textNear } from "../text/numbers";
import { adjacencyWords, regimeShort } from "../text/words";
import type { Outcome } from "./check";
// Of wasm/npm, beside which build.mjs puts this.
import { Instance } from "./instance.js";

declare const WITH_ACCOUNTANT: boolean | undefined;
const USUAL_DELTA = 1e-5;

// What somebody says that these entries cost.
export interface Claim {
  answer?: ComputeEpsilonResponse;
  who: string; // "the server"
  none?: string; // why there is no answer
}
export interface Verdict {
  outcome: Outcome;
  text: string;
  expected?: string;
  found?: string;
}

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

const ends = ({ lower = 0, upper = 0 }: Interval) => [Number(lower), Number(upper)];
const shown = (interval: Interval) => `[${ends(interval).join(", ")}]`;
// Two intervals of one number have a number in common. (The same bits they need not be: a server
// has another processor and another Fourier transform.)
function agree(said: Interval | undefined, own: Interval | undefined): boolean {
  if (!said || !own) return !said && !own;
  const [[low, high], [lower, upper]] = [ends(said), ends(own)];
  return low <= high && low <= upper && high >= lower;
}

export class CostCheck {
  private accountant: Instance | undefined;
  private reason = "";

  // `inside`: the module in base 64, compressed, where nothing can be fetched.
  static async begin(inside: string | undefined): Promise<CostCheck> {
    const check = new CostCheck();
    try {
      check.accountant = await Instance.start(await compiled(inside));
    } catch (error) {
      check.stop(error as Error);
    }
    return check;
  }
  private stop({ message }: Error) {
    this.accountant = undefined;
    this.reason = message;
  }

  // Every entry, in order, each behind its length in 16 bits.
  take(tile: Uint8Array) {
    try {
      this.accountant?.add(tile);
    } catch (error) {
      this.stop(error as Error);
    }
  }

  // Precondition: the entries taken are those whose tree has this root. `delta` where the claim
  // states none.
  verdict(name: string, root: Uint8Array, claim: Claim, delta = USUAL_DELTA): Verdict {
    const none = (why: string): Verdict => ({
      outcome: "none",
      text: `Not recomputed here: ${why.replace(/\.$/, "")}.`,
    });
    if (!this.accountant) return none(this.reason);
    const { answer, who } = claim;
    const question = questionOf(answer, delta);
    let own: ComputeEpsilonResponse;
    try {
      own = this.accountant.epsilon({ name, root, question }) as ComputeEpsilonResponse;
    } catch (error) {
      return none((error as Error).message);
    }
    const { epsilon = {}, plannedEpsilon, details = {} } = own;
    const terms = [
      `δ = ${textNear(Number(question.delta))}`,
      adjacencyWords(details.adjacency),
      regimeShort(details.regime, ends(epsilon)[1]),
    ].join(", ");
    const plan = plannedEpsilon ? `, that of the whole plan in ${shown(plannedEpsilon)}` : "";
    const text = `Recomputed here: ε is in ${shown(epsilon)}${plan} (${terms}).`;
    // Entries of one ledger do not show what its budget's other runs did.
    const doubt = (details.warnings ?? []).find((line) => line.startsWith("BUDGET: "));
    const held = (words: string): Verdict =>
      doubt
        ? { outcome: "none", text: `${text} ${words} ${doubt.slice("BUDGET: ".length)}.` }
        : { outcome: "held", text: `${text} ${words}` };
    if (!answer) return held(claim.none ?? "");
    const words = (one: ComputeEpsilonResponse) =>
      [one.epsilon ?? {}, one.plannedEpsilon]
        .filter((found) => !!found)
        .map(shown)
        .join(", planned ");
    if (agree(answer.epsilon ?? {}, epsilon) && agree(answer.plannedEpsilon, plannedEpsilon))
      return held(`It agrees with ${who}’s, ${words(answer)}.`);
    return {
      outcome: "failed",
      text: `${text} What ${who} says is another number: ${words(answer)}.`,
    };
  }
}

// In the terms of the claim.
function questionOf(
  said: ComputeEpsilonResponse | undefined,
  delta: number,
): ComputeEpsilonRequest {
  const { declarationSource, adjacency, groupSize } = said?.details ?? {};
  return {
    delta: Number(said?.delta ?? delta),
    options: {
      ...(declarationSource === "STATED" && { adjacency }),
      ...(Number(groupSize) > 1 && { groupSize }),
    },
  };
}
