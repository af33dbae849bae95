// What this browser has seen of each registry: so that a server that shows another history later is
// noticed. Kept a year. And the keys that its reader trusts, kept until they are removed.
import { signal } from "@preact/signals";
import { keep, kept, keptList, keptNames } from "../storage";

export interface Seen {
  size: string;
  root: string;
  time: number;
  key: string;
  firstSeen: number;
}
const YEAR = 365 * 86400_000;
const REGISTRY = "registry.";

function seenOf(origin: string): Seen | undefined {
  try {
    const seen = JSON.parse(kept(REGISTRY + origin) ?? "null") as Seen | null;
    return seen && Date.now() - seen.time < YEAR ? seen : undefined;
  } catch {
    return undefined;
  }
}
// By the registry's origin. Empty in a browser that keeps nothing: the check then says that this
// browser had not seen the registry before.
export function everythingSeen(): Record<string, Seen> {
  const all: Record<string, Seen> = {};
  for (const origin of keptNames(REGISTRY)) {
    const seen = seenOf(origin);
    if (seen) all[origin] = seen;
  }
  return all;
}
export function keepSeen(origin: string, seen: Omit<Seen, "time" | "firstSeen">) {
  const before = seenOf(origin);
  if (before && BigInt(before.size) > BigInt(seen.size)) return;
  const time = Date.now();
  const now: Seen = { ...seen, time, firstSeen: before?.firstSeen ?? time };
  keep(REGISTRY + origin, JSON.stringify(now));
}

// Verifier keys as text, NAME+ID+BASE64.
const KEYS = "keys";
export const keptKeys = signal(keptList<unknown>(KEYS).filter((key) => typeof key === "string"));
export function keepKeys(keys: string[]) {
  keptKeys.value = [...new Set(keys)].sort();
  keep(KEYS, keys.length ? JSON.stringify(keptKeys.value) : undefined);
}

// In this tab only: of the ledgers that were checked since the page was loaded, their sizes.
export const checkedHere = new Map<string, string>();
