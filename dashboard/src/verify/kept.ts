// What this browser has seen of each registry: so that a server that shows another history later is noticed. Kept a year.
export interface Seen { size: string; root: string; time: number; key: string; firstSeen: number }
export interface Checked { size: string; root: string; time: number }
const YEAR = 365 * 86400_000;
const read = <T>(key: string): T | undefined => {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "null") as (T & { time: number }) | null;
    return found && Date.now() - found.time < YEAR ? found : undefined;
  } catch {
    return undefined;
  }
};
const write = (key: string, value: unknown) => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch { /* a browser that keeps nothing: the check says so next time */ }
};
export const seenOf = (origin: string) => read<Seen>(`dpledger.registry.${origin}`);
export const keepSeen = (origin: string, seen: Seen) => write(`dpledger.registry.${origin}`, seen);

// In this tab only: whether the page's ledgers were checked since it was loaded.
const checked = new Map<string, Checked>();
export const checkedHere = (ledger: string) => checked.get(ledger);
export const keepChecked = (ledger: string, what: Checked) => checked.set(ledger, what);
