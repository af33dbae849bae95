// Times in the reader's zone, UTC on hover. Ledgers hold whole minutes, and so ages are in minutes.
import { signal } from "@preact/signals";

export const now = signal(Date.now());
if (typeof window !== "undefined") setInterval(() => (now.value = Date.now()), 15000);

export function ageWords(time: number, at: number): string {
  const minutes = Math.floor((at - time) / 60000);
  if (minutes < 0) return "from a clock ahead of this one";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }).format(time);
}
export function Time({ of: text, clock }: { of: string | undefined; clock?: boolean }) {
  const time = text ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) return <span class="faint">not known</span>;
  const utc = new Date(time).toISOString().replace(".000Z", "Z");
  const today = new Date(time).toDateString() === new Date(now.value).toDateString();
  const words = clock
    ? new Intl.DateTimeFormat(undefined, today ? { hour: "2-digit", minute: "2-digit" } : { dateStyle: "medium", timeStyle: "short" }).format(time)
    : ageWords(time, now.value);
  return <time dateTime={utc} title={`${utc} (UTC)`}>{words}</time>;
}
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
