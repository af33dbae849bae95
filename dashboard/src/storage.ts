// What this browser keeps between visits. One that keeps nothing reads as empty.
const PREFIX = "dpledger.";

export function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(PREFIX + name) ?? undefined;
  } catch {
    return undefined;
  }
}
export function keep(name: string, text: string | undefined) {
  try {
    if (text === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, text);
  } catch {
    // The next visit finds nothing.
  }
}
// A list as it was kept. Whatever else stands there is none.
export function keptList<T>(name: string): T[] {
  try {
    const list: unknown = JSON.parse(kept(name) ?? "[]");
    return Array.isArray(list) ? (list as T[]) : [];
  } catch {
    return [];
  }
}
// The rest of every name that begins so.
export function keptNames(start: string): string[] {
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX + start));
    return names.map((name) => name.slice(PREFIX.length + start.length));
  } catch {
    return [];
  }
}
