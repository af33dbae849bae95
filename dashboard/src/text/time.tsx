// Times in the reader's zone, UTC on hover.
import { signal } from "@preact/signals";
import { ageWords, clockWords, dateWords, dayWords } from "./dates";

export const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 15000);

interface TimeProps {
  of: string | undefined;
  clock?: boolean; // by the clock, else as an age
  day?: boolean; // what is older than an hour, by its day alone
}
export function Time({ of: text, clock, day }: TimeProps) {
  const time = text ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) return <span class="faint">not known</span>;
  const utc = new Date(time).toISOString().replace(".000Z", "Z");
  // An age says nothing on paper: the style sheet prints the time behind it.
  return (
    <time class={clock ? "" : "age"} dateTime={utc} title={`${utc} (UTC)`}>
      {clock ? clockWords(time, now.value) : ageWords(time, now.value, day ? dayWords : dateWords)}
    </time>
  );
}
