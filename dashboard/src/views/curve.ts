// ε over the rounds of a ledger: the same question about its first so many entries, at a few sizes.
import { useEffect, useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import type { Method } from "../api/types";
import type { Point } from "../chart/scale";
import { count, double } from "../text/numbers";

const POINTS = 32;
const AT_ONCE = 3; // of the six connections that a browser opens

// Denser at the beginning, where ε grows fastest; always the whole. The others stay the same until a ledger has doubled,
// so that one which grows is asked about anew at its end alone.
export function sizesOf(size: number): number[] {
  if (size < 2) return [];
  const far = 2 ** Math.ceil(Math.log2(size));
  const sizes = new Set<number>([size]);
  for (let i = 1; i < POINTS; i++) sizes.add(Math.max(2, Math.round(1 + (far - 1) * (i / POINTS) ** 2)));
  return [...sizes].filter((one) => one <= size).sort((a, b) => a - b);
}

export interface CurvePoint extends Point { size: number; method: string; version: string }
const kept = new Map<string, Map<number, CurvePoint>>(); // by size; of a ledger, a δ and a method
// Ledgers without rounds are drawn over their entries.
function drawn(points: CurvePoint[]): CurvePoint[] {
  const rounds = points.some((point) => point.x > 0);
  return points.map((point) => (rounds ? point : { ...point, x: point.size }));
}

export function useCurve(ledger: string, size: number, delta: number, method: Method, on: boolean): { points: CurvePoint[]; busy: boolean; error?: CallError } {
  const key = `${ledger} ${delta} ${method}`;
  const [state, setState] = useState<{ points: CurvePoint[]; busy: boolean; error?: CallError }>({ points: drawn([...(kept.get(key)?.values() ?? [])].sort((a, b) => a.size - b.size)), busy: true });
  useEffect(() => {
    if (!on || size < 2) return;
    const control = new AbortController();
    const known = kept.get(key) ?? new Map<number, CurvePoint>();
    kept.set(key, known);
    const sizes = sizesOf(size);
    const queue = sizes.filter((one) => !known.has(one));
    let failed: CallError | undefined;
    const worker = async () => {
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
        try {
          const answer = await call("AccountingService/ComputeEpsilon", { subject: { ledgers: [ledger], upToSequence: String(one) }, delta, options: { method } }, control.signal);
          const epsilon = answer.epsilon ?? {};
          const lower = double(epsilon.lower);
          known.set(one, { x: count(answer.details?.ledgers?.[0]?.rounds), lower: lower > 0 ? lower : null, upper: double(epsilon.upper), size: one, method: answer.details?.method ?? "", version: answer.details?.version ?? "" });
        } catch (error) {
          failed = error as CallError;
          if (control.signal.aborted) return;
          queue.length = 0;
        }
      }
    };
    setState((old) => ({ ...old, busy: true, error: undefined }));
    Promise.all(Array.from({ length: AT_ONCE }, worker)).then(() => {
      if (control.signal.aborted) return;
      for (const one of known.keys()) if (!sizes.includes(one)) known.delete(one);
      setState({ points: drawn(sizes.flatMap((one) => known.get(one) ?? [])), busy: false, error: failed });
    });
    return () => control.abort();
  }, [key, size, on]);
  return state;
}
