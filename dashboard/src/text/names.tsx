// Names are what somebody wrote: text only, apart from the text around them, and with nothing in
// them that is not seen.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
const BLANK_ENDS = /^\p{Zs}+|\p{Zs}+$/gu; // by which a name differs from one that looks the same
const LONGEST = 48;

const asCode = (letter: string) =>
  `⟨U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;
// Controls, marks of direction, zero-width and unassigned characters as ⟨U+202E⟩.
export const visible = (text = "") => text.replace(UNSEEN, asCode);

export function cut(text: string, longest = LONGEST): string {
  const letters = [...text];
  if (letters.length <= longest) return text;
  const half = Math.floor((longest - 1) / 2);
  return `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
}

interface NameProps {
  of: string | undefined;
  whole?: boolean;
  longest?: number; // else LONGEST
}
export function Name({ of: text, whole, longest }: NameProps) {
  const seen = visible(text).replace(BLANK_ENDS, (blanks) => [...blanks].map(asCode).join(""));
  if (!seen) return <span class="faint">no name</span>;
  const short = whole ? seen : cut(seen, longest);
  return <bdi title={short === seen ? undefined : seen}>{short}</bdi>;
}

const joinedBy =
  (word: string) =>
  ({ of: names }: { of: string[] }) => (
    <>
      {names.map((name, i) => (
        <>
          {i > 0 && word}
          <Name of={name} />
        </>
      ))}
    </>
  );
export const Names = joinedBy(", ");
export const AndNames = joinedBy(" and ");
export const OrNames = joinedBy(" or one ");

// A server's sentence, in which the usual project goes without saying.
export const said = (message = "") => visible(message.replaceAll("projects/default/ledgers/", ""));

// projects/{project}/ledgers/{ledger}
export const ledgerName = (project: string, id: string) => `projects/${project}/ledgers/${id}`;
export const projectOf = (name = "") => name.split("/")[1];
// The project is said only if it is not the usual one.
export function shortName(name = ""): string {
  const [, project, , id] = name.split("/");
  if (!id) return name;
  return project === "default" ? id : `${project}/${id}`;
}
// Of a name as `shortName` writes it, or as it is.
export function fullName(text: string): string {
  if (text.startsWith("projects/")) return text;
  const [project, id] = text.split("/");
  return id ? ledgerName(project, id) : ledgerName("default", project);
}
