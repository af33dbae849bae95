// The filter language (docs/filters.md) as a reader types it: what may stand next, and which part
// the server means by the byte that it names.
type Kind = "text" | "choice" | "number" | "time" | "duration";
interface Field {
  kind: Kind;
  about: string;
  values?: string[];
}
const ADJACENCIES = ["ADD_OR_REMOVE_ONE", "REPLACE_ONE", "ZERO_OUT"];
const field = (kind: Kind, about: string, values?: string[]): Field => ({ kind, about, values });
export const FIELDS: Record<string, Field> = {
  name: field("text", "the full name, projects/PROJECT/ledgers/LEDGER"),
  project: field("text", "the project"),
  dataset: field("text", "the data set, as declared"),
  unit: field("text", "the unit of privacy: what one record is"),
  creator: field("text", "who made the ledger"),
  state: field("choice", "open or sealed", ["OPEN", "SEALED"]),
  epsilon: field("number", "ε at the server’s usual δ, where it is not refused"),
  refused: field("text", "the reason why ε is refused"),
  adjacency: field("choice", "what neighbours differ in", ADJACENCIES),
  parameters: field("choice", "fixed in advance, or adaptive", ["FIXED", "ADAPTIVE"]),
  budget: field("text", "the full name of the budget that a run is under"),
  kind: field("choice", "BUDGET: what is no run", ["BUDGET"]),
  remaining: field("number", "the share that is left of its filter or grant"),
  rounds: field("number", "rounds that released something"),
  size: field("number", "entries"),
  conflicts: field("number", "batches that were refused"),
  corrections: field("number", "corrections"),
  warnings: field("number", "warnings that the answer carries"),
  open_writers: field("number", "writers that have not closed"),
  last_entry_time: field("time", "of its last entry"),
  create_time: field("time", "when it was made"),
  age: field("duration", "since ε was computed"),
  method: field("text", "the method that answered"),
  version: field("text", "the version that answered"),
  delta: field("number", "the server’s usual δ"),
};
export const KINDS: Record<Kind, string> = {
  text: "text; : finds a part of it",
  choice: "one of a few",
  number: "a number",
  time: "a time, as 2026-01-31",
  duration: "a duration, as 15m, 12h or 3d",
};
const ORDERED = ["=", "!=", "<", "<=", ">", ">=", ":*"];
const OPERATORS: Record<Kind, string[]> = {
  text: ["=", ":", "!=", ":*"],
  choice: ["=", "!="],
  number: ORDERED,
  time: ORDERED,
  duration: ORDERED,
};

// The project that a filter asks for, if it asks for nothing else.
export const projectIn = (filter: string) =>
  /^\s*project\s*=\s*("?)([^\s()"]+)\1\s*$/.exec(filter)?.[2];

export const quoted = (text: string) => `"${text.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
const bare = (text: string) => text.replace(/^"/, "").toLowerCase();
const asValue = (text: string) => (/^[^\s()"]+$/.test(text) ? text : quoted(text));

const EXPECTED = {
  term: /[^\s()"=<>:!]+|\(/y,
  operator: /!=|<=|>=|:\*|[=<>:]/y,
  value: /"(?:\\.|[^"\\])*"?|[^\s()"]+/y,
  joint: /[^\s()"]+|\)/y,
};
interface Completion {
  from: number;
  to: number; // what the choice stands in for
  choices: string[];
}
// At the cursor; `known` are values of a text field, for what is typed of one.
export function completions(
  text: string,
  at: number,
  known: (field: string, typed: string) => string[] = () => [],
): Completion {
  let next: keyof typeof EXPECTED = "term";
  let name = "";
  const choicesOf = (typed: string) => {
    if (next === "term") return [...Object.keys(FIELDS), "NOT"];
    if (next === "joint") return ["AND", "OR"];
    const found = FIELDS[name];
    if (!found) return [];
    if (next === "operator") return OPERATORS[found.kind];
    return found.values ?? known(name, typed).map(asValue);
  };
  for (let i = 0; ;) {
    while (/\s/.test(text[i] ?? "")) i++;
    const shape: RegExp = EXPECTED[next];
    shape.lastIndex = i;
    const token = i < at ? shape.exec(text)?.[0] : "";
    if (token === undefined) return { from: at, to: at, choices: [] };
    const to = i + token.length;
    const whole = next === "operator" || (next === "term" && token in FIELDS);
    if (!token || (to >= at && !whole)) {
      const typed = bare(text.slice(Math.min(i, at), at));
      const fits = (choice: string) => bare(choice).startsWith(typed) && bare(choice) !== typed;
      return { from: Math.min(i, at), to: token ? to : at, choices: choicesOf(typed).filter(fits) };
    }
    if (next === "term" && token !== "(" && token !== "NOT") [name, next] = [token, "operator"];
    else if (next === "operator") next = token === ":*" ? "joint" : "value";
    else if (next === "value") next = "joint";
    else if (next === "joint" && token !== ")") next = "term";
    i = to;
  }
}

export interface Fault {
  before: string;
  wrong: string; // empty: something is missing at the end
  after: string;
  rule: string;
}
// What the server's "filter: byte N: RULE" means in `text`, which stood behind `skipped` bytes.
export function faultOf(text: string, message: string, skipped = 0): Fault | undefined {
  const [, byte, rule = ""] = /^filter: byte (\d+): ([^]*)$/.exec(message) ?? [];
  if (!byte) return undefined;
  const bytes = new TextEncoder().encode(text);
  const before = new TextDecoder().decode(bytes.slice(0, Number(byte) - 1 - skipped));
  const rest = text.slice(before.length);
  const [wrong = ""] = /^("(?:\\.|[^"\\])*"?|[()]|[=<>!:]+|[^\s()"]+)/.exec(rest) ?? [];
  return { before, wrong, after: rest.slice(wrong.length), rule };
}

// The server's own projects, and what their ledgers say of a data set.
const OWN_NAMES = ["access-record", "attention", "recomputations", "statements"];
const OWN = OWN_NAMES.map((name) => `project = ${name}`).join(" OR ");
// Whether the text stays itself between parentheses.
function isClosed(text: string): boolean {
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:\\.|[^"\\])*"?|[()]/g)) {
    if (token === "(") depth++;
    if (token === ")" && --depth < 0) return false;
  }
  return depth === 0;
}
// The ledgers of a filter that are the server's own, or those that are not; and by how many bytes
// the filter stands further behind. A filter that cannot stand between parentheses is asked alone:
// the server says why.
export function apart(filter: string, own: boolean): { filter: string; skipped: number } {
  const rule = own ? `(${OWN})` : `NOT (${OWN})`;
  if (!filter.trim()) return { filter: rule, skipped: 0 };
  if (!isClosed(filter)) return { filter, skipped: 0 };
  return { filter: `(${filter}) AND ${rule}`, skipped: 1 };
}
// What the server's own records are called among the data sets.
export const isOwnDataset = (name = "") => OWN_NAMES.includes(name);
