// Times in the reader's zone, UTC on hover.
import { signal } from "@preact/signals";
import { ageWords, clockWords } from "./dates";

export const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 15000);

// As an age, or by the clock.
export function Time({ of: text, clock }: { of: string | undefined; clock?: boolean }) {
  const time = text ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) return <span class="faint">not known</span>;
  const utc = new Date(time).toISOString().replace(".000Z", "Z");
  return (
    <time dateTime={utc} title={`${utc} (UTC)`}>
      {clock ? clockWords(time, now.value) : ageWords(time, now.value)}
    </time>
  );
}
