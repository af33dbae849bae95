// Recomputes ε from a ledger's entries, by the accountant itself as WebAssembly (wasm/), and holds
// against it what somebody said. Whatever keeps it from an answer is a reason, and no failure.
import type { ComputeEpsilonRequest, ComputeEpsilonResponse, Interval, Method } from "../api/types";
import { textNear } from "../text/numbers";
import { adjacencyWords, regimeShort } from "../text/words";
import { Accountant } from "./accountant";
import type { Outcome } from "./job";

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
  reason?: string; // the accountant's, of what it did not answer
}

interface Asked {
  name: string;
  root: Uint8Array;
  claim: Claim;
  delta?: number;
  method?: Method;
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
  private constructor(
    private readonly accountant: Accountant,
    private left: number,
  ) {}

  // `inside`: the module in base 64, compressed, where nothing can be fetched. `most`: of how many
  // entries, the first of those that are taken.
  static async begin(inside: string | undefined, most = Infinity): Promise<CostCheck> {
    return new CostCheck(await Accountant.start(inside), most);
  }

  // Every entry, in order, each behind its length in 16 bits.
  take(tile: Uint8Array) {
    let end = 0;
    for (; end < tile.length && this.left > 0; this.left--)
      end += 2 + tile[end] * 256 + tile[end + 1];
    if (end > 0) this.accountant.ask((instance) => instance.add(tile.subarray(0, end)));
  }

  // Precondition: the first `most` of the entries taken are those whose tree has this root. `delta`
  // where the claim states none.
  verdict({ name, root, claim, delta = USUAL_DELTA, method }: Asked): Verdict {
    const { answer, who } = claim;
    const question = questionOf(answer, delta, method);
    const own = this.accountant.ask(
      (instance) => instance.epsilon({ name, root, question }) as ComputeEpsilonResponse,
    );
    if (!own) {
      const why = this.accountant.failure!.message.replace(/\.$/, "");
      return { outcome: "none", text: `Not recomputed here: ${why}.` };
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
  method: Method | undefined,
): ComputeEpsilonRequest {
  const { declarationSource, adjacency, groupSize } = said?.details ?? {};
  return {
    delta: Number(said?.delta ?? delta),
    options: {
      ...(method && { method }),
      ...(declarationSource === "STATED" && { adjacency }),
      ...(Number(groupSize) > 1 && { groupSize }),
    },
  };
}
