// Names are what somebody wrote: text only, apart from the text around them, and with nothing in them that is not seen.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
const LONGEST = 48;

// Controls, marks of direction, zero-width and unassigned characters as ⟨U+202E⟩.
export function visible(text: string): string {
  return text.replace(UNSEEN, (found) => `⟨U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

export function cut(text: string, longest = LONGEST): string {
  const letters = [...text];
  if (letters.length <= longest) return text;
  const half = Math.floor((longest - 1) / 2);
  return `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
}

export function Name({ of: text, whole }: { of: string | undefined; whole?: boolean }) {
  const seen = visible(text ?? "");
  if (!seen) return <span class="faint">no name</span>;
  const short = whole ? seen : cut(seen);
  return <bdi title={short === seen ? undefined : seen}>{short}</bdi>;
}

// A server's sentence, in which the usual project goes without saying.
export const said = (message: string | undefined) => visible((message ?? "").replaceAll("projects/default/ledgers/", ""));

// projects/{project}/ledgers/{ledger}
export function ledgerParts(name: string): { project: string; id: string } {
  const [, project, , id] = name.split("/");
  return { project: project ?? "", id: id ?? name };
}
export function ledgerName(project: string, id: string): string {
  return `projects/${project}/ledgers/${id}`;
}
// The project is said only if it is not the usual one.
export function shortName(name: string): string {
  const { project, id } = ledgerParts(name);
  return project === "default" ? id : `${project}/${id}`;
}

// What two names have in common that look alike: letters of one shape, case and separators.
export function lookalike(name: string): string {
  return name.normalize("NFKC").toLowerCase().replace(UNSEEN, "").replace(/[\s._-]+/g, "")
    .replace(/[οо]/g, "o").replace(/[аα]/g, "a").replace(/[еε]/g, "e").replace(/[іι1l|]/g, "i").replace(/0/g, "o")
    .replace(/[рρ]/g, "p").replace(/[сϲ]/g, "c").replace(/[хχ]/g, "x").replace(/[уγ]/g, "y");
}
