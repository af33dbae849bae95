// Times as people read them. Ledgers hold whole minutes, and so ages are in minutes.
const format = (time: number, how: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(undefined, how).format(time);

export const dateWords = (time: number) =>
  format(time, { dateStyle: "medium", timeStyle: "short" });
// With its zone, for what is read or kept where no footer names one.
export const fullWords = (time: number) => format(time, { dateStyle: "medium", timeStyle: "long" });
// Without its year.
export const momentWords = (time: number) =>
  format(time, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

// Without its year if it is on the same day as `now`: a picture of it says when it was.
export function clockWords(time: number, now: number): string {
  const today = new Date(time).toDateString() === new Date(now).toDateString();
  return today ? momentWords(time) : dateWords(time);
}
export const dayWords = (time: number) => format(time, { dateStyle: "medium" });
export function ageWords(time: number, now: number, older = dateWords): string {
  const minutes = Math.floor((now - time) / 60000);
  // `now` may have been read a quarter of a minute ago.
  if (minutes < -1) return "from a clock ahead of this one";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return older(time);
}
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
