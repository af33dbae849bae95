// ε over the rounds of a ledger: the same question about its first so many entries, at a few sizes.
import { useEffect, useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import type { Method } from "../api/types";
import type { Point } from "../chart/scale";
import { number } from "../text/numbers";

const POINTS = 32;
const AT_ONCE = 3; // of the six connections that a browser opens

// Denser at the beginning, where ε grows fastest; always the first entry, by which a fork has its
// parents' cost and a filter its bound, and the whole. The others stay the same until a ledger has
// doubled, so that one which grows is asked about anew at its end alone.
function sizesOf(size: number): number[] {
  if (size < 2) return [];
  const far = 2 ** Math.ceil(Math.log2(size));
  const sizes = new Set<number>([1, size]);
  for (let i = 1; i < POINTS; i++) {
    sizes.add(Math.round(1 + (far - 1) * (i / POINTS) ** 2));
  }
  return [...sizes].filter((one) => one <= size).sort((a, b) => a - b);
}

export interface CurvePoint extends Point {
  size: number;
  method: string;
  version: string;
}
export interface Curve {
  points: CurvePoint[];
  busy: boolean;
  error?: CallError;
}
const kept = new Map<string, Map<number, CurvePoint>>(); // by size; of a ledger, a δ and a method
// Ledgers without rounds are drawn over their entries.
function drawn(points: CurvePoint[]): CurvePoint[] {
  const rounds = points.some((point) => point.x > 0);
  return points.map((point) => (rounds ? point : { ...point, x: point.size }));
}

async function ask(
  ledger: string,
  size: number,
  delta: number,
  method: Method,
  signal: AbortSignal,
): Promise<CurvePoint> {
  const subject = { ledgers: [ledger], upToSequence: String(size) };
  const question = { subject, delta, options: { method } };
  const answer = await call("AccountingService/ComputeEpsilon", question, signal);
  const { epsilon, details } = answer;
  const upper = number(epsilon?.upper);
  return {
    x: number(details?.ledgers?.[0]?.rounds),
    // A method that has none leaves it out; of nothing, 0 is left out.
    lower: upper === 0 ? 0 : number(epsilon?.lower) || null,
    upper,
    size,
    method: details?.method ?? "",
    version: details?.version ?? "",
  };
}

export function useCurve(
  ledger: string,
  size: number,
  delta: number,
  method: Method,
  on: boolean,
): Curve {
  const key = `${ledger} ${delta} ${method}`;
  const [state, setState] = useState<Curve>(() => {
    const points = [...(kept.get(key)?.values() ?? [])].sort((a, b) => a.size - b.size);
    return { points: drawn(points), busy: true };
  });
  useEffect(() => {
    if (!on || size < 2) return;
    const control = new AbortController();
    const known = kept.get(key) ?? new Map<number, CurvePoint>();
    kept.set(key, known);
    const sizes = sizesOf(size);
    const queue = sizes.filter((one) => !known.has(one));
    let error: CallError | undefined;
    const worker = async () => {
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
        try {
          known.set(one, await ask(ledger, one, delta, method, control.signal));
        } catch (failed) {
          error = failed as CallError;
          queue.length = 0;
        }
      }
    };
    setState((old) => ({ ...old, busy: true, error: undefined }));
    Promise.all(Array.from({ length: AT_ONCE }, worker)).then(() => {
      if (control.signal.aborted) return;
      for (const one of known.keys()) if (!sizes.includes(one)) known.delete(one);
      const points = drawn(sizes.flatMap((one) => known.get(one) ?? []));
      setState({ points, busy: false, error });
    });
    return () => control.abort();
  }, [key, size, on]);
  return state;
}

export const CurveNote = () => (
  <p class="faint pad">
    Worked out at some sizes, of which the first is that of one entry. Between two of them the line
    stands at the later one’s cost: it is nowhere below the true one.
  </p>
);
