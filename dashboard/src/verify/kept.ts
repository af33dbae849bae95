// What this browser has seen of each registry: so that a server that shows another history later is
// noticed. Kept a year.
export interface Seen {
  size: string;
  root: string;
  time: number;
  key: string;
  firstSeen: number;
}
const YEAR = 365 * 86400_000;
const PREFIX = "dpledger.registry.";

function parsed(text: string): Seen | undefined {
  try {
    const seen = JSON.parse(text) as Seen | null;
    return seen && Date.now() - seen.time < YEAR ? seen : undefined;
  } catch {
    return undefined;
  }
}
// By the registry's origin. Empty in a browser that keeps nothing.
export function everythingSeen(): Record<string, Seen> {
  const all: Record<string, Seen> = {};
  try {
    for (const [key, text] of Object.entries(localStorage)) {
      const seen = key.startsWith(PREFIX) && parsed(text);
      if (seen) all[key.slice(PREFIX.length)] = seen;
    }
  } catch {
    // The check says that this browser had not seen the registry before.
  }
  return all;
}
export function keepSeen(origin: string, seen: Omit<Seen, "time" | "firstSeen">) {
  const before = everythingSeen()[origin];
  if (before && BigInt(before.size) > BigInt(seen.size)) return;
  const time = Date.now();
  const kept: Seen = { ...seen, time, firstSeen: before?.firstSeen ?? time };
  try {
    localStorage.setItem(PREFIX + origin, JSON.stringify(kept));
  } catch {
    // As above, next time.
  }
}

// In this tab only: of the ledgers that were checked since the page was loaded, their sizes.
export const checkedHere = new Map<string, string>();
