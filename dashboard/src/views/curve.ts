// ε over the rounds of a ledger: the same question about its first so many entries, at a few sizes.
import { useEffect, useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import type { Method } from "../api/types";
import type { Point } from "../chart/scale";
import { count, double } from "../text/numbers";

const POINTS = 24;
const AT_ONCE = 3; // of the six connections that a browser opens

// Denser at the beginning, where ε grows fastest; always the whole.
export function sizesOf(size: number): number[] {
  if (size < 2) return [];
  const sizes = new Set<number>([size]);
  for (let i = 1; i < POINTS; i++) sizes.add(Math.max(2, Math.round(1 + (size - 1) * (i / POINTS) ** 2)));
  return [...sizes].filter((one) => one <= size).sort((a, b) => a - b);
}

export interface CurvePoint extends Point { size: number; method: string; version: string }
const kept = new Map<string, CurvePoint[]>();

export function useCurve(ledger: string, size: number, delta: number, method: Method, on: boolean): { points: CurvePoint[]; busy: boolean; error?: CallError } {
  const key = `${ledger}@${size} ${delta} ${method}`;
  const [state, setState] = useState<{ points: CurvePoint[]; busy: boolean; error?: CallError }>({ points: kept.get(key) ?? [], busy: true });
  useEffect(() => {
    if (!on || size < 2) return;
    const found = kept.get(key);
    if (found) return setState({ points: found, busy: false });
    const control = new AbortController();
    const points: CurvePoint[] = [];
    const queue = sizesOf(size);
    let failed: CallError | undefined;
    const worker = async () => {
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
        try {
          const answer = await call("AccountingService/ComputeEpsilon", { subject: { ledgers: [ledger], upToSequence: String(one) }, delta, options: { method } }, control.signal);
          const rounds = count(answer.details?.ledgers?.[0]?.rounds);
          const epsilon = answer.epsilon ?? {};
          const lower = double(epsilon.lower);
          points.push({ x: rounds, lower: lower > 0 ? lower : null, upper: double(epsilon.upper), size: one, method: answer.details?.method ?? "", version: answer.details?.version ?? "" });
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
      // Ledgers without rounds are drawn over their entries.
      const rounds = points.some((point) => point.x > 0);
      for (const point of points) if (!rounds) point.x = point.size;
      points.sort((a, b) => a.size - b.size);
      if (!failed) kept.set(key, points);
      setState({ points, busy: false, error: failed });
    });
    return () => control.abort();
  }, [key, on]);
  return state;
}
